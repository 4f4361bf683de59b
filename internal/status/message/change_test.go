// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/status/message"
)

// conditionsOf reads conditions such as "Ready=False/InstallFailed:it broke", separated by "|".
func conditionsOf(text string) []metav1.Condition {
	var all []metav1.Condition
	for part := range strings.SplitSeq(text, "|") {
		kind, rest, _ := strings.Cut(part, "=")
		is, rest, _ := strings.Cut(rest, "/")
		reason, text, _ := strings.Cut(rest, ":")
		all = append(all, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(is), Reason: reason, Message: text})
	}
	return all
}

// TestChange: a failure, an obstacle and a stall are problems once, and a regular wait is none.
func TestChange(t *testing.T) {
	const (
		sound    = "Ready=True/InstallSucceeded:done|Released=True/InstallSucceeded:done"
		failed   = "Ready=False/UpgradeFailed:no. Wait.|Released=False/UpgradeFailed:no"
		retrying = "Ready=Unknown/Progressing:Running|Released=False/UpgradeFailed:no|Reconciling=True/Progressing:Running"
		blocked  = "Ready=False/ValuesError:no key|Reconciling=True/ProgressingWithRetry:no key"
		rolled   = "Ready=False/RollbackSucceeded:no; back|Released=False/UpgradeFailed:no|Remediated=True/RollbackSucceeded:back"
		busy     = "Blocked=True/ReleaseBusy:busy"
		missing  = "Blocked=True/MissingDependencies:no Secret"
	)
	for name, tc := range map[string]struct {
		about         message.Object
		before, after string
		want          string
	}{
		"Failure":         {message.HelmRelease, sound, failed, "problem UpgradeFailed no"},
		"SameFailure":     {message.HelmRelease, failed, failed, ""},
		"OtherFailure":    {message.HelmRelease, failed, strings.ReplaceAll(failed, ":no", ":never"), "problem UpgradeFailed never"},
		"Retry":           {message.HelmRelease, failed, retrying, ""},
		"RetryFails":      {message.HelmRelease, retrying, failed, ""},
		"RetrySucceeds":   {message.HelmRelease, retrying, sound, "recovered InstallSucceeded done"},
		"RolledBack":      {message.HelmRelease, failed, rolled, ""},
		"RollbackFails":   {message.HelmRelease, failed, failed + "|Remediated=False/RollbackFailed:stuck", "problem RollbackFailed stuck"},
		"TestsFail":       {message.HelmRelease, sound, sound + "|TestSuccess=False/TestFailed:red", "problem TestFailed red"},
		"Stall":           {message.HelmRelease, failed, failed + "|Stalled=True/RetriesExceeded:1 attempt", "stalled RetriesExceeded 1 attempt"},
		"StallsAtOnce":    {message.HelmRelease, sound, failed + "|Stalled=True/RetriesExceeded:1 attempt", "stalled UpgradeFailed no"},
		"StallOfReady":    {message.HelmRelease, sound, "Ready=False/Contested:owned|Stalled=True/Contested:owned", "stalled Contested owned"},
		"SameStall":       {message.HelmRelease, failed + "|Stalled=True/RetriesExceeded:x", failed + "|Stalled=True/RetriesExceeded:x", ""},
		"Obstacle":        {message.HelmRelease, sound, blocked, "problem ValuesError no key"},
		"SameObstacle":    {message.HelmRelease, blocked, blocked, ""},
		"OtherObstacle":   {message.HelmRelease, blocked, strings.ReplaceAll(blocked, "key", "Secret"), "problem ValuesError no Secret"},
		"Recovered":       {message.HelmRelease, blocked, sound, "recovered InstallSucceeded done"},
		"NotYetRecovered": {message.HelmRelease, blocked, "Ready=Unknown/Progressing:Running", ""},
		"Sound":           {message.HelmRelease, sound, sound, ""},
		"Dependency":      {message.HelmRelease, sound, "Ready=False/DependencyNotReady:wait", ""},
		"Source":          {message.HelmRelease, sound, "Ready=False/SourceNotReady:wait", ""},
		"Frozen":          {message.HelmRelease, sound, "Ready=Unknown/Frozen:wait", ""},
		"Window":          {message.HelmRelease, sound, "Ready=Unknown/AwaitingWindow:wait", ""},
		"NoPolicies":      {message.HelmRelease, sound, "Ready=Unknown/PolicyUnavailable:forbidden", "problem PolicyUnavailable forbidden"},
		"AwaitsTests":     {message.HelmRelease, sound, "Ready=Unknown/AwaitingTests:wait", ""},
		"DriftUnknown":    {message.HelmRelease, sound, sound + "|Drifted=Unknown/StateError:forbidden", "problem StateError forbidden"},
		"DriftKnown":      {message.HelmRelease, sound, sound + "|Drifted=True/DriftDetected:drift", ""},
		"Uninstalled":     {message.HelmRelease, sound, "Ready=False/UninstallSucceeded:gone|Released=False/UninstallSucceeded:gone", ""},
		"First":           {message.HelmRelease, "", failed, "problem UpgradeFailed no"},
		"OperationWaits":  {message.Operation, "", busy, ""},
		"OperationMisses": {message.Operation, "", missing, "problem MissingDependencies no Secret"},
		"OperationSame":   {message.Operation, missing, missing, ""},
		"OperationFails":  {message.Operation, busy, "Failed=True/HelmHookJobFailed:exit code 3", "problem HelmHookJobFailed exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			c := message.ChangeOf(tc.about, conditionsOf(tc.before), conditionsOf(tc.after))
			got := ""
			switch {
			case c.Problem && c.Stalled:
				got = "stalled " + c.Reason + " " + c.Message
			case c.Problem:
				got = "problem " + c.Reason + " " + c.Message
			case c.Recovered:
				got = "recovered " + c.Reason + " " + c.Message
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
