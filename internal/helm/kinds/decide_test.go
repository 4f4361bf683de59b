// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDecide: a kind is gone only if the discovery of all its groups is complete, and lists it in
// no version.
func TestDecide(t *testing.T) {
	t.Parallel()
	cronJob := kind("batch", "v1beta1", "CronJob")
	widget := kind("example.com", "v1", "Widget")
	ingress := kind("extensions", "v1beta1", "Ingress")
	networking := func(versions ...Version) Group { return Group{Preferred: "v1", Versions: versions} }
	for name, tc := range map[string]struct {
		gvk    schema.GroupVersionKind
		groups map[string]Group
		want   Decision
	}{
		"Served": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v1", Kinds: []string{"Gadget", "Widget"}}}}},
			Decision{State: Served, Kind: widget},
		},
		"ServedBesideFailure": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v2", Failure: "503"}, {Name: "v1", Kinds: []string{"Widget"}}}}},
			Decision{State: Served, Kind: widget},
		},
		"ServedBesidePreferred": {
			widget,
			map[string]Group{"example.com": {Preferred: "v2", Versions: []Version{{Name: "v2", Kinds: []string{"Widget"}}, {Name: "v1", Kinds: []string{"Widget"}}}}},
			Decision{State: Served, Kind: widget},
		},
		"OtherVersion": {
			cronJob,
			map[string]Group{"batch": {Versions: []Version{{Name: "v1", Kinds: []string{"CronJob", "Job"}}}}},
			Decision{State: Moved, Kind: kind("batch", "v1", "CronJob")},
		},
		"OlderVersion": {
			kind("batch", "v1", "CronJob"),
			map[string]Group{"batch": {Preferred: "v1", Versions: []Version{{Name: "v1", Kinds: []string{"Job"}}, {Name: "v1beta1", Kinds: []string{"CronJob"}}}}},
			Decision{State: Moved, Kind: cronJob},
		},
		"PreferredVersion": {
			widget,
			map[string]Group{"example.com": {Preferred: "v3", Versions: []Version{{Name: "v2", Kinds: []string{"Widget"}}, {Name: "v3", Kinds: []string{"Widget"}}}}},
			Decision{State: Moved, Kind: kind("example.com", "v3", "Widget")},
		},
		"ServersOrder": {
			widget,
			map[string]Group{"example.com": {Preferred: "v4", Versions: []Version{{Name: "v4"}, {Name: "v3", Kinds: []string{"Widget"}}, {Name: "v2", Kinds: []string{"Widget"}}}}},
			Decision{State: Moved, Kind: kind("example.com", "v3", "Widget")},
		},
		"OtherGroup": {
			ingress,
			map[string]Group{"extensions": {}, "networking.k8s.io": networking(Version{Name: "v1", Kinds: []string{"Ingress"}})},
			Decision{State: Moved, Kind: kind("networking.k8s.io", "v1", "Ingress")},
		},
		"OtherGroupSameVersion": {
			ingress,
			map[string]Group{"extensions": {}, "networking.k8s.io": networking(Version{Name: "v1beta1", Kinds: []string{"Ingress"}})},
			Decision{State: Moved, Kind: kind("networking.k8s.io", "v1beta1", "Ingress")},
		},
		"OwnGroupFirst": {
			ingress,
			map[string]Group{
				"extensions":        {Versions: []Version{{Name: "v1beta1", Kinds: []string{"Ingress"}}}},
				"networking.k8s.io": networking(Version{Name: "v1", Kinds: []string{"Ingress"}}),
			},
			Decision{State: Served, Kind: ingress},
		},
		"OtherGroupFails": {
			ingress,
			map[string]Group{"extensions": {}, "networking.k8s.io": {Failure: "503"}},
			Decision{Failure: "503"},
		},
		"OwnGroupFails": {
			ingress,
			map[string]Group{"extensions": {Failure: "503"}, "networking.k8s.io": networking(Version{Name: "v1", Kinds: []string{"Ingress"}})},
			Decision{Failure: "503"},
		},
		"OtherGroupUnread": {
			ingress,
			map[string]Group{"extensions": {}},
			Decision{Failure: "API group networking.k8s.io has not been discovered"},
		},
		"NoSuccessor": {
			kind("policy", "v1beta1", "PodSecurityPolicy"),
			map[string]Group{"policy": {Versions: []Version{{Name: "v1", Kinds: []string{"PodDisruptionBudget"}}}}},
			Decision{State: Gone},
		},
		"SuccessorIsGoneToo": {
			kind("extensions", "v1beta1", "PodSecurityPolicy"),
			map[string]Group{"extensions": {}, "policy": {Versions: []Version{{Name: "v1", Kinds: []string{"PodDisruptionBudget"}}}}},
			Decision{State: Gone},
		},
		"NoGroup":        {widget, map[string]Group{"example.com": {}}, Decision{State: Gone}},
		"OtherKindsOnly": {widget, map[string]Group{"example.com": {Versions: []Version{{Name: "v1", Kinds: []string{"Gadget"}}}}}, Decision{State: Gone}},
		"NothingRead":    {widget, nil, Decision{Failure: "API group example.com has not been discovered"}},
		"GroupFails":     {widget, map[string]Group{"example.com": {Failure: "403"}}, Decision{Failure: "403"}},
		"VersionFails": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v1", Failure: "503"}}}},
			Decision{Failure: "503"},
		},
		"VersionFailsWithSuccessor": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v2", Kinds: []string{"Widget"}}, {Name: "v1", Failure: "503"}}}},
			Decision{Failure: "503"},
		},
		"OtherVersionFails": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v1", Kinds: []string{"Gadget"}}, {Name: "v2", Failure: "503"}}}},
			Decision{Failure: "503"},
		},
		"MovedBesideFailure": {
			widget,
			map[string]Group{"example.com": {Versions: []Version{{Name: "v3", Failure: "503"}, {Name: "v2", Kinds: []string{"Widget"}}}}},
			Decision{State: Moved, Kind: kind("example.com", "v2", "Widget")},
		},
		"UnservedCRD": {
			widget,
			map[string]Group{"example.com": {CRDs: []CRD{{Name: "gadgets.example.com", Kind: "Gadget"}, {Name: "widgets.example.com", Kind: "Widget"}}}},
			Decision{Failure: "CustomResourceDefinition widgets.example.com exists, but is not served"},
		},
		"OtherUnservedCRD": {
			widget,
			map[string]Group{"example.com": {CRDs: []CRD{{Name: "gadgets.example.com", Kind: "Gadget"}}}},
			Decision{State: Gone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Decide(tc.gvk, tc.groups); got != tc.want {
				t.Errorf("%v\nis %+v\nnot %+v", tc.gvk, got, tc.want)
			}
		})
	}
}

// TestCanonical: kinds of Kubernetes that have moved are the same objects in both groups, and no
// others are.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for from, want := range map[schema.GroupKind]string{
		{Group: "extensions", Kind: "Ingress"}:           "networking.k8s.io",
		{Group: "extensions", Kind: "Deployment"}:        "apps",
		{Group: "extensions", Kind: "PodSecurityPolicy"}: "policy",
		{Group: "extensions", Kind: "Widget"}:            "extensions",
		{Group: "example.com", Kind: "Ingress"}:          "example.com",
		{Group: "networking.k8s.io", Kind: "Ingress"}:    "networking.k8s.io",
		{Kind: "Service"}:                                "",
	} {
		if got := Canonical(from); got.Group != want || got.Kind != from.Kind {
			t.Errorf("%v is %v", from, got)
		}
	}
}
