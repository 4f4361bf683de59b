// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		"parent":    {chart: pack(t, "evil", "1.0.0", map[string]string{"../../etc/x": "x"}), reason: helmv2.ReasonArtifactFailed, says: []string{"leads out of the chart"}},
		"laughs":    {chart: pack(t, "evil", "1.0.0", map[string]string{"values.yaml": laughs}), reason: helmv2.ReasonArtifactFailed, says: []string{"values.yaml", "excessive aliasing"}},
		"deep":      {chart: pack(t, "evil", "1.0.0", map[string]string{"values.yaml": strings.Repeat("[", 100_000)}), reason: helmv2.ReasonArtifactFailed, says: []string{"values.yaml"}},
		"manifest":  {chart: evilChart(t, cm+laughs), reason: install, says: []string{"excessive aliasing"}},
		"schema":    {chart: pack(t, "evil", "1.0.0", map[string]string{"values.schema.json": `{"$ref":"file:///etc/passwd"}`}), reason: install, says: []string{"values.schema.json", "file:///etc/passwd"}},
		"endless":   {chart: evilChart(t, cm+`{{ range $i := 1000000000 }}{{ end }}`), reason: install, says: []string{"template evil/templates/evil.yaml: rendering "}},
		"allocate":  {chart: evilChart(t, cm+`{{ range until 2000000000 }}{{ end }}`), reason: install, says: []string{"evil/templates/evil.yaml", "bytes"}},
		"recursion": {chart: evilChart(t, cm+`{{ tpl .Values.t . }}`), edit: edit(`{"values":{"t":"{{ tpl .Values.t . }}"}}`), reason: install, says: []string{"evil/templates/evil.yaml", "blocks deep"}},
		"cycle":     {chart: evilChart(t, cm+`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`), reason: install, says: []string{"evil/templates/evil.yaml", "contains itself"}},
		"output":    {chart: evilChart(t, cm+`{{ range until 100 }}{{ repeat 1000000 "#" }}{{ end }}`), reason: install, says: []string{"evil/templates/evil.yaml", "renders more than"}},
		"patch":     {chart: evilChart(t, cm), edit: patch(laughs), reason: install, says: []string{"spec.postRenderers[0].kustomize.patches[0]", "excessive aliasing"}},
		"file":      {chart: evilChart(t, cm), edit: patch("/etc/passwd"), reason: install, says: []string{"spec.postRenderers[0].kustomize.patches[0]", "neither an object nor a list"}},
		"cel": {chart: evilChart(t, cm), edit: edit(`{"healthCheckExprs":[{"apiVersion":"v1","kind":"ConfigMap","current":"` + strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000) + `"}]}`),
			reason: helmv2.ReasonInvalidCELExpression, says: []string{"spec.healthCheckExprs[0]"}},
	}
}

// TestAttackers: releases that attack live beside an honest one. Each of them is
// refused with a reason, and the honest one is served.
func TestAttackers(t *testing.T) {
	w := newWorld(t)
	before := resident(t)
	all := attacks(t)
	held := map[string]*helmv2.HelmRelease{}
	for name, a := range all {
		w.publish(name, "1.0.0", a.chart)
		var edits []func(*helmv2.HelmRelease)
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
			t.Errorf("%s is told of with %d bytes", name, n)
		}
		if len(w.stored(name)) != 0 {
			t.Errorf("%s was installed", name)
		}
		// It would try again and again, which is not what is asked here.
		w.remove(held[name])
	}
	w.edit(honest, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "still here"}) })
	w.untilReady(honest)
	// Far above what it takes, far below what the attacks would. The race detector
	// takes several times as much.
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

// Canaries: nobody else writes these. The second has what messages escape.
const (
	canary      = "Xq7CanaryZk93hW2"
	oddCanary   = "Yp4VoglA\"\\<&>\tWm81BirdQ"
	oddCanaries = "Yp4VoglA Wm81BirdQ"
)

// TestCanary: what comes from a Secret is in no status, event or log, whatever goes
// wrong with it.
func TestCanary(t *testing.T) {
	w := newWorld(t)
	odd, err := json.Marshal(oddCanary)
	w.must(err)
	w.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "canary"},
		StringData: map[string]string{
			"values.yaml": "password: " + canary + "\nodd: " + string(odd) + "\n",
			"noise":       canary + ": [ " + canary, "list": "- " + canary, "word": canary, "path": "{" + canary,
		},
	}))
	from := func(key, path string) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "canary", ValuesKey: key, TargetPath: path}}
		}
	}
	usual := from("values.yaml", "")
	typed := `{"properties":{"password":{"pattern":"^x$"},"odd":{"enum":["a"]}}}`
	cases := map[string]struct {
		files map[string]string
		edit  func(*helmv2.HelmRelease)
	}{
		"fail":     {map[string]string{"templates/a.yaml": `{{ fail (print .Values.password .Values.odd) }}`}, usual},
		"quoted":   {map[string]string{"templates/a.yaml": `{{ fail (quote .Values.odd) }}`}, usual},
		"json":     {map[string]string{"templates/a.yaml": `{{ fail (toJson .Values) }}`}, usual},
		"encoded":  {map[string]string{"templates/a.yaml": `{{ fail (print "user:" .Values.password ":x" | b64enc) }}`}, usual},
		"field":    {map[string]string{"templates/a.yaml": `{{ .Values.password.x.y }}`}, usual},
		"parse":    {map[string]string{"templates/a.yaml": `{{ tpl (print .Values.odd "{{ " .Values.password) . }}`}, usual},
		"inside":   {map[string]string{"templates/a.yaml": `{{ tpl (print "{{ fail \"x\" }}" .Values.odd) . }}`}, usual},
		"function": {map[string]string{"templates/a.yaml": `{{ mustFromJson .Values.odd }}{{ mustToDate "2006" .Values.password }}`}, usual},
		"date":     {map[string]string{"templates/a.yaml": `{{ mustToDate "2006" .Values.password }}`}, usual},
		"yaml":     {map[string]string{"templates/a.yaml": cm + "data: { {{ .Values.password }}: [\n"}, usual},
		"kind":     {map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: {{ .Values.password }}\nmetadata: {name: x}\n"}, usual},
		"name":     {map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.odd | quote }}}\n"}, usual},
		"secret":   {map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {k: {{ .Values.odd | quote }}, l: {{ .Values.password }}}\n"}, usual},
		"type":     {map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: {{ .Values.password }}}]}\n"}, usual},
		"label":    {map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a: {{ print .Values.password \" no label\" | b64enc | quote }}}}\n"}, usual},
		"schema":   {map[string]string{"templates/a.yaml": cm, "values.schema.json": typed}, usual},
		"noise":    {map[string]string{"templates/a.yaml": cm}, from("noise", "")},
		"list":     {map[string]string{"templates/a.yaml": cm}, from("list", "")},
		"word":     {map[string]string{"templates/a.yaml": `{{ fail .Values.a.b }}`}, from("word", "a.b")},
		"path":     {map[string]string{"templates/a.yaml": cm}, from("path", "a.b")},
	}
	for name, tc := range cases {
		w.publish(name, "1.0.0", pack(t, "bird", "1.0.0", tc.files))
		hr := w.release(name, nil, tc.edit)
		w.until(hr, "a failure", func(hr *helmv2.HelmRelease) bool {
			c := condition(hr, helmv2.ConditionReady)
			return c.Status == metav1.ConditionFalse && c.Reason != helmv2.ReasonDependencyNotReady
		})
	}
	// The password of a URL.
	archive := configMapChart(t, "9.9.9")
	for name, url := range map[string]string{"url": "http://bird:" + canary + "@127.0.0.1:1/a.tgz?sig=" + canary, "scheme": "ftp://bird:" + canary + "@x/", "noise-url": "http://bird:" + canary + "@%zz"} {
		w.offer(name, fluxmeta.Artifact{URL: url, Digest: digest.FromBytes(archive).String(), Revision: "1.0.0@" + digest.FromBytes(archive).String(), LastUpdateTime: metav1.Now()})
		hr := w.release(name, nil)
		w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart")
	}
	w.noCanary()
}

// noCanary looks for canaries in all that is told of releases.
func (w *world) noCanary() {
	w.t.Helper()
	told := map[string]any{}
	var releases helmv2.HelmReleaseList
	w.must(suite.client.List(w.t.Context(), &releases, client.InNamespace(w.namespace)))
	for _, hr := range releases.Items {
		told["status of "+hr.Name] = hr.Status
	}
	var events corev1.EventList
	w.must(suite.client.List(w.t.Context(), &events, client.InNamespace(w.namespace)))
	if len(events.Items) == 0 || len(told) == 0 {
		w.t.Error("there is nothing to look through")
	}
	for _, e := range events.Items {
		told["event "+e.InvolvedObject.Name+" "+e.Name] = e.Message
	}
	log, err := os.ReadFile(suite.log)
	w.must(err)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, w.namespace) {
			told["log "+strconv.Itoa(len(told))] = line
		}
	}
	for where, what := range told {
		raw, err := json.Marshal(what)
		w.must(err)
		for _, bird := range append(strings.Fields(oddCanaries), canary) {
			for before := range 3 {
				encoded := base64.StdEncoding.EncodeToString([]byte("xx"[:before] + bird + "xxx"))
				for _, form := range []string{bird, encoded[2 : 8*(before+len(bird))/6]} {
					if bytes.Contains(raw, []byte(form)) {
						w.t.Errorf("%s: there is %s in %.2000s", where, form, raw)
					}
				}
			}
		}
	}
}
