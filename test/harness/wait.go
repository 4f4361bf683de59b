// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// pollEvery is short, because it limits the precision of measured times.
	pollEvery = 50 * time.Millisecond
	// shownLogLines is the number of lines of the controller's log in an error.
	shownLogLines = 25
)

// Until calls look repeatedly until it returns done. seen describes the last state for the error.
// Until fails when the context or the controller ends.
func (e *Environment) Until(ctx context.Context, what string, look func() (seen string, done bool)) error {
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last string
	for {
		seen, done := look()
		if done {
			return nil
		}
		// A call that the context interrupted has no valid result.
		if ctx.Err() == nil {
			last = seen
		}
		if e.Controller != nil && e.Controller.Ended() != nil {
			return e.unmet(e.Controller.Ended(), began, what, last)
		}
		select {
		case <-ctx.Done():
			return e.unmet(ctx.Err(), began, what, last)
		case <-tick.C:
		}
	}
}

func (e *Environment) unmet(cause error, began time.Time, what, seen string) error {
	err := fmt.Errorf("waited %s for %s: %w\nlast seen: %s", time.Since(began).Round(100*time.Millisecond), what, cause, seen)
	if e.Controller == nil {
		return err
	}
	return fmt.Errorf("%w\nthe controller's log ends:\n%s", err, e.Controller.LogTail(shownLogLines))
}

// WaitRelease waits until a HelmRelease satisfies a condition, and returns it.
func (e *Environment) WaitRelease(ctx context.Context, key types.NamespacedName, what string, wanted func(*helmv2.HelmRelease) bool) (*helmv2.HelmRelease, error) {
	var hr *helmv2.HelmRelease
	err := e.Until(ctx, fmt.Sprintf("HelmRelease %s %s", key, what), func() (string, bool) {
		hr = &helmv2.HelmRelease{}
		if err := e.Client.Get(ctx, key, hr); err != nil {
			return err.Error(), false
		}
		return Summary(hr), wanted(hr)
	})
	return hr, err
}

// WaitReady waits until the current generation of a HelmRelease is ready.
func (e *Environment) WaitReady(ctx context.Context, key types.NamespacedName) (*helmv2.HelmRelease, error) {
	return e.WaitRelease(ctx, key, "to be ready", Ready)
}

// Ready reports whether the current generation is reconciled and ready.
func Ready(hr *helmv2.HelmRelease) bool {
	conditions := hr.Status.Conditions
	return hr.Status.ObservedGeneration == hr.Generation &&
		apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionReady) &&
		apimeta.FindStatusCondition(conditions, helmv2.ConditionReconciling) == nil &&
		apimeta.FindStatusCondition(conditions, helmv2.ConditionStalled) == nil
}

// ReadyCondition returns the condition Ready, or an empty one.
func ReadyCondition(conditions []metav1.Condition) metav1.Condition {
	if c := apimeta.FindStatusCondition(conditions, helmv2.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Type: helmv2.ConditionReady, Status: metav1.ConditionUnknown}
}

// Summary describes the state of a HelmRelease in a few lines.
func Summary(hr *helmv2.HelmRelease) string {
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d, observed %d", hr.Generation, hr.Status.ObservedGeneration)
	if hr.DeletionTimestamp != nil {
		fmt.Fprintf(&b, ", being deleted, finalizers %v", hr.Finalizers)
	}
	for _, c := range hr.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s (generation %d): %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	for _, s := range hr.Status.History {
		fmt.Fprintf(&b, "\n  revision %d %s: %s %s", s.Version, s.Status, s.ChartName, s.ChartVersion)
	}
	return b.String()
}
