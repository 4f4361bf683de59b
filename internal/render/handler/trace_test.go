// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestMarks: marks report each template when Helm renders it, and the end. Subcharts with an alias
// have their own templates. Afterwards, the chart is without marks.
func TestMarks(t *testing.T) {
	t.Parallel()
	in := input(t, m{
		"Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.0.0}\n- {name: sub, version: 1.0.0, alias: other}\n",
		"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/templates/s.yaml": "kind: Service\n",
		"templates/a.yaml": "kind: ConfigMap\na: {{ include \"web/templates/b.yaml\" . | trim | quote }}\n", "templates/b.yaml": "kind: Secret\n", "templates/_h.tpl": "partial",
		"templates/blank.yaml": "\n", "templates/d/deep.yaml": "kind: Secret\n",
	}, nil)
	parsed, err := archive.Load(in.Archive)
	if err != nil {
		t.Fatal(err)
	}
	c, notes := archive.Copy(parsed), []string{}
	at := &connection{marks: mark(t.Context(), c)}
	at.marks.note = func(note string) { notes = append(notes, note) }
	rls, err := (&dryRun{Name: "app", Namespace: "prod", Install: true, Chart: c, Connection: at, Capabilities: in.Capabilities}).run()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"template web/charts/sub/templates/s.yaml", "template web/charts/other/templates/s.yaml", "template web/templates/d/deep.yaml",
		// The second one is that of the included template.
		"template web/templates/b.yaml", "template web/templates/a.yaml", "template web/templates/a.yaml", "reading the rendered manifests",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	at.marks.remove(rls.Chart)
	if len(rls.Chart.Templates) != len(parsed.Templates) || strings.Contains(rls.Manifest, at.marks.group) {
		t.Errorf("%d templates became %d", len(parsed.Templates), len(rls.Chart.Templates))
	}
	for _, f := range rls.Chart.Templates {
		if strings.Contains(string(f.Data), at.marks.group) {
			t.Errorf("%s has a mark", f.Name)
		}
	}
}

// hasty is a worker whose calls have little time.
type hasty struct {
	worker.Caller

	timeout time.Duration
}

func (w hasty) Call(ctx context.Context, to worker.Call, answer worker.Answer) ([]byte, error) {
	to.Timeout = min(to.Timeout, w.timeout)
	return w.Caller.Call(ctx, to, answer)
}

// TestDeathsAreNamed: the error of a call that ends its worker names the template or the schema. The
// worker may be any: the call is repeated with all data.
func TestDeathsAreNamed(t *testing.T) {
	pool := worker.New(worker.Options{})
	t.Cleanup(pool.Close)
	const loop = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"
	sub := "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
	for name, tc := range map[string]struct {
		files, values m
		want          string
	}{
		"Template": {m{"templates/a.yaml": "kind: A\n", "templates/loop.yaml": loop, "templates/z.yaml": "kind: Z\n"}, nil, "template web/templates/loop.yaml"},
		"Subchart": {m{"charts/sub/Chart.yaml": sub, "charts/sub/templates/evil.yaml": "\n{{ include \"f\" . }}", "charts/sub/templates/_h.tpl": "{{ define \"f\" }}" + loop + "{{ end }}"}, nil, "template web/charts/sub/templates/evil.yaml"},
		"Notes":    {m{"templates/NOTES.txt": loop}, nil, "template web/templates/NOTES.txt"},
		"Included": {m{"templates/a.yaml": "{{ include \"web/templates/b.yaml\" . }}" + loop, "templates/b.yaml": "kind: B\n"}, nil, "template web/templates/a.yaml"},
		"Schema":   {m{"values.schema.json": `{"type":"object"}`, "charts/sub/Chart.yaml": sub, "charts/sub/values.schema.json": endless()}, m{"sub": m{"a": 1}}, "the schema of chart web/charts/sub"},
	} {
		in := input(t, tc.files, tc.values)
		// A worker that has cached the chart is not the one that renders it again.
		if _, err := remote.New(pool).Identify(t.Context(), "prod", in.Digest, in.Archive); err != nil {
			t.Fatal(err)
		}
		want := "rendering chart web 1.0.0+abc: " + tc.want + " has not ended in time, which is 1m0s"
		// A busy machine may not reach the template in a short time.
		var err error
		for timeout := 200 * time.Millisecond; timeout < time.Minute; timeout *= 2 {
			_, err = remote.New(hasty{pool, timeout}).Render(t.Context(), in, &rest.Config{})
			if err != nil && err.Error() == want {
				break
			}
		}
		if ended, ok := errors.AsType[*remote.Ended](err); !ok || err.Error() != want {
			t.Errorf("%s: %v, %+v\nwant %s", name, err, ended, want)
		}
	}
}

// endless returns a schema whose validation takes years: each definition refers to the next one
// several times.
func endless() string {
	var s strings.Builder
	s.WriteString(`{"$ref":"#/$defs/a","$defs":{`)
	name := "a"
	for range 40 {
		next := name + "a"
		s.WriteString(`"` + name + `":{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/`+next+`"},`, 3) + `{}]},`)
		name = next
	}
	s.WriteString(`"` + name + `":{"type":"object"}}}`)
	return s.String()
}
