// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func source(kind, name, ready string, edit ...func(*Source)) Source {
	s := Source{Ref: Ref{Kind: kind, Namespace: "a", Name: name}, Generation: 1, Observed: 1, Revision: "1.0"}
	if ready != "" {
		s.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionStatus(ready), Message: "message of " + name}}
	}
	for _, e := range edit {
		e(&s)
	}
	return s
}

func ofChart(name, repository string) helmv2.HelmRelease {
	hr := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{}
	hr.Spec.Chart.Spec.SourceRef = helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: repository}
	hr.Status.HelmChart = "a/a-" + name
	return hr
}

// TestStates: the state follows from the spec and the conditions.
func TestStates(t *testing.T) {
	stalled := func(s *Source) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue})
	}
	for want, s := range map[State]Source{
		Ready: source("Bucket", "x", "True"), Failing: source("Bucket", "x", "False"), Stalled: source("Bucket", "x", "False", stalled),
		Suspended:   source("Bucket", "x", "False", func(s *Source) { s.Suspended = true }),
		Static:      source("HelmRepository", "x", "", func(s *Source) { s.Static = true }),
		Progressing: source("Bucket", "x", "True", func(s *Source) { s.Generation = 2 }),
	} {
		if got := stateOf(&s); got != want {
			t.Errorf("the state is %s, not %s", got, want)
		}
	}
	if got := source("Bucket", "x", ""); stateOf(&got) != Progressing {
		t.Error("a source without conditions is not progressing")
	}
}

// TestOf: failing sources are first, and each has the releases that use it, directly and by a HelmChart.
func TestOf(t *testing.T) {
	all := []Source{
		source("OCIRepository", "oci", "True"), source("HelmRepository", "repo", "False"),
		source("HelmChart", "a-web", "True", func(s *Source) { s.Of = Ref{"HelmRepository", "a", "repo"} }),
		source("HelmChart", "shared", "True", func(s *Source) { s.Of = Ref{"HelmRepository", "a", "repo"} }),
	}
	direct := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "direct"}}
	direct.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Namespace: "a", Name: "oci"}
	byChart := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "chart"}}
	byChart.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: "HelmChart", Namespace: "a", Name: "shared"}
	releases := []helmv2.HelmRelease{ofChart("web", "repo"), direct, byChart}
	q, wrong := Parse(nil)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	uses := map[string]string{}
	var order []string
	for _, r := range Of(all, releases, q).Rows {
		var names []string
		for _, u := range r.Releases.Entries {
			names = append(names, u.Name)
		}
		uses[r.Name] = strings.Join(names, " ")
		order = append(order, r.Name)
	}
	if want := []string{"repo", "a-web", "oci", "shared"}; !reflect.DeepEqual(order, want) {
		t.Errorf("the order is %v, not %v", order, want)
	}
	if want := map[string]string{"repo": "web chart", "a-web": "web", "oci": "direct", "shared": "chart"}; !reflect.DeepEqual(uses, want) {
		t.Errorf("the uses are %v, not %v", uses, want)
	}
	for parameters, want := range map[string]int{"kind=HelmChart": 2, "state=Failing": 1, "q=direct": 1, "namespace=b": 0} {
		key, value, _ := strings.Cut(parameters, "=")
		q, wrong := Parse(map[string][]string{key: {value}})
		if got := Of(all, releases, q); len(wrong) > 0 || got.Matching != want {
			t.Errorf("%s selects %d sources, not %d %v", parameters, got.Matching, want, wrong)
		}
	}
	if _, wrong := Parse(map[string][]string{"kind": {"Secret"}}); len(wrong) != 1 {
		t.Errorf("an unknown kind is accepted: %v", wrong)
	}
}
