// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNames: a name may have the kind before it. A name that does not exist is answered with similar
// ones.
func TestNames(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.golden("names", "get hr/web HelmRelease.helm.toolkit.fluxcd.io/cart -n apps", "get helmcharts.source.toolkit.fluxcd.io/shop -n apps", "get svc/web", "why hr/", "tree shop/web",
		"get helmchart/cart -n apps", "history hc/cart -n apps", "get hc/web", "why hc/refused", "tree helmcharts.helm.cattle.io/theirs", "suspend hc/new", "why helmchart/nothing",
		"why webb", "why helmrelease/wbe", "get web cat", "reconcile web -n finance", "why web -n nowhere", "plan billing", "plan billing -n finance", "get webb -A", "run xyz hook")
	w.forbidden["PartialObjectMetadata"] = true
	w.golden("names-forbidden", "why webb")
	w.forbidden["HelmChart"] = true
	w.golden("names-forbidden-helmchart", "why hc/refused")
}

// TestComplete: names, revisions and hooks complete arguments.
func TestComplete(t *testing.T) {
	w := historyWorld(t)
	for _, name := range []string{"exact", "verified"} {
		w.objects = append(w.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, tc := range []struct{ args, want string }{
		{"why|", "cart shop web :4"},
		{"why|hr/w", "hr/cart hr/shop hr/web :4"},
		{"why|web|", ":4"},
		{"plans|", ":4"},
		{"rollback|web|", "5,deployed 4,failed 3,superseded 2,superseded :36"},
		{"rollback|web|4|", ":4"},
		{"rollback|missing|", ":4"},
		{"diff|web|--revision|", "5,deployed 4,failed 3,superseded 2,superseded :36"},
		{"history|web|--diff|", "5,deployed 4,failed 3,superseded 2,superseded :36"},
		{"history|web|--diff|4|", "5,deployed 4,failed 3,superseded 2,superseded :36"},
		{"history|web|", ":4"},
		{"run|web|", "web-migrate,Job,_pre-upgrade pre-install,all_hooks_of_this_event"},
		{"create|release|", ":4"},
		{"create|release|web|--version|", ":4"},
		{"create|release|web|--values|", ":0"},
		{"create|release|web|--target-namespace|", "exact verified :4"},
		{"run|shop|", "pre-install,all_hooks_of_this_event"},
	} {
		w.run(append([]string{"__complete", "-n", "apps"}, strings.Split(tc.args, "|")...)...)
		got := strings.NewReplacer(" ", "_", "\t", ",", "\n", " ").Replace(strings.TrimSpace(w.out.String()))
		if !strings.HasPrefix(got, tc.want) || tc.args[:3] != "run" && got != tc.want {
			t.Errorf("%s: %s", tc.args, got)
		}
	}
}
