// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestAll: attacks have different names, which are names of objects and of releases. Each attack
// differs from a harmless release, and few are the worst ones.
func TestAll(t *testing.T) {
	t.Parallel()
	seen, groups := map[string]bool{}, map[string]bool{}
	for _, a := range All() {
		group, _, _ := strings.Cut(a.Name, "/")
		groups[group] = true
		// Rounds append a suffix.
		if id := a.ID(); seen[id] || len(validation.IsDNS1123Label(id)) > 0 || len(id) > 45 {
			t.Errorf("the name %s is used twice, or invalid", a.Name)
		}
		seen[a.ID()] = true
		if a.Archive == nil && a.Edit == nil && a.Setting == nil && a.Page == nil {
			t.Errorf("%s does nothing", a.Name)
		}
		outcomes := []Outcome{a.Outcome}
		for _, step := range a.Later {
			outcomes = append(outcomes, step.Outcome)
		}
		for _, o := range outcomes {
			if o.Reason != "" && len(o.Says)+len(o.Limits) == 0 {
				t.Errorf("%s may have any message for %s", a.Name, o)
			}
		}
	}
	if len(seen) < 100 || len(groups) < 12 {
		t.Errorf("%d attacks of %d groups", len(seen), len(groups))
	}
	if n := len(Worst()); n < 12 || n > 20 {
		t.Errorf("%d of the attacks are the worst ones", n)
	}
	if found, ok := Named("values/tpl"); !ok || found.Name != "values/tpl" {
		t.Errorf("%s is found", found.Name)
	}
	if _, ok := Named("none"); ok {
		t.Error("there is an attack without a name")
	}
}

// TestSample: a seed chooses the same attacks, and another one others.
func TestSample(t *testing.T) {
	t.Parallel()
	names := func(n int, seed uint64) (all []string) {
		for _, a := range Sample(All(), n, seed) {
			all = append(all, a.Name)
		}
		return all
	}
	one := names(10, 1)
	if len(one) != 10 || !slices.Equal(one, names(10, 1)) || slices.Equal(one, names(10, 2)) {
		t.Errorf("the seeds choose %v", one)
	}
	few := Sample(All()[:2], 5, 1)
	if len(few) != 5 || few[0].Name == few[1].Name || few[4].Name != few[0].Name {
		t.Errorf("%d attacks are chosen of two", len(few))
	}
}

// TestOutcome: a condition must have the reason, all parts, and one of the limits.
func TestOutcome(t *testing.T) {
	t.Parallel()
	ready := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: message}
	}
	const failure, message = helmv2.ReasonInstallFailed, "rendering chart evil 1.0.0+abc took more than 256 MiB of memory, and was ended"
	for name, tc := range map[string]struct {
		reason  string
		outcome Outcome
		ready   metav1.Condition
		want    bool
	}{
		"Harmless":    {"a release within all limits is ready", harmless(), ready(metav1.ConditionTrue, "x", ""), true},
		"NotHarmless": {"and does not fail", harmless(), ready(metav1.ConditionFalse, failure, message), false},
		"Died":        {"one of the limits is named", died(stack, memory), ready(metav1.ConditionFalse, failure, message), true},
		"Slow":        {"a slow machine reaches the limit of time first", died(memory), ready(metav1.ConditionFalse, failure, "rendering chart evil 1.0.0+abc has not ended in time, which is 5s"), true},
		"SlowStack":   {"but not instead of the stack", died(stack), ready(metav1.ConditionFalse, failure, "rendering chart evil 1.0.0+abc has not ended in time, which is 5s"), false},
		"OtherLimit":  {"another limit is wrong", died(stack), ready(metav1.ConditionFalse, failure, message), false},
		"NoChart":     {"the chart is named", died(memory), ready(metav1.ConditionFalse, failure, "256 MiB of memory"), false},
		"Reason":      {"the reason is exact", rejected(helmv2.ReasonValuesError, "evil"), ready(metav1.ConditionFalse, failure, message), false},
		"Unknown":     {"the status is False", died(memory), ready(metav1.ConditionUnknown, failure, message), false},
		"Parts":       {"all parts are there", failed("chart", "256"), ready(metav1.ConditionFalse, failure, message), true},
		"Waits":       {"another status is expected", Outcome{Type: helmv2.ConditionRolledBack, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonFrozen}, ready(metav1.ConditionUnknown, helmv2.ReasonFrozen, ""), true},
		"OtherStatus": {"the status is exact", Outcome{Status: metav1.ConditionUnknown, Reason: helmv2.ReasonFrozen}, ready(metav1.ConditionTrue, helmv2.ReasonFrozen, ""), false},
		"MissingPart": {"all parts are there", failed("chart", "257"), ready(metav1.ConditionFalse, failure, message), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.outcome.Met(tc.ready); got != tc.want {
				t.Errorf("%s: %t for %s", tc.reason, got, tc.outcome)
			}
		})
	}
}

// TestPack: archives have their entries, and a chart file unless they have one of their own.
func TestPack(t *testing.T) {
	t.Parallel()
	raw := pack(entry{name: "evil/zero", zeros: 3 << 20}, entry{name: "evil/link", kind: tar.TypeSymlink, link: "x"})
	unzipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes[header.Name] = header.Size
	}
	if len(sizes) != 3 || sizes["evil/zero"] != 3<<20 || sizes["evil/Chart.yaml"] != int64(len(chartFile)) {
		t.Errorf("the archive has %v", sizes)
	}
}
