// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"

// evilChart is a chart with one template.
func evilChart(t *testing.T, text string) []byte {
	return pack(t, "evil", "1.0.0", map[string]string{"templates/evil.yaml": text})
}

// zeros is an archive of half a megabyte that unpacks to half a gigabyte.
func zeros(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	zero := make([]byte, 4<<20)
	for i := range 128 {
		if err := files.WriteHeader(&tar.Header{Name: fmt.Sprint("evil/z", i), Mode: 0o644, Size: int64(len(zero))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(zero); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// attack is a release that would end the controller, or keep it.
type attack struct {
	chart  []byte
	edit   func(*helmv2.HelmRelease)
	reason string
	says   []string
}

func attacks(t *testing.T) map[string]attack {
	edit := func(spec string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			if err := json.Unmarshal([]byte(spec), &hr.Spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	patch := func(p string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{Patch: p}}}}}
		}
	}
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'a'; c < 'l'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c+1, c+1, strings.Repeat(fmt.Sprintf("*%c,", c), 9))
	}
	const install = helmv2.ReasonInstallFailed
	return map[string]attack{
		"bomb":      {chart: zeros(t), reason: helmv2.ReasonArtifactFailed, says: []string{"bomb", "larger than 104857600 bytes when it is unpacked"}},
		"parent":    {chart: pack(t, "evil", "1.0.0", map[string]string{"../../etc/x": "x"}), reason: helmv2.ReasonArtifactFailed, says: []string{"is outside of the chart"}},
		"laughs":    {chart: pack(t, "evil", "1.0.0", map[string]string{"values.yaml": laughs}), reason: helmv2.ReasonArtifactFailed, says: []string{"values.yaml", "after the expansion of its aliases"}},
		"deep":      {chart: pack(t, "evil", "1.0.0", map[string]string{"values.yaml": strings.Repeat("[", 100_000)}), reason: helmv2.ReasonArtifactFailed, says: []string{"values.yaml"}},
		"manifest":  {chart: evilChart(t, cm+laughs), reason: install, says: []string{"excessive aliasing"}},
		"schema":    {chart: pack(t, "evil", "1.0.0", map[string]string{"values.schema.json": `{"$ref":"file:///etc/passwd"}`}), reason: install, says: []string{"values.schema.json", "file:///etc/passwd"}},
		"endless":   {chart: evilChart(t, cm+`{{ range $i := 1000000000 }}{{ end }}`), reason: install, says: []string{"rendering chart evil 1.0.0", "has not ended in time, which is 10s"}},
		"allocate":  {chart: evilChart(t, cm+`{{ range until 2000000000 }}{{ end }}`), reason: install, says: []string{"rendering chart evil 1.0.0", "MiB of memory"}},
		"recursion": {chart: evilChart(t, cm+`{{ tpl .Values.t . }}`), edit: edit(`{"values":{"t":"{{ tpl .Values.t . }}"}}`), reason: install, says: []string{"rendering chart evil 1.0.0", "MiB of stack, and was ended"}},
		"cycle":     {chart: evilChart(t, cm+`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`), reason: install, says: []string{"rendering chart evil 1.0.0", "MiB of stack, and was ended"}},
		"output":    {chart: evilChart(t, cm+`{{ range until 100 }}{{ repeat 1000000 "#" }}{{ end }}`), reason: install, says: []string{"rendering chart evil 1.0.0", "MiB of memory"}},
		"patch":     {chart: evilChart(t, cm), edit: patch(laughs), reason: install, says: []string{"spec.postRenderers[0].kustomize.patches[0]", "after the expansion of its aliases"}},
		"file":      {chart: evilChart(t, cm), edit: patch("/etc/passwd"), reason: install, says: []string{"spec.postRenderers[0].kustomize.patches[0]", "neither an object nor a list"}},
		"cel": {
			chart: evilChart(t, cm), edit: edit(`{"healthCheckExprs":[{"apiVersion":"v1","kind":"ConfigMap","current":"` + strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000) + `"}]}`),
			reason: helmv2.ReasonInvalidCELExpression, says: []string{"spec.healthCheckExprs[0]"},
		},
	}
}

// TestAttackers: each malicious release is rejected with a reason, and a normal one beside them
// works.
func TestAttackers(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it measures the memory of the process.
	w := newWorld(t)
	before := resident(t)
	all := attacks(t)
	held := map[string]*helmv2.HelmRelease{}
	for name, a := range all {
		w.publish(name, "1.0.0", a.chart)
		edits := []func(*helmv2.HelmRelease){expires}
		if a.edit != nil {
			edits = append(edits, a.edit)
		}
		held[name] = w.release(name, nil, edits...)
	}
	w.publish("honest", "1.0.0", configMapChart(t, "1.0.0"))
	honest := w.release("honest", nil)
	w.untilReady(honest)
	for name, a := range all {
		w.untilSays(held[name], helmv2.ConditionReady, metav1.ConditionFalse, a.reason, a.says...)
		if n := len(condition(held[name], helmv2.ConditionReady).Message); n > 4096 {
			t.Errorf("the message for %s has %d bytes", name, n)
		}
		if len(w.stored(name)) != 0 {
			t.Errorf("%s was installed", name)
		}
		// The retries of the release would affect the measurement.
		w.remove(held[name])
	}
	w.edit(honest, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "still here"}) })
	w.untilReady(honest)
	// The limit is far above normal use, and far below that of the attacks. The race detector needs
	// several times as much.
	grown := resident(t) - before
	t.Logf("memory grew by %d bytes at most", grown)
	if grown > 3<<30 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// resident returns the most memory that this process, which the controller is part
// of, has taken.
func resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	return 0
}
