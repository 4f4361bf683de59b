// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/danger"
)

func planned(kind, name string, of v1alpha1.ChangeKind, fields ...v1alpha1.PlanField) v1alpha1.PlanChange {
	return v1alpha1.PlanChange{
		APIVersion: "v1", Kind: kind, Namespace: "prod", Name: name, Change: of, Destructive: of == v1alpha1.ChangeDelete, Fields: fields,
	}
}

// TestBuild: destructive changes come first, then refused ones and replacements, and all of them are counted, those
// of CRDs too.
func TestBuild(t *testing.T) {
	t.Parallel()
	f := Facts{
		Action: v1alpha1.PlanUpgrade, Inputs: "i", Base: 2,
		Changes: Changes{
			Unchanged: 4,
			Objects: []v1alpha1.PlanChange{
				planned("Service", "b", v1alpha1.ChangeUpdate), planned("Service", "a", v1alpha1.ChangeReplace),
				planned("Pod", "c", v1alpha1.ChangeRefused), planned("Secret", "d", v1alpha1.ChangeDelete), planned("Pod", "e", v1alpha1.ChangeCreate),
			},
			CRDs: []v1alpha1.PlanChange{planned("CustomResourceDefinition", "f", v1alpha1.ChangeCreate)},
		},
	}
	before := slices.Clone(f.Objects)
	p := Build(f)
	var got []string
	for _, c := range p.All {
		got = append(got, c.Name)
	}
	if want := "d c a f e b"; strings.Join(got, " ") != want {
		t.Errorf("order %q, want %s", got, want)
	}
	if len(p.Status.Changes) != 5 || len(p.Status.CRDs) != 1 {
		t.Errorf("%d changes and %d CRDs", len(p.Status.Changes), len(p.Status.CRDs))
	}
	want := v1alpha1.PlanSummary{Create: 2, Update: 1, Replace: 1, Delete: 1, Refused: 1, Unchanged: 4, Destructive: 1}
	if p.Status.Summary != want {
		t.Errorf("summary %+v, want %+v", p.Status.Summary, want)
	}
	if diff := cmp.Diff(before, f.Objects); diff != "" {
		t.Errorf("the facts have changed: %s", diff)
	}
	if p.Status.Digest != f.Digest() || p.Status.Inputs != "i" || p.Status.Action != v1alpha1.PlanUpgrade || p.Status.Omitted != 0 {
		t.Errorf("status %+v", p.Status)
	}
}

// TestDigest: a digest depends on all that is approved, and on no value and no order.
func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(edit func(*Facts)) string {
		f := Facts{
			Inputs: "inputs", Base: 3, Text: "text",
			Changes: Changes{
				Objects: []v1alpha1.PlanChange{
					planned("Service", "a", v1alpha1.ChangeUpdate, v1alpha1.PlanField{Path: ".a", From: "1"}, v1alpha1.PlanField{Path: ".b", To: "2"}),
					planned("Pod", "b", v1alpha1.ChangeDelete),
				},
				CRDs: []v1alpha1.PlanChange{planned("CustomResourceDefinition", "c", v1alpha1.ChangeCreate)},
			},
		}
		if edit != nil {
			edit(&f)
		}
		return f.Digest()
	}
	base := digest(nil)
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Errorf("digest %s", base)
	}
	for name, edit := range map[string]func(*Facts){
		"Inputs":    func(f *Facts) { f.Inputs = "others" },
		"Base":      func(f *Facts) { f.Base = 4 },
		"Text":      func(f *Facts) { f.Text = "other" },
		"Kind":      func(f *Facts) { f.Objects[0].Kind = "Ingress" },
		"Version":   func(f *Facts) { f.Objects[0].APIVersion = "v2" },
		"Name":      func(f *Facts) { f.Objects[0].Name = "z" },
		"Namespace": func(f *Facts) { f.Objects[0].Namespace = "z" },
		"Change":    func(f *Facts) { f.Objects[0].Change = v1alpha1.ChangeReplace },
		"Path":      func(f *Facts) { f.Objects[0].Fields[0].Path = ".c" },
		"LessPaths": func(f *Facts) { f.Objects[0].Fields = f.Objects[0].Fields[:1] },
		"Less":      func(f *Facts) { f.Objects = f.Objects[:1] },
		"CRD":       func(f *Facts) { f.CRDs = nil },
		"NoCRD":     func(f *Facts) { f.Objects, f.CRDs = append(f.Objects, f.CRDs...), nil },
	} {
		if digest(edit) == base {
			t.Errorf("%s: the digest does not change", name)
		}
	}
	for name, edit := range map[string]func(*Facts){
		"Order":      func(f *Facts) { slices.Reverse(f.Objects) },
		"FieldOrder": func(f *Facts) { slices.Reverse(f.Objects[0].Fields) },
		"Values":     func(f *Facts) { f.Objects[0].Fields[0].From, f.Objects[0].Fields[0].TakenFrom = "5", "someone" },
		"Content":    func(f *Facts) { f.CRDs[0].Fields = []v1alpha1.PlanField{{Path: ".spec", To: "{}"}} },
		"Reason":     func(f *Facts) { f.Objects[1].Reason = "a text of the API server" },
	} {
		if digest(edit) != base {
			t.Errorf("%s: the digest changes", name)
		}
	}
}

// TestLimits: a plan has at most 200 changes and 256 KiB, the destructive changes before the others, and
// counts what it lacks.
func TestLimits(t *testing.T) {
	t.Parallel()
	many := make([]v1alpha1.PlanField, 60)
	for i := range many {
		many[i] = v1alpha1.PlanField{Path: fmt.Sprint(".", i), From: strings.Repeat("x", 2000), To: strings.Repeat("ü", 2000)}
	}
	f := Facts{}
	for i := range 500 {
		f.Objects = append(f.Objects, planned("ConfigMap", fmt.Sprint("c", i), v1alpha1.ChangeUpdate, many...))
		f.CRDs = append(f.CRDs, planned("CustomResourceDefinition", fmt.Sprint("d", i), v1alpha1.ChangeUpdate, many...))
		f.Values = append(f.Values, v1alpha1.PlanValue{Key: strings.Repeat("k", 3000)})
		f.Images = append(f.Images, v1alpha1.PlanImage{Object: "o", From: strings.Repeat("k", 3000)})
		f.Hooks = append(f.Hooks, v1alpha1.PlanHook{Name: strings.Repeat("k", 3000)})
		f.Warnings = append(f.Warnings, strings.Repeat("k", 3000))
	}
	f.Objects = append(f.Objects, planned("Secret", "z", v1alpha1.ChangeDelete))
	p := Build(f)
	raw, err := json.Marshal(p.Status)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 256<<10 {
		t.Errorf("the plan has %d bytes", len(raw))
	}
	s := p.Status
	if len(s.Changes) != 200 || s.Changes[0].Name != "z" || len(s.Changes[1].Fields) != 50 || len(s.Changes[199].Fields) != 0 {
		t.Errorf("%d changes, the first %s", len(s.Changes), s.Changes[0].Name)
	}
	if len(p.All) != 1001 || len(p.All[1].Fields) != 60 {
		t.Errorf("all are %d", len(p.All))
	}
	shown := int64(len(s.Changes) + len(s.CRDs) + len(s.Values) + len(s.Images) + len(s.Hooks) + len(s.Warnings))
	if s.Omitted < 501+5*500-shown {
		t.Errorf("omitted %d of which %d are shown", s.Omitted, shown)
	}
	// One that is too large makes room for those behind it.
	one := Build(Facts{Changes: Changes{Objects: []v1alpha1.PlanChange{planned("A", "a", v1alpha1.ChangeUpdate, many...), planned("B", "b", v1alpha1.ChangeUpdate)}}})
	if len(one.Status.Changes) != 2 || one.Status.Omitted != 10 {
		t.Errorf("%d changes, omitted %d", len(one.Status.Changes), one.Status.Omitted)
	}
}

// TestDangers: the first danger of each class is in the plan, however many and long they are, without
// secrets, and a plan without dangers says so.
func TestDangers(t *testing.T) {
	t.Parallel()
	if none := Build(Facts{}).Status.Dangers; none == nil || len(none) > 0 {
		t.Errorf("a plan without dangers has %#v", none)
	}
	f := Facts{Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }}
	for i := range 40 {
		long := fmt.Sprintf("%s%d", strings.Repeat("<", 2000), i)
		f.Objects = append(f.Objects, planned("PersistentVolumeClaim", long, v1alpha1.ChangeDelete), planned("PersistentVolumeClaim", fmt.Sprint("v", i), v1alpha1.ChangeReplace))
		f.After = append(f.After, danger.Object{Content: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": long},
			"spec": map[string]any{"hostPID": true, "containers": []any{map[string]any{"name": "main", "image": "hunter2" + long + "/web"}}},
		}})
	}
	p := Build(f)
	counts := map[v1alpha1.DangerClass]int{}
	for _, d := range p.Status.Dangers {
		counts[d.Class]++
		if strings.Contains(d.Reason, "hunter2") || len(d.Reason) > maxReason {
			t.Errorf("reason %s", d.Reason)
		}
	}
	if counts[v1alpha1.DataLoss] != 1 || counts[v1alpha1.Access] != 1 || counts[v1alpha1.Supply] < 1 || counts[v1alpha1.Supply] > maxDangers || p.Status.Omitted < 32 {
		t.Errorf("%v, omitted %d", counts, p.Status.Omitted)
	}
}

// TestFirstOfClass: dangers of one class that fill the plan do not hide another class.
func TestFirstOfClass(t *testing.T) {
	t.Parallel()
	var all []v1alpha1.PlanDanger
	for range maxDangers {
		all = append(all, v1alpha1.PlanDanger{Class: v1alpha1.DataLoss, Reason: strings.Repeat("x", shareOfDangers/maxDangers)})
	}
	all = append(all, v1alpha1.PlanDanger{Class: v1alpha1.Supply, Reason: strings.Repeat("y", shareOfDangers/maxDangers)})
	l := &limits{}
	if some := l.dangers(all); some[len(some)-1].Class != v1alpha1.Supply || int(l.omitted) != len(all)-len(some) || l.omitted == 0 {
		t.Errorf("%d dangers, omitted %d", len(some), l.omitted)
	}
	short := slices.Repeat([]v1alpha1.PlanDanger{{Class: v1alpha1.Outage}}, 2*maxDangers)
	if some := (&limits{}).dangers(short); len(some) != maxDangers {
		t.Errorf("%d short dangers", len(some))
	}
}

// TestMetadataLast: many annotations hide no other field.
func TestMetadataLast(t *testing.T) {
	t.Parallel()
	var fields []v1alpha1.PlanField
	for i := range 60 {
		fields = append(fields, v1alpha1.PlanField{Path: fmt.Sprint(".metadata.annotations.", i)})
	}
	fields = append(fields, v1alpha1.PlanField{Path: ".spec.template.spec.hostNetwork", To: "true"})
	p := Build(Facts{Changes: Changes{Objects: []v1alpha1.PlanChange{planned("Deployment", "web", v1alpha1.ChangeUpdate, fields...)}}})
	if got := p.Status.Changes[0].Fields[0].Path; got != ".spec.template.spec.hostNetwork" {
		t.Errorf("the first field is %s", got)
	}
}

// FuzzRedaction: no text that is redacted is in a plan, wherever it comes from and however long it is.
func FuzzRedaction(f *testing.F) {
	f.Add("before ", " after", 3)
	f.Add(strings.Repeat("x", maxText-3), "", 1)
	f.Add("", strings.Repeat("y", 5000), 70)
	f.Fuzz(func(t *testing.T, before, after string, n int) {
		const secret = "s3cr3t-canary"
		text := strings.ReplaceAll(before, secret, "") + secret + strings.ReplaceAll(after, secret, "")
		n = min(max(n, 1), 300)
		facts := Facts{Redact: func(s string) string { return strings.ReplaceAll(s, secret, "***") }, Action: v1alpha1.PlanUpgrade}
		facts.From = &v1alpha1.PlanRevision{Chart: text, AppVersion: text, Source: text}
		facts.To = facts.From
		for range n {
			c := v1alpha1.PlanChange{
				APIVersion: "v1", Kind: "Service", Namespace: text, Name: text, Reason: text, Change: v1alpha1.ChangeReplace,
				Fields: []v1alpha1.PlanField{{Path: text, From: text, To: text, TakenFrom: text}},
			}
			facts.Objects, facts.CRDs = append(facts.Objects, c), append(facts.CRDs, c)
			facts.Values = append(facts.Values, v1alpha1.PlanValue{Key: text, Layer: text})
			facts.Images = append(facts.Images, v1alpha1.PlanImage{Object: "Service/" + text, Container: text, From: text, To: text})
			facts.Hooks = append(facts.Hooks, v1alpha1.PlanHook{APIVersion: "v1", Kind: "Service", Name: text, Events: []string{text}})
			facts.Warnings = append(facts.Warnings, text)
		}
		p := Build(facts)
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), secret) {
			t.Errorf("the secret is in the plan: %.2000s", raw)
		}
		if status, _ := json.Marshal(p.Status); len(status) > maxBytes {
			t.Errorf("the status has %d bytes", len(status))
		}
	})
}

// TestKinds: kinds, API versions and names that stand in the chart are not redacted.
func TestKinds(t *testing.T) {
	t.Parallel()
	c := planned("PersistentVolumeClaim", "data", v1alpha1.ChangeDelete)
	hook := v1alpha1.PlanHook{APIVersion: "batch/v1", Kind: "Job", Name: "batch"}
	p := Build(Facts{
		Changes: Changes{Objects: []v1alpha1.PlanChange{c}, Images: []v1alpha1.PlanImage{{Object: "PersistentVolumeClaim/secret"}}},
		Hooks:   []v1alpha1.PlanHook{hook},
		Redact:  func(string) string { return "***" },
		Literal: func(name string) bool { return name == "data" || name == "batch" },
	})
	got := p.Status.Changes[0]
	if got.APIVersion != c.APIVersion || got.Kind != c.Kind || got.Name != "data" || got.Namespace != "***" {
		t.Errorf("the change is %+v", got)
	}
	if h := p.Status.Hooks[0]; h.APIVersion != hook.APIVersion || h.Kind != hook.Kind || h.Name != hook.Name {
		t.Errorf("the hook is %+v", h)
	}
	if i := p.Status.Images[0]; i.Object != "PersistentVolumeClaim/***" {
		t.Errorf("the image is of %s", i.Object)
	}
}

// TestRemovals: removals are complete, whatever the number of changes.
func TestRemovals(t *testing.T) {
	t.Parallel()
	f := Facts{Changes: Changes{Undefined: []apischema.GroupKind{{Group: "example.com", Kind: "Widget"}}}}
	for i := range 500 {
		f.Objects = append(f.Objects, planned("ConfigMap", fmt.Sprint("c", i), v1alpha1.ChangeDelete))
	}
	f.CRDs = []v1alpha1.PlanChange{planned("CustomResourceDefinition", "d", v1alpha1.ChangeReplace)}
	f.Objects = append(f.Objects, planned("Service", "s", v1alpha1.ChangeUpdate), planned("PersistentVolumeClaim", "z", v1alpha1.ChangeDelete))
	want := []v1alpha1.PlanRemoval{
		{Kind: "ConfigMap", Change: v1alpha1.ChangeDelete, Destructive: true, Name: "c0", Count: 500},
		{Kind: "PersistentVolumeClaim", Change: v1alpha1.ChangeDelete, Destructive: true, Name: "z", Count: 1},
		{Kind: "CustomResourceDefinition", Change: v1alpha1.ChangeReplace, Name: "d", Count: 1},
		{Group: "example.com", Kind: "Widget", Change: v1alpha1.ChangeDelete, Destructive: true, Name: "*", Count: 1},
	}
	if diff := cmp.Diff(want, Build(f).Status.Removals); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
}

// TestValues: the changed keys have the last layer that sets them.
func TestValues(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	layers := []Layer{
		{Name: "ConfigMap/base", Values: m{"image": m{"tag": 1}, "list": []any{1}, "gone": 1}},
		{Name: LayerInline, Values: m{"image": m{"tag": 2}, "null": nil}},
		{Name: "Secret/last", Values: m{"deep": m{"a": m{"b": 1}}}},
	}
	for name, tc := range map[string]struct {
		was, is m
		want    []string
	}{
		"Same":       {m{"a": 1, "l": []any{1}}, m{"a": 1.0, "l": []any{int64(1)}}, nil},
		"LastLayer":  {m{"image": m{"tag": 1, "name": "n"}}, m{"image": m{"tag": 2, "name": "n"}}, []string{"image.tag inline"}},
		"Chart":      {m{"image": m{"pull": 1}}, m{"image": m{"pull": 2}}, []string{"image.pull chart"}},
		"Object":     {m{"list": []any{}}, m{"list": []any{1}}, []string{"list ConfigMap/base"}},
		"Removed":    {m{"gone": m{"a": 1, "b": 2}}, m{}, []string{"gone.a removed", "gone.b removed"}},
		"Added":      {nil, m{"deep": m{"a": m{"b": 1}}}, []string{"deep.a.b Secret/last"}},
		"MapByText":  {m{"image": "x"}, m{"image": m{"tag": 2}}, []string{"image inline"}},
		"TextByMap":  {m{"a": m{"b": 1}}, m{"a": "x"}, []string{"a chart"}},
		"EmptyMap":   {m{}, m{"a": m{}}, []string{"a chart"}},
		"Dots":       {m{}, m{"a.b": m{`c\d`: 1}}, []string{`a\.b.c\\d chart`}},
		"NoValues":   {m{"password": "one"}, m{"password": "two"}, []string{"password chart"}},
		"NullInline": {m{"null": 1}, m{"null": nil}, []string{"null removed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range Values(tc.was, tc.is, layers) {
				got = append(got, v.Key+" "+v.Layer)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("values %q, want %q", got, tc.want)
			}
		})
	}
}
