// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestBoard(t *testing.T) {
	deployed := &helmv2.HelmRelease{}
	deployed.Generation = 1
	first, second, third := releaseName(0), releaseName(1), releaseName(2)
	b := newBoard([]string{first, second}, func(hr *helmv2.HelmRelease) bool { return hr != nil && hr.Generation == 1 })
	for i, step := range []struct {
		name    string
		hr      *helmv2.HelmRelease
		missing int
	}{
		{first, deployed, 1},
		{first, deployed, 1},
		{second, &helmv2.HelmRelease{}, 1},
		{third, deployed, 1},
		{second, deployed, 0},
		{first, nil, 1},
	} {
		b.set(step.name, step.hr)
		if b.missing != step.missing || b.over() != (step.missing == 0) {
			t.Errorf("step %d: %d are missing, want %d; over: %v", i, b.missing, step.missing, b.over())
		}
	}
	if want := "1 of 2 are not as wanted: bench-00000"; !strings.HasPrefix(b.text(), want) {
		t.Errorf("%q is not %q", b.text(), want)
	}
	gone := newBoard([]string{first}, func(hr *helmv2.HelmRelease) bool { return hr == nil })
	if gone.missing != 0 {
		t.Errorf("%d releases that do not exist have to go", gone.missing)
	}
}

func TestStalledReleasesAreNotAwaited(t *testing.T) {
	refused := func(generation, observed int64, status metav1.ConditionStatus) *helmv2.HelmRelease {
		hr := &helmv2.HelmRelease{}
		hr.Name, hr.Generation, hr.Status.ObservedGeneration = releaseName(0), generation, observed
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionStalled, Status: status, Reason: "Because", Message: "of this"}}
		return hr
	}
	for i, c := range []struct {
		name string
		hr   *helmv2.HelmRelease
		end  string
	}{
		{releaseName(0), refused(2, 2, metav1.ConditionTrue), "the controller has stalled HelmRelease bench-00000: Because: of this"},
		{releaseName(0), refused(2, 1, metav1.ConditionTrue), ""},
		{releaseName(0), refused(2, 2, metav1.ConditionFalse), ""},
		{releaseName(1), refused(2, 2, metav1.ConditionTrue), ""},
	} {
		b := newBoard([]string{releaseName(0)}, func(*helmv2.HelmRelease) bool { return false })
		if b.set(c.name, c.hr); b.end != c.end || b.over() != (c.end != "") {
			t.Errorf("case %d: %q, want %q; over: %v", i, b.end, c.end, b.over())
		}
	}
}
