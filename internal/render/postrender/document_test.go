// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	printer "go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// streams returns seeds that are hard to split or to print.
func streams() []string {
	return []string{
		"", "---", "---\n", "\n\n---\n\n---\n", "a: b", "--- # x\na: b\n---\t\nc: d", "a: |\n  ---\n  x\n---\nb: c\n", "---x: 1\n",
		"a: b\r\n---\r\nc: d\r\n", "%YAML 1.1\n---\na: b\n...\n", configMap + deployment,
		"kind: A\ndata: {x: \"\\n a\\n\\n\\n b \\n\\n\", y: '  lead', z: \"\\t\", nul: \"\\0\", long: \"" + strings.Repeat("word ", 60) + "\"}\n",
	}
}

// FuzzSplit: documents are those of the client that applies manifests, and their concatenation is
// the stream.
func FuzzSplit(f *testing.F) {
	for _, s := range streams() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		var whole strings.Builder
		var got []string
		for _, d := range split(stream) {
			whole.WriteString(d.separator + d.text)
			if text := strings.ReplaceAll(d.text, "\r\n", "\n"); text != "" {
				got = append(got, strings.TrimRight(text, "\n"))
			}
		}
		if whole.String() != stream {
			t.Fatalf("%q became %q", stream, whole.String())
		}
		var want []string
		for r := k8syaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream))); ; {
			raw, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			// The reader keeps the first separator in the document, where it has no meaning.
			text := string(raw)
			if first, rest, _ := strings.Cut(text, "\n"); isSeparator(first) {
				text = rest
			}
			if text != "" {
				want = append(want, strings.TrimRight(text, "\n"))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-client +ours):\n%s", stream, diff)
		}
	})
}

// FuzzMeaning: a changed document differs by the added labels only.
func FuzzMeaning(f *testing.F) {
	for _, s := range streams() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		r, err := newRenderer(t, `
postRenderers:
- kustomize:
    patches: [{target: {}, patch: "metadata: {labels: {one: ex}}"}]
commonMetadata: {labels: {two: why}}`)
		if err != nil {
			t.Fatal(err)
		}
		before, err := parse(stream)
		if err != nil {
			return
		}
		out, err := r.Hook(stream)
		if err != nil {
			return
		}
		after, err := parse(out)
		if err != nil {
			t.Fatalf("%q cannot be read: %v", out, err)
		}
		for i, d := range before {
			if d.root == nil || d.root.list {
				continue
			}
			want := d.root.fields
			if unstructured.SetNestedField(want, "ex", "metadata", "labels", "one") != nil ||
				unstructured.SetNestedField(want, "why", "metadata", "labels", "two") != nil {
				continue
			}
			if diff := cmp.Diff(want, after[i].root.fields); diff != "" {
				t.Errorf("%q (-want +got):\n%s", stream, diff)
			}
		}
	})
}

// TestSplitAllocations: the work of splitting does not grow with the number of lines in a document.
func TestSplitAllocations(t *testing.T) {
	text := strings.Repeat("#\n", 50_000)
	if n := testing.AllocsPerRun(1, func() { split(text) }); n > 10 {
		t.Errorf("%.0f allocations", n)
	}
	if d := split(text + "---\n" + text); len(d) != 2 || d[0].text != text || d[1] != (document{separator: "---\n", text: text}) {
		t.Errorf("%d documents", len(d))
	}
}

// FuzzStrings: whitespace in strings is preserved.
func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "\n", " a\n\n\n b \n\n", "\ta", "yes", "0x1F", "1e3", "null", "~", "- a", "a: b", "---\nb", "a\r\nb", "\u2028", "😀", "\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		raw, err := printer.Marshal(map[string]any{"kind": "X", "spec": map[string]any{"text": text, "list": []any{text}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render(t, `postRenderers: [{kustomize: {patches: [{target: {}, patch: "spec: {added: 'yes'}"}]}}]`, string(raw))
		if err != nil {
			t.Fatal(err)
		}
		v, err := decodeYAML(got, bounded.Manifest())
		want := map[string]any{"kind": "X", "spec": map[string]any{"added": "yes", "text": text, "list": []any{text}}}
		if diff := cmp.Diff(any(want), v); err != nil || diff != "" {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

// TestSideBySide: concurrent renderers have equal results. The race detector checks that they share
// nothing but kustomize's schema, which the first one loads.
func TestSideBySide(t *testing.T) {
	openapi.ResetOpenAPI()
	results := make(chan string, 32)
	var wg sync.WaitGroup
	for i := range cap(results) {
		wg.Go(func() {
			in := fmt.Sprintf("---\napiVersion: example.com/v%d\nkind: Kind%d\nmetadata: {name: x}\n", i, i)
			spec := labelDeployment
			if i%2 == 0 {
				spec = strings.ReplaceAll(labelDeployment, "kustomize:", "kustomize: # by namespace first\n    images: [{name: none, newTag: x}]")
				spec = strings.Replace(spec, "patches:", "patches:\n    - {target: {namespace: nowhere}, patch: '[]'}", 1)
			}
			got, err := render(t, spec, deployment+in)
			if err != nil {
				t.Error(err)
			}
			results <- strings.TrimSuffix(got, in)
		})
	}
	wg.Wait()
	close(results)
	first := <-results
	for got := range results {
		if got != first || got == "" {
			t.Errorf("one result is\n%s, another\n%s", first, got)
		}
	}
}

// chartful returns the manifest of a large chart.
func chartful() string {
	var b strings.Builder
	for i := range 20 {
		b.WriteString(strings.ReplaceAll(deployment, "name: app\n", fmt.Sprintf("name: app-%d\n", i)))
		b.WriteString(strings.ReplaceAll(configMap, "name: notes", fmt.Sprintf("name: notes-%d", i)))
	}
	return b.String()
}

// BenchmarkRender measures each kind of change.
func BenchmarkRender(b *testing.B) {
	manifest := chartful()
	for name, spec := range map[string]string{
		"Metadata":  "commonMetadata: {labels: {a: b}}",
		"Images":    "postRenderers: [{kustomize: {images: [{name: nginx, newTag: x}]}}]",
		"OnePatch":  "postRenderers: [{kustomize: {patches: [{target: {name: app-7}, patch: 'spec: {replicas: 2}'}]}}]",
		"AllPatch":  "postRenderers: [{kustomize: {patches: [{target: {kind: Deployment}, patch: 'spec: {replicas: 2}'}]}}]",
		"Operation": "postRenderers: [{kustomize: {patches: [{target: {kind: Deployment}, patch: '[{\"op\": \"remove\", \"path\": \"/spec/replicas\"}]'}]}}]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := render(b, spec, manifest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
