// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

type edit = func(*metav1.PartialObjectMetadata)

func edits(all ...edit) []edit { return all }

// TestWhatMatters: an object is made by us at second 1, has a status at second 5, and
// is seen at version 10 when everything up to 10 was heard of.
func TestWhatMatters(t *testing.T) {
	ours, status := entry(helmv2.FieldManager, "", 1), entry("controller", "status", 5)
	kubectl, scale := entry("kubectl-edit", "", 9), entry("autoscaler", "scale", 9)
	start := edits(entries(ours, status))
	plain := edits(entries(ours, status), generation(0))
	annotate := func(name, value string) edit {
		return func(o *metav1.PartialObjectMetadata) { o.Annotations = map[string]string{name: value} }
	}
	label := func(o *metav1.PartialObjectMetadata) { o.Labels["team"] = "b" }
	deleting := func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} }
	again := func(o *metav1.PartialObjectMetadata) { o.UID = "another" }
	version := func(v string) edit { return func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = v } }
	for name, tc := range map[string]struct {
		before, after []edit
		listed        bool
		want          verdict
	}{
		"nothing":             {start, nil, false, still},
		"status":              {start, edits(entries(ours, entry("controller", "status", 9))), false, still},
		"generation":          {start, edits(generation(2), entries(ours, status, kubectl)), false, foreign},
		"generation by us":    {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"generation by scale": {start, edits(generation(2), entries(ours, status, scale)), false, foreign},
		// As API servers note it.
		"generation by scale, no time":    {start, edits(generation(2), entries(ours, status, metav1.ManagedFieldsEntry{Manager: "autoscaler", Subresource: "scale"})), false, foreign},
		"generation by us through scale":  {start, edits(generation(2), entries(ours, status, entry(helmv2.FieldManager, "scale", 9))), false, foreign},
		"generation, nothing left behind": {start, edits(generation(2)), false, foreign},
		"removal after ours": {
			edits(entries(entry(helmv2.FieldManager, "", 6))), edits(generation(2), entries(entry(helmv2.FieldManager, "", 6))), false, foreign,
		},
		"generation, tie": {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9), kubectl)), false, foreign},
		"generation by us, not newest": {
			start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 8), kubectl)), false, foreign,
		},
		"generation without entries": {start, edits(generation(2), entries()), false, foreign},
		"label":                      {start, edits(label, entries(ours, status, kubectl)), false, foreign},
		"label by us":                {start, edits(label, entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"annotation":                 {start, edits(annotate("a", "b")), false, foreign},
		"rollout":                    {start, edits(annotate("deployment.kubernetes.io/revision", "2")), false, still},
		"last applied":               {start, edits(annotate("kubectl.kubernetes.io/last-applied-configuration", "{}")), false, still},
		"autoscaler's conditions":    {start, edits(annotate("autoscaling.alpha.kubernetes.io/conditions", "[]")), false, still},
		"autoscaler's metrics":       {start, edits(annotate("autoscaling.alpha.kubernetes.io/current-metrics", "[]")), false, still},
		"desired replicas":           {start, edits(annotate("deployment.kubernetes.io/desired-replicas", "2")), false, foreign},
		"deletion":                   {start, edits(deleting), false, foreign},
		"another object":             {start, edits(again, entries(entry(helmv2.FieldManager, "", 9))), false, foreign},

		"new":          {nil, edits(entries(kubectl)), false, foreign},
		"new by us":    {nil, edits(entries(ours)), false, own},
		"new, tie":     {nil, edits(entries(ours, entry("kubectl-edit", "", 1))), false, foreign},
		"new, unknown": {nil, edits(entries()), false, foreign},

		"plain, status":         {plain, edits(entries(ours, entry("controller", "status", 9))), false, still},
		"plain, status at once": {plain, edits(entries(ours, status)), false, foreign},
		"plain, content":        {plain, edits(entries(ours, status, kubectl)), false, foreign},
		"plain, by us":          {plain, edits(entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"plain, tie":            {plain, edits(entries(entry(helmv2.FieldManager, "", 9), kubectl)), false, foreign},
		"plain, removal":        {edits(entries(ours), generation(0)), edits(entries(ours)), false, foreign},
		"plain, not moved":      {plain, edits(version("10")), false, still},
		"plain, label through status": {
			plain, edits(label, entries(ours, entry("controller", "status", 9))), false, foreign,
		},

		"listed, nothing":         {start, edits(version("10")), true, still},
		"listed, status":          {start, edits(entries(ours, entry("controller", "status", 9))), true, still},
		"listed, generation":      {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9))), true, foreign},
		"listed, plain, moved":    {plain, edits(entries(ours, entry("controller", "status", 9))), true, foreign},
		"listed, plain, as heard": {plain, edits(version("10")), true, still},
		"listed, new by us":       {nil, edits(entries(ours)), true, own},
	} {
		t.Run(name, func(t *testing.T) {
			var before object
			base := append(edits(version("10")), tc.before...)
			if tc.before != nil {
				before = look(made("x", base...), gvr("things"), nil).object
			}
			after := look(made("x", append(append(base, version("11")), tc.after...)...), gvr("things"), nil)
			// What is ours may be less now, or nobody knows what it was; or it is as it was.
			taken, kept := after, tc.want
			if taken.owned = 7; tc.want == foreign && before.uid == after.uid && !after.going && before.owned != 0 {
				kept = aside
			}
			unknown := before
			unknown.owned = 0
			for how, got := range map[string]verdict{
				"taken": judge(before, taken, "10", tc.listed), "unknown": judge(unknown, after, "10", tc.listed),
			} {
				if got != tc.want {
					t.Errorf("%s: it is %v, want %v", how, got, tc.want)
				}
			}
			if after.owned = before.owned; judge(before, after, "10", tc.listed) != kept {
				t.Errorf("what is ours is as it was: it is %v, want %v", judge(before, after, "10", tc.listed), kept)
			}
		})
	}
}

// TestGenerationThatStands: a kind may have one that says nothing.
func TestGenerationThatStands(t *testing.T) {
	for _, tc := range []struct {
		resource schema.GroupVersionResource
		want     verdict
	}{
		{schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, foreign},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, still},
	} {
		before := look(made("x"), tc.resource, nil).object
		after := look(made("x", entries(entry("kubectl-edit", "", 2))), tc.resource, nil)
		if got := judge(before, after, "10", false); got != tc.want {
			t.Errorf("%s: it is %v, want %v", tc.resource.Resource, got, tc.want)
		}
	}
}

// TestContentIsToldApart: what is written in other places is other content.
func TestContentIsToldApart(t *testing.T) {
	seen := map[uint64]int{}
	for i, o := range []metav1.ObjectMeta{
		{},
		{Labels: map[string]string{"a": "1", "b": "2"}},
		{Labels: map[string]string{"a": "2", "b": "1"}},
		{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"}},
		{Annotations: map[string]string{"a": "1", "b": "2"}},
		{Labels: map[string]string{"a1": "b2"}},
		{Labels: map[string]string{"a": "1b2"}},
	} {
		h := contentOf(&o)
		if j, taken := seen[h]; taken {
			t.Errorf("%d is as %d", i, j)
		}
		seen[h] = i
	}
}

func TestSince(t *testing.T) {
	here := Observation{Known: true, Present: true, UID: "u", Version: "50", At: "90"}
	gone := Observation{Known: true, At: "90"}
	for name, tc := range map[string]struct {
		moved        Observation
		uid, version string
		want         bool
	}{
		"not known":                     {Observation{Present: true, UID: "u", Version: "50", At: "90"}, "u", "50", true},
		"as it was":                     {here, "u", "50", false},
		"looked at later":               {here, "u", "51", false},
		"later than heard of":           {here, "u", "100", false},
		"changed":                       {here, "u", "49", true},
		"changed, longer":               {here, "u", "9", true},
		"never looked at":               {here, "", "", true},
		"without a version":             {here, "u", "", true},
		"another one":                   {here, "v", "80", true},
		"another one, not heard of":     {here, "v", "91", false},
		"gone":                          {gone, "u", "50", true},
		"gone, just then":               {gone, "u", "90", true},
		"our own write, not heard of":   {gone, "u", "91", false},
		"our own write, more digits":    {gone, "u", "100", false},
		"gone, nobody can tell":         {Observation{Known: true, At: ""}, "u", "50", true},
		"here, nobody can tell":         {Observation{Known: true, Present: true, UID: "u", Version: "x", At: "x"}, "u", "50", true},
		"gone, no version of this kind": {gone, "u", "x", true},
	} {
		if got := tc.moved.ChangedSince(tc.uid, tc.version); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOwned: what is ours, and what is of managers that are overridden.
func TestOwned(t *testing.T) {
	with := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		e := entry(manager, subresource, 1)
		e.FieldsV1 = metav1.NewFieldsV1(fields)
		return e
	}
	ours := with(helmv2.FieldManager, "", `{"f:data":{"f:a":{}}}`)
	all := ownedIn([]metav1.ManagedFieldsEntry{ours}, nil)
	for name, tc := range map[string]struct {
		entries    []metav1.ManagedFieldsEntry
		overridden []string
		same       bool
	}{
		"others add":     {[]metav1.ManagedFieldsEntry{ours, with("operator", "", `{"f:data":{"f:b":{}}}`)}, nil, true},
		"our status":     {[]metav1.ManagedFieldsEntry{ours, with(helmv2.FieldManager, "status", `{"f:status":{}}`)}, nil, true},
		"taken":          {[]metav1.ManagedFieldsEntry{with(helmv2.FieldManager, "", `{"f:data":{}}`)}, nil, false},
		"overridden add": {[]metav1.ManagedFieldsEntry{ours, with("operator", "", `{"f:data":{"f:b":{}}}`)}, []string{"operator"}, false},
		"nothing":        {nil, nil, false},
	} {
		if got := ownedIn(tc.entries, tc.overridden); (got == all) != tc.same {
			t.Errorf("%s: %d, %d", name, got, all)
		}
	}
	if s := look(made("x"), schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, nil); s.owned != 0 {
		t.Error("entries tell of Secrets")
	}
	if all == 0 || ownedIn(nil, nil) != 0 {
		t.Error("nothing is told from something")
	}
}

// TestTrim: the bulk of a list does not wait in memory for its end.
func TestTrim(t *testing.T) {
	k := newKind(NewRegistry(func(types.NamespacedName) {}, Options{}), kindKey{"here", Target{Resource: gvr("things")}})
	both := entries(entry(helmv2.FieldManager, "", 1), entry("kubectl-edit", "", 1))
	got, err := k.Transformer()(made("x", both))
	o, ok := got.(*metav1.PartialObjectMetadata)
	if err != nil || !ok || o.ManagedFields[0].FieldsV1 == nil || o.ManagedFields[1].FieldsV1 != nil || look(o, gvr("things"), nil) != look(made("x", both), gvr("things"), nil) {
		t.Errorf("%v, %v", got, err)
	}
}

// BenchmarkMemory says how many bytes are kept of an object.
func BenchmarkMemory(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		k := newKind(NewRegistry(func(types.NamespacedName) {}, Options{}), kindKey{"here", Target{Resource: gvr("things")}})
		heap := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		for i := range n {
			name := fmt.Sprintf("deployment-of-some-app-%05d", i)
			_ = k.Add(made(name, func(o *metav1.PartialObjectMetadata) {
				o.Namespace = fmt.Sprintf("namespace-%03d", i%100)
				o.UID = types.UID(fmt.Sprintf("%08d-1234-1234-1234-123456789012", i))
				o.ResourceVersion = fmt.Sprint(100_000_000 + i)
				o.Labels[helmv2.LabelName] = fmt.Sprint("app-", i%1000)
			}))
		}
		b.ReportMetric(float64(heap()-before)/n, "B/object")
		runtime.KeepAlive(k)
	}
}

// BenchmarkFollow is what every visit pays.
func BenchmarkFollow(b *testing.B) {
	r := NewRegistry(func(types.NamespacedName) {}, Options{})
	all := gvrs("deployments", "services", "configmaps", "secrets", "ingresses", "roles")
	c := Cluster{ID: "here"}
	b.ReportAllocs()
	for b.Loop() {
		r.WatchKinds(app, c, all)
	}
}
