// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func invalidSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
}

func frozen(kind, namespace, name string, change ...func(*Policy)) Policy {
	p := Policy{Kind: kind, Namespace: namespace, Name: name, Spec: v1alpha1.ReleasePolicySpec{Freeze: "because of " + name}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func web() Release {
	return Release{
		Namespace: "apps", Labels: map[string]string{"tier": "production"}, NamespaceLabels: map[string]string{"team": "a"},
	}
}

// TestSelects: a policy selects by namespace and labels, and one that cannot be evaluated makes the
// policies unavailable.
func TestSelects(t *testing.T) {
	t.Parallel()
	namespaced, cluster := v1alpha1.ReleasePolicyKind, v1alpha1.ClusterReleasePolicyKind
	selector := func(s *metav1.LabelSelector) func(*Policy) { return func(p *Policy) { p.Spec.Selector = s } }
	namespaces := func(s *metav1.LabelSelector) func(*Policy) { return func(p *Policy) { p.Namespaces = s } }
	unread := web()
	unread.NamespaceLabels, unread.NamespaceUnread = nil, "forbidden"
	for name, tc := range map[string]struct {
		policy      Policy
		release     Release
		selected    bool
		unavailable string
	}{
		"NoSelector":         {frozen(namespaced, "apps", "p"), web(), true, ""},
		"EmptySelector":      {frozen(namespaced, "apps", "p", selector(&metav1.LabelSelector{})), web(), true, ""},
		"OtherNamespace":     {frozen(namespaced, "other", "p"), web(), false, ""},
		"Labels":             {frozen(namespaced, "apps", "p", selector(matching("tier", "production"))), web(), true, ""},
		"OtherLabels":        {frozen(namespaced, "apps", "p", selector(matching("tier", "staging"))), web(), false, ""},
		"InvalidSelector":    {frozen(namespaced, "apps", "p", selector(invalidSelector())), web(), false, "ReleasePolicy/p: spec.selector is invalid"},
		"InvalidElsewhere":   {frozen(namespaced, "other", "p", selector(invalidSelector())), web(), false, ""},
		"Cluster":            {frozen(cluster, "", "p"), web(), true, ""},
		"EmptyNamespaces":    {frozen(cluster, "", "p", namespaces(&metav1.LabelSelector{})), unread, true, ""},
		"Namespaces":         {frozen(cluster, "", "p", namespaces(matching("team", "a"))), web(), true, ""},
		"OtherNamespaces":    {frozen(cluster, "", "p", namespaces(matching("team", "b"))), web(), false, ""},
		"BothSelectors":      {frozen(cluster, "", "p", namespaces(matching("team", "a")), selector(matching("tier", "staging"))), web(), false, ""},
		"InvalidNamespaces":  {frozen(cluster, "", "p", namespaces(invalidSelector())), web(), false, "spec.namespaceSelector is invalid"},
		"InvalidInOther":     {frozen(cluster, "", "p", namespaces(matching("team", "b")), selector(invalidSelector())), web(), false, ""},
		"UnreadNamespace":    {frozen(cluster, "", "p", namespaces(matching("team", "a"))), unread, false, "labels of namespace apps are not known: forbidden"},
		"UnreadNotSelecting": {frozen(cluster, "", "p", namespaces(matching("team", "a")), selector(matching("tier", "staging"))), unread, false, ""},
		"UnknownApproval":    {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.Approval = "Sometimes" }), web(), false, `spec.approval "Sometimes"`},
		"UnknownRollbacks":   {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.Rollbacks = "Sometimes" }), web(), false, `spec.rollbacks "Sometimes"`},
		"UnknownClass":       {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.ApprovalClasses = []v1alpha1.DangerClass{"Cost"} }), web(), false, `spec.approvalClasses: "Cost"`},
		"UnknownDenials":     {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.DryRunDenials = "Ask" }), web(), false, `spec.dryRunDenials "Ask"`},
		"UnknownPlaintext":   {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.Values = &v1alpha1.ValuesPolicy{PlaintextSecrets: "Ask"} }), web(), false, `spec.values.plaintextSecrets "Ask"`},
		"UnknownOperation": {frozen(namespaced, "apps", "p", func(p *Policy) {
			p.Spec.Protect = []v1alpha1.Protection{{Kinds: []string{"Secret"}, Operations: []v1alpha1.ProtectedOperation{"Rename"}}}
		}), web(), false, `spec.protect[0].operations: "Rename"`},
		"NoKinds":           {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.Protect = []v1alpha1.Protection{{}} }), web(), false, "spec.protect[0] has no kinds"},
		"InvalidSource":     {frozen(namespaced, "apps", "p", func(p *Policy) { p.Spec.Charts = &v1alpha1.ChartPolicy{Sources: []string{"*"}} }), web(), false, "spec.charts.sources[0]"},
		"InvalidUnselected": {frozen(namespaced, "apps", "p", selector(matching("tier", "staging")), func(p *Policy) { p.Spec.Approval = "Sometimes" }), web(), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Select([]Policy{tc.policy}, tc.release, time.Time{})
			if selected := len(d.Freezes) > 0; selected != tc.selected {
				t.Errorf("selected: %v, want %v: %+v", selected, tc.selected, d)
			}
			if !strings.Contains(d.Unavailable, tc.unavailable) || tc.unavailable == "" && d.Unavailable != "" {
				t.Errorf("unavailable: %q, want %q", d.Unavailable, tc.unavailable)
			}
		})
	}
}

// TestStrictest: all policies that select a release apply, and the strictest comes first.
func TestStrictest(t *testing.T) {
	t.Parallel()
	destructive := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "a", Spec: v1alpha1.ReleasePolicySpec{
		Approval: v1alpha1.ApprovalDestructive, Freeze: "two", Rollbacks: v1alpha1.RollbacksFree,
	}}
	never := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "b", Spec: v1alpha1.ReleasePolicySpec{
		Approval: v1alpha1.ApprovalNever, Protect: []v1alpha1.Protection{{Kinds: []string{"Secret"}, Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete}}},
	}}
	always := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "z", Spec: v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalAlways}}
	cluster := Policy{Kind: "ClusterReleasePolicy", Name: "c", Spec: v1alpha1.ReleasePolicySpec{Freeze: "one"}}
	classes := []v1alpha1.DangerClass{v1alpha1.Supply}
	cluster.Spec.ApprovalClasses = classes
	got := Select([]Policy{never, destructive, always, cluster}, web(), time.Time{})
	want := Demands{
		Freezes:     []Freeze{{Policy: "ClusterReleasePolicy/c", Why: "one"}, {Policy: "ReleasePolicy/a", Why: "two", RollbacksFree: true}},
		Approvals:   []Approval{{Policy: "ReleasePolicy/z", Of: v1alpha1.ApprovalAlways}, {Policy: "ClusterReleasePolicy/c", Classes: classes}, {Policy: "ReleasePolicy/a", Of: v1alpha1.ApprovalDestructive, RollbacksFree: true}},
		Protections: []Protection{{"ReleasePolicy/b", never.Spec.Protect[0]}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	held := Demands{Freezes: want.Freezes[:1], Approvals: want.Approvals[:2]}
	if back := got.OnRollback(); !reflect.DeepEqual(back, held) {
		t.Errorf("on a rollback: %+v\nwant %+v", back, held)
	}
}

// TestNeedsNamespace: the labels of a namespace are read only if they matter.
func TestNeedsNamespace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy Policy
		want   bool
	}{
		"Namespaced": {Policy{Kind: "ReleasePolicy"}, false},
		"All":        {Policy{Kind: "ClusterReleasePolicy"}, false},
		"Empty":      {Policy{Kind: "ClusterReleasePolicy", Namespaces: &metav1.LabelSelector{}}, false},
		"Some":       {Policy{Kind: "ClusterReleasePolicy", Namespaces: matching("team", "a")}, true},
		"Unselected": {Policy{Kind: "ClusterReleasePolicy", Namespaces: matching("team", "a"), Spec: v1alpha1.ReleasePolicySpec{Selector: matching("tier", "x")}}, false},
	} {
		if got := NeedsNamespace([]Policy{tc.policy}, web()); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// covers returns an error text if the demands are weaker than others.
func weaker(after, before Demands) string {
	if before.Unavailable != "" && after.Unavailable == "" {
		return "the policies are available again"
	}
	for _, f := range before.Freezes {
		if !containsEqual(after.Freezes, f) {
			return "a freeze is gone: " + f.Policy
		}
	}
	for _, a := range before.Approvals {
		if !containsEqual(after.Approvals, a) {
			return "an approval is gone: " + a.Policy
		}
	}
	for _, p := range before.Protections {
		if !containsEqual(after.Protections, p) {
			return "a protection is gone: " + p.Policy
		}
	}
	return ""
}

func containsEqual[T any](list []T, item T) bool {
	for i := range list {
		if reflect.DeepEqual(list[i], item) {
			return true
		}
	}
	return false
}

// FuzzSelect: nothing panics, the order of policies does not matter, and a further policy does not
// weaken the result.
func FuzzSelect(f *testing.F) {
	f.Add(`[{"Kind":"ReleasePolicy","Namespace":"apps","Name":"a","Spec":{"freeze":"x","approval":"Always"}},{"Kind":"ClusterReleasePolicy","Name":"b","Spec":{"approval":"Destructive"}}]`, `{"Namespace":"apps"}`, `{"URL":"oci://r/c"}`, uint64(1))
	f.Add(`[{"Kind":"ClusterReleasePolicy","Name":"b","Namespaces":{"matchExpressions":[{"key":"a","operator":"Near"}]}},{"Kind":"ClusterReleasePolicy","Name":"c","Spec":{"charts":{"sources":["oci://*"]}}}]`, `{"NamespaceUnread":"x"}`, `{}`, uint64(2))
	f.Add(`[{"Kind":"ReleasePolicy","Name":"a"},{"Kind":"ReleasePolicy","Name":"a","Spec":{"protect":[{}]}}]`, `{}`, `{"Inexact":{"Field":"f","Why":"w"}}`, uint64(3))
	f.Add(`[{"Kind":"ClusterReleasePolicy","Name":"b","Spec":{"charts":{"sources":["oci://r/*"]}}},{"Kind":"ClusterReleasePolicy","Name":"c","Spec":{"charts":{"sources":["oci://r/*"],"transport":"System","signers":[{"provider":"cosign"}]}}}]`, `{}`, `{"URL":"oci://r/c","OwnCAs":{"Field":"f","Why":"w"}}`, uint64(4))
	f.Fuzz(func(t *testing.T, policies, to, of string, seed uint64) {
		var all []Policy
		var r Release
		var c Chart
		if json.Unmarshal([]byte(policies), &all) != nil || json.Unmarshal([]byte(to), &r) != nil || json.Unmarshal([]byte(of), &c) != nil || len(all) == 0 {
			return
		}
		names := map[string]bool{}
		for _, p := range all {
			key := p.String() + "\x00" + p.Namespace
			if names[key] || strings.Contains(key, "/\x00") {
				// The API server has no two of a name.
				return
			}
			names[key] = true
		}
		want, refusal := Select(all, r, time.Time{}), Refuse(all, r, c)
		shuffled := append([]Policy(nil), all...)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := Select(shuffled, r, time.Time{}); !reflect.DeepEqual(got, want) {
			t.Errorf("in another order: %+v, want %+v", got, want)
		}
		if got := Refuse(shuffled, r, c); !reflect.DeepEqual(got, refusal) {
			t.Errorf("in another order: %+v, want %+v", got, refusal)
		}
		if why := weaker(want, Select(all[1:], r, time.Time{})); why != "" {
			t.Errorf("%s is weaker with one more policy: %s", policies, why)
		}
		if fewer := Refuse(all[1:], r, c); fewer != nil && refusal == nil {
			t.Errorf("%s is allowed with one more policy, and refused without: %+v", policies, fewer)
		} else if fewer != nil && !fewer.ChangesOnly && refusal.ChangesOnly {
			t.Errorf("%s is refused for changes only with one more policy, and for all without: %+v", policies, fewer)
		}
	})
}

// TestRolloutDemand: a rollout is demanded with the time at which a person has resumed it. A policy whose
// stages cannot be evaluated makes the policies unavailable.
func TestRolloutDemand(t *testing.T) {
	t.Parallel()
	object := &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "fleet"}}
	object.Spec.Rollout = &v1alpha1.Rollout{MaxConcurrent: 3, Order: []metav1.LabelSelector{{}}}
	for value, want := range map[string]time.Time{
		"": {}, "now": {}, "2026-11-29T12:00:00Z": time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		"2026-11-29T13:00:00.9+01:00": time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
	} {
		object.Annotations = map[string]string{v1alpha1.AnnotationResumeRollout: value}
		d := Select([]Policy{Of(object)}, web(), time.Time{})
		if len(d.Rollouts) != 1 || d.Rollouts[0].Policy != "ReleasePolicy/fleet" || d.Rollouts[0].Namespace != "apps" || !d.Rollouts[0].Resumed.Equal(want) || !d.MayHold() {
			t.Errorf("%q: %+v", value, d)
		}
		if held := d.OnRollback(); len(held.Rollouts) > 0 || held.MayHold() {
			t.Errorf("a rollback on request waits: %+v", held)
		}
	}
	object.Spec.Rollout.Order = append(object.Spec.Rollout.Order, *invalidSelector())
	if d := Select([]Policy{Of(object)}, web(), time.Time{}); !strings.Contains(d.Unavailable, "ReleasePolicy/fleet: spec.rollout.order[1] is invalid") || len(d.Rollouts) > 0 {
		t.Errorf("%+v", d)
	}
	cluster := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: "fleet", Annotations: map[string]string{v1alpha1.AnnotationResumeRollout: "2026-11-29T12:00:00Z"}}}
	if OfCluster(cluster).Resumed.IsZero() {
		t.Error("a ClusterReleasePolicy is resumed, too")
	}
}
