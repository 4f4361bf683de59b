// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// load are the parameters of a session. Zero disables a parameter.
type load struct {
	Releases int `json:"releases"`
	// Concurrent is the controller's --concurrent.
	Concurrent int `json:"concurrent"`
	// Drift enables drift detection in all HelmReleases, and adds its phases.
	Drift bool `json:"driftDetection"`
	// Policy adds a policy that selects all HelmReleases and demands nothing.
	Policy bool `json:"policy,omitempty"`
	// CRDs is the number of definitions besides those that are needed.
	CRDs int `json:"extraCRDs,omitempty"`
	// Unready is how many percent of the releases never become ready.
	Unready int `json:"unreadyPercent,omitempty"`
	// UnreadyTimeout is how long Helm waits for those.
	UnreadyTimeout metav1.Duration `json:"unreadyTimeout,omitzero"`
	// Charts is the number of charts that the releases share, each of a source of
	// its own.
	Charts int `json:"charts"`
	// Padding is the size of additional text in a chart, in bytes.
	Padding int `json:"chartPaddingBytes,omitempty"`
	// Interval adds a phase in which releases are reconciled at this interval.
	Interval metav1.Duration `json:"interval,omitzero"`
	// Page measures the web page instead. Most releases are suspended.
	Page bool `json:"page,omitempty"`
}

func (l load) validate() error {
	var errs []error
	for _, check := range []struct {
		wrong bool
		what  string
	}{
		{l.Releases < 1, "-n: at least 1"},
		{l.CRDs < 0, "-crds: not less than 0"},
		{l.Unready < 0 || l.Unready > 99, "-unready: from 0 to 99 percent"},
		{l.Unready > 0 && l.UnreadyTimeout.Duration <= 0, "-unready-timeout: more than zero"},
		{l.Charts < 1 || l.Charts > l.Releases, "-charts: at least 1, at most one for each release"},
		{l.Padding < 0, "-chart-size: not less than 0"},
		{l.Interval.Duration < 0, "-interval: not less than zero"},
	} {
		if check.wrong {
			errs = append(errs, errors.New(check.what))
		}
	}
	return errors.Join(errs...)
}

// unready reports whether a release is one that never becomes ready. They are
// spread evenly, so that they are everywhere in the controller's queue.
func (l load) unready(i int) bool { return (i+1)*l.Unready/100 > i*l.Unready/100 }

// suspended reports whether a release is one that is only shown.
func (l load) suspended(i int) bool { return l.Page && i >= pageInstalled }

// healthy is the number of releases that become ready.
func (l load) healthy() int {
	if l.Page {
		return min(l.Releases, pageInstalled)
	}
	return l.Releases - l.Releases*l.Unready/100
}

// plain reports whether the load is one that the limits are for.
func (l load) plain() bool {
	return !l.Page && !l.Drift && !l.Policy && l.CRDs == 0 && l.Unready == 0 && l.Charts == 1 && l.Padding == 0
}

// drifting reports whether the load is plain except for drift detection.
func (l load) drifting() bool {
	is := l.Drift
	l.Drift = false
	return is && l.plain()
}

// text describes the parameters of the load.
func (l load) text() string {
	parts := []string{fmt.Sprintf("%d releases, --concurrent=%d", l.Releases, l.Concurrent)}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(l.Drift, "drift detection on")
	add(l.Policy, "a policy that demands nothing")
	add(l.CRDs > 0, "%d extra CRDs", l.CRDs)
	add(l.Unready > 0, "%d %% never ready (timeout %s)", l.Unready, l.UnreadyTimeout.Duration)
	add(l.Charts > 1, "%d charts", l.Charts)
	add(l.Padding > 0, "%d bytes of text in the chart", l.Padding)
	add(l.Interval.Duration > 0, "interval %s", l.Interval.Duration)
	add(l.Page, "web page, all but %d suspended", l.healthy())
	return strings.Join(parts, ", ")
}

// suite is a load and variants with one parameter changed. With ceilings it includes the one that
// patience returns.
func suite(base load, ceilings bool) []load {
	timeout := base.UnreadyTimeout
	if timeout.Duration <= 0 {
		timeout.Duration = 2 * time.Minute
	}
	with := func(change func(*load)) load {
		l := base
		change(&l)
		return l
	}
	all := []load{
		base,
		with(func(l *load) { l.CRDs = 500 }),
		with(func(l *load) { l.Unready, l.UnreadyTimeout = 10, timeout }),
		with(func(l *load) { l.Charts = min(20, l.Releases) }),
		with(func(l *load) { l.Padding = 2_000_000 }),
	}
	if ceilings {
		all = append(all, patience(base))
	}
	return all
}

// parseSize reads a number of bytes with a decimal or binary unit, its B or none:
// 2MB, 500kB, 1Mi.
func parseSize(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	quantity, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	return int(quantity.Value()), err
}
