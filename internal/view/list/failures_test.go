// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/list"
)

// failing fails with a cause since some time. Without a cause, another controller has recorded the
// failure.
func failing(code, message string, age time.Duration) edit {
	return func(hr *helmv2.HelmRelease) {
		notReady(helmv2.ReasonUpgradeFailed, "Upgrade failed: "+message+"\ndetails")(hr)
		if code != "" {
			condition(helmv2.ConditionFailing, metav1.ConditionTrue, code, message)(hr)
		}
		for i := range hr.Status.Conditions {
			hr.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now.Add(-age))
		}
	}
}

// failures returns the failures of the overview of a query, one a line, each with its releases below.
func failures(o *list.Overview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", o.Wrong)
	for _, c := range o.Causes {
		fmt.Fprintf(&b, " %s %d", c.Name, c.N)
	}
	for _, p := range o.Failures.Entries {
		fmt.Fprintf(&b, "\n%s %s %d since %s, earlier %d, in", p.State, p.Cause, p.Releases.Len(), p.Since.Ago, p.Earlier)
		for _, n := range p.Namespaces.Entries {
			fmt.Fprintf(&b, " %s %d", n.Namespace, n.N)
		}
		fmt.Fprintf(&b, " and %d more, %s", p.Namespaces.More, link(p.Query))
		for _, r := range p.Releases.Entries {
			fmt.Fprintf(&b, "\n  %s/%s %s %s: %s", r.Namespace, r.Name, r.State, r.Since.Ago, r.Line)
		}
	}
	return b.String()
}

// TestFailures: releases are grouped by cause, and the newest failures come first.
func TestFailures(t *testing.T) {
	all := []helmv2.HelmRelease{
		ready("apps/web"), ready("apps/new", notReady(helmv2.ReasonDependencyNotReady, "m")),
		ready("data/db", failing("CrashLoop", "container db exited with code 3", time.Minute)),
		ready("apps/old", failing("", "timeout", 72*time.Hour)),
	}
	for i := range 10 {
		all = append(all, ready(fmt.Sprintf("team-%d/app-%02d", i%8, i), failing("ImageNotFound", fmt.Sprintf("image %d does not exist", i), time.Duration(10+i)*time.Minute)))
	}
	all = append(all, ready("team-0/before", stalled("m"), failing("ImageNotFound", "image x does not exist", 50*time.Hour)))
	for text, want := range map[string]string{
		"": `13: ImageNotFound 11 CrashLoop 1 UpgradeFailed 1
Failing CrashLoop 1 since 60s, earlier 0, in data 1 and 0 more, /?cause=CrashLoop
  data/db Failing 60s: container db exited with code 3
Stalled ImageNotFound 11 since 19m, earlier 1, in team-0 3 team-1 2 team-2 1 team-3 1 team-4 1 team-5 1 and 2 more, /?cause=ImageNotFound
  team-0/app-00 Failing 10m: image 0 does not exist
  team-1/app-01 Failing 11m: image 1 does not exist
  team-2/app-02 Failing 12m: image 2 does not exist
Failing UpgradeFailed 1 since 3d, earlier 0, in apps 1 and 0 more, /?cause=UpgradeFailed
  apps/old Failing 3d: Upgrade failed: timeout`,
		"namespace=team-1": `2: ImageNotFound 2
Failing ImageNotFound 2 since 19m, earlier 0, in team-1 2 and 0 more, /?cause=ImageNotFound&namespace=team-1
  team-1/app-01 Failing 11m: image 1 does not exist
  team-1/app-09 Failing 19m: image 9 does not exist`,
		"cause=CrashLoop": "0:",
	} {
		if got := failures(list.OverviewOf(all, query(t, text), now)); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
	if o := list.OverviewOf(all, query(t, "cause=ImageNotFound&state=Stalled"), now); o.Matching != 1 || o.Counts[0].N != 11 {
		t.Errorf("of a cause: %d rows of %d", o.Matching, o.Counts[0].N)
	}
}
