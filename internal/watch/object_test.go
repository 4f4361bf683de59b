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

// TestScalers: another client that scales an object is a relevant change, and a further change by
// the same one is not.
func TestScalers(t *testing.T) {
	ours := entry(helmv2.FieldManager, "", 1)
	at := func(version string, number int64, manager string) snapshot {
		return observe(made("x", func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = version }, generation(number),
			entries(ours, metav1.ManagedFieldsEntry{Manager: manager, Subresource: "scale"})), gvr("things"), nil)
	}
	before := at("10", 2, "kube-controller-manager").object
	if got := classify(before, at("11", 3, "kube-controller-manager"), "10", false); got != unowned {
		t.Errorf("by the same client: %v", got)
	}
	if got := classify(before, at("11", 3, "kubectl"), "10", false); got != relevant {
		t.Errorf("by another client: %v", got)
	}
}

// TestClassify: changes of an object are classified by its metadata. The controller created the
// object at second 1, and its status was written at second 5. It is known at version 10, the newest
// one.
func TestClassify(t *testing.T) {
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
		want          change
	}{
		"nothing":             {start, nil, false, irrelevant},
		"status":              {start, edits(entries(ours, entry("controller", "status", 9))), false, irrelevant},
		"generation":          {start, edits(generation(2), entries(ours, status, kubectl)), false, relevant},
		"generation by us":    {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"generation by scale": {start, edits(generation(2), entries(ours, status, scale)), false, relevant},
		// As API servers record it.
		"generation by scale, no time":   {start, edits(generation(2), entries(ours, status, metav1.ManagedFieldsEntry{Manager: "autoscaler", Subresource: "scale"})), false, relevant},
		"generation by us through scale": {start, edits(generation(2), entries(ours, status, entry(helmv2.FieldManager, "scale", 9))), false, relevant},
		"generation, no new entry":       {start, edits(generation(2)), false, relevant},
		"removal after ours": {
			edits(entries(entry(helmv2.FieldManager, "", 6))), edits(generation(2), entries(entry(helmv2.FieldManager, "", 6))), false, relevant,
		},
		"generation, tie": {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9), kubectl)), false, relevant},
		"generation by us, not newest": {
			start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 8), kubectl)), false, relevant,
		},
		"generation without entries": {start, edits(generation(2), entries()), false, relevant},
		"label":                      {start, edits(label, entries(ours, status, kubectl)), false, relevant},
		"label by us":                {start, edits(label, entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"annotation":                 {start, edits(annotate("a", "b")), false, relevant},
		"rollout":                    {start, edits(annotate("deployment.kubernetes.io/revision", "2")), false, irrelevant},
		"last applied":               {start, edits(annotate("kubectl.kubernetes.io/last-applied-configuration", "{}")), false, irrelevant},
		"autoscaler's conditions":    {start, edits(annotate("autoscaling.alpha.kubernetes.io/conditions", "[]")), false, irrelevant},
		"autoscaler's metrics":       {start, edits(annotate("autoscaling.alpha.kubernetes.io/current-metrics", "[]")), false, irrelevant},
		"desired replicas":           {start, edits(annotate("deployment.kubernetes.io/desired-replicas", "2")), false, relevant},
		"deletion":                   {start, edits(deleting), false, relevant},
		"another object":             {start, edits(again, entries(entry(helmv2.FieldManager, "", 9))), false, relevant},

		"new":          {nil, edits(entries(kubectl)), false, relevant},
		"new by us":    {nil, edits(entries(ours)), false, own},
		"new, tie":     {nil, edits(entries(ours, entry("kubectl-edit", "", 1))), false, relevant},
		"new, unknown": {nil, edits(entries()), false, relevant},

		"plain, status":         {plain, edits(entries(ours, entry("controller", "status", 9))), false, irrelevant},
		"plain, status at once": {plain, edits(entries(ours, status)), false, relevant},
		"plain, content":        {plain, edits(entries(ours, status, kubectl)), false, relevant},
		"plain, by us":          {plain, edits(entries(entry(helmv2.FieldManager, "", 9), status)), false, own},
		"plain, tie":            {plain, edits(entries(entry(helmv2.FieldManager, "", 9), kubectl)), false, relevant},
		"plain, removal":        {edits(entries(ours), generation(0)), edits(entries(ours)), false, relevant},
		"plain, same version":   {plain, edits(version("10")), false, irrelevant},
		"plain, label through status": {
			plain, edits(label, entries(ours, entry("controller", "status", 9))), false, relevant,
		},

		"listed, nothing":             {start, edits(version("10")), true, irrelevant},
		"listed, status":              {start, edits(entries(ours, entry("controller", "status", 9))), true, irrelevant},
		"listed, generation":          {start, edits(generation(2), entries(entry(helmv2.FieldManager, "", 9))), true, relevant},
		"listed, plain, changed":      {plain, edits(entries(ours, entry("controller", "status", 9))), true, relevant},
		"listed, plain, same version": {plain, edits(version("10")), true, irrelevant},
		"listed, new by us":           {nil, edits(entries(ours)), true, own},
	} {
		t.Run(name, func(t *testing.T) {
			var before object
			base := append(edits(version("10")), tc.before...)
			if tc.before != nil {
				before = observe(made("x", base...), gvr("things"), nil).object
			}
			after := observe(made("x", append(append(base, version("11")), tc.after...)...), gvr("things"), nil)
			// The owned fields are fewer now, were not known before, or are unchanged.
			fewer, same := after, tc.want
			if fewer.owned = 7; tc.want == relevant && before.uid == after.uid && !after.deleting && before.owned != 0 {
				same = unowned
			}
			unknown := before
			unknown.owned = 0
			for how, got := range map[string]change{
				"fewer": classify(before, fewer, "10", tc.listed), "unknown": classify(unknown, after, "10", tc.listed),
			} {
				if got != tc.want {
					t.Errorf("%s: got %v, want %v", how, got, tc.want)
				}
			}
			if after.owned = before.owned; classify(before, after, "10", tc.listed) != same {
				t.Errorf("same owned fields: got %v, want %v", classify(before, after, "10", tc.listed), same)
			}
		})
	}
}

// TestConstantGeneration: the generation of PriorityClasses is ignored.
func TestConstantGeneration(t *testing.T) {
	for _, tc := range []struct {
		resource schema.GroupVersionResource
		want     change
	}{
		{schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, relevant},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, irrelevant},
	} {
		before := observe(made("x"), tc.resource, nil).object
		after := observe(made("x", entries(entry("kubectl-edit", "", 2))), tc.resource, nil)
		if got := classify(before, after, "10", false); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.resource.Resource, got, tc.want)
		}
	}
}

// TestContentHash: different labels and annotations have different hashes.
func TestContentHash(t *testing.T) {
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
			t.Errorf("%d has the hash of %d", i, j)
		}
		seen[h] = i
	}
}

// TestChangedSince: an object counts as unchanged only if that is certain.
func TestChangedSince(t *testing.T) {
	here := Observation{Known: true, Present: true, UID: "u", Version: "50", At: "90"}
	gone := Observation{Known: true, At: "90"}
	for name, tc := range map[string]struct {
		observed     Observation
		uid, version string
		want         bool
	}{
		"not known":                     {Observation{Present: true, UID: "u", Version: "50", At: "90"}, "u", "50", true},
		"as it was":                     {here, "u", "50", false},
		"read later":                    {here, "u", "51", false},
		"read later than received":      {here, "u", "100", false},
		"changed":                       {here, "u", "49", true},
		"changed, longer":               {here, "u", "9", true},
		"never read":                    {here, "", "", true},
		"without a version":             {here, "u", "", true},
		"another one":                   {here, "v", "80", true},
		"another one, not received":     {here, "v", "91", false},
		"gone":                          {gone, "u", "50", true},
		"gone, just then":               {gone, "u", "90", true},
		"our own write, not received":   {gone, "u", "91", false},
		"our own write, more digits":    {gone, "u", "100", false},
		"gone, not comparable":          {Observation{Known: true, At: ""}, "u", "50", true},
		"here, not comparable":          {Observation{Known: true, Present: true, UID: "u", Version: "x", At: "x"}, "u", "50", true},
		"gone, no version of this kind": {gone, "u", "x", true},
	} {
		if got := tc.observed.ChangedSince(tc.uid, tc.version); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOwned: the hash depends on fields of our field manager and of overridden ones.
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
		"removed":        {[]metav1.ManagedFieldsEntry{with(helmv2.FieldManager, "", `{"f:data":{}}`)}, nil, false},
		"overridden add": {[]metav1.ManagedFieldsEntry{ours, with("operator", "", `{"f:data":{"f:b":{}}}`)}, []string{"operator"}, false},
		"nothing":        {nil, nil, false},
	} {
		if got := ownedIn(tc.entries, tc.overridden); (got == all) != tc.same {
			t.Errorf("%s: %d, %d", name, got, all)
		}
	}
	if s := observe(made("x"), schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, nil); s.owned != 0 {
		t.Error("Secrets have owned fields")
	}
	if all == 0 || ownedIn(nil, nil) != 0 {
		t.Error("owned fields have the hash of none")
	}
}

// TestTrim: fields that are not read are removed from objects of a streamed list.
func TestTrim(t *testing.T) {
	k := newKind(NewRegistry(func(types.NamespacedName) {}, Options{}), kindKey{"here", Target{Resource: gvr("things")}})
	both := entries(entry(helmv2.FieldManager, "", 1), entry("kubectl-edit", "", 1))
	got, err := k.Transformer()(made("x", both))
	o, ok := got.(*metav1.PartialObjectMetadata)
	if err != nil || !ok || o.ManagedFields[0].FieldsV1 == nil || o.ManagedFields[1].FieldsV1 != nil || observe(o, gvr("things"), nil) != observe(made("x", both), gvr("things"), nil) {
		t.Errorf("%v, %v", got, err)
	}
}

// BenchmarkMemory reports the bytes stored for an object.
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

// BenchmarkWatchKinds measures an unchanged subscription, as of every reconciliation.
func BenchmarkWatchKinds(b *testing.B) {
	r := NewRegistry(func(types.NamespacedName) {}, Options{})
	all := gvrs("deployments", "services", "configmaps", "secrets", "ingresses", "roles")
	c := Cluster{ID: "here"}
	b.ReportAllocs()
	for b.Loop() {
		r.WatchKinds(app, c, all)
	}
}
