// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestTimeline: events and revisions are in one order, and those without a time come last.
func TestTimeline(t *testing.T) {
	at := func(minutes int) *time.Time { t := now.Add(time.Duration(minutes) * time.Minute); return &t }
	moments := Timeline(
		[]Event{{Last: *at(-1), Reason: "b"}, {Last: *at(-5), Reason: "d"}, {Last: *at(-9), Reason: "e"}},
		[]Revision{{Revision: 4, Deployed: at(-3)}, {Revision: 3}, {Revision: 2, Deployed: at(-9)}, {Revision: 1}},
	)
	var all []string
	for _, m := range moments {
		if m.Event != nil {
			all = append(all, m.Event.Reason)
		} else {
			all = append(all, fmt.Sprint(m.Revision.Revision))
		}
	}
	if got := strings.Join(all, " "); got != "b 4 d 2 e 3 1" {
		t.Errorf("the order is %s", got)
	}
}

// TestDuration: the duration of a revision is the duration of its action, also if a later action has
// written the record.
func TestDuration(t *testing.T) {
	start := now.Add(-time.Hour).Add(300 * time.Millisecond)
	tested := map[string]release.TestRun{"ping": {Started: now}}
	for name, tc := range map[string]struct {
		revision release.Revision
		want     string
	}{
		"ended":           {release.Revision{Status: helmv2.StatusDeployed, Ended: start.Add(42 * time.Second), Modified: start.Add(42 * time.Second)}, "42s"},
		"tested later":    {release.Revision{Status: helmv2.StatusDeployed, Ended: start.Truncate(time.Second), Modified: start.Add(30 * time.Second), Tests: tested}, "0s"},
		"superseded":      {release.Revision{Status: helmv2.StatusSuperseded, Ended: start.Add(5 * time.Second), Modified: now}, "5s"},
		"runs":            {release.Revision{Status: helmv2.StatusPendingUpgrade, Modified: now}, ""},
		"no end":          {release.Revision{Status: helmv2.StatusFailed, Modified: start.Add(7 * time.Second)}, "7s"},
		"no end, tested":  {release.Revision{Status: helmv2.StatusDeployed, Modified: start.Add(30 * time.Second), Tests: tested}, ""},
		"no end, later":   {release.Revision{Status: helmv2.StatusSuperseded, Modified: now}, ""},
		"end of an older": {release.Revision{Status: helmv2.StatusDeployed, Ended: start.Add(-time.Hour)}, ""},
	} {
		tc.revision.LastDeployed = start
		if got := History(&helmv2.HelmRelease{}, []Record{{Revision: tc.revision}})[0].Duration; got != tc.want {
			t.Errorf("%s: %q, not %q", name, got, tc.want)
		}
	}
}

// TestBy: what made a revision is known from its record, also after the status has forgotten it.
func TestBy(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
	for want, r := range map[string]release.Revision{
		"install":                  {Version: 4, Owner: "uid", FirstDeployed: now, LastDeployed: now},
		"upgrade":                  {Version: 4, Owner: "uid", FirstDeployed: now.Add(-time.Hour), LastDeployed: now},
		"rollback after a failure": {Version: 4, Owner: "uid", Rollback: true},
		"rollback to 2 on request": {Version: 4, Owner: "uid", Rollback: true, RolledBackTo: 2},
		"another HelmRelease":      {Version: 4, Owner: "other"},
		"another client":           {Version: 4},
	} {
		for _, r.Status = range []helmv2.ReleaseStatus{helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded} {
			if got := History(hr, []Record{{Revision: r}})[0].By; got != want {
				t.Errorf("%s, not %s, if %s", got, want, r.Status)
			}
		}
	}
}

// TestStatusHistory: the revisions in the status have what the status says about them.
func TestStatusHistory(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{UID: "uid"}, Status: helmv2.HelmReleaseStatus{History: helmv2.Snapshots{
		{Version: 1, Status: helmv2.StatusSuperseded, ChartName: "web", ChartVersion: "1.0.0", LastDeployed: metav1.NewTime(now.Add(-time.Hour))},
		{Version: 2, Status: helmv2.StatusDeployed, Action: helmv2.ActionRollback, ChartName: "web", ChartVersion: "1.1.0", AppVersion: "9", LastDeployed: metav1.NewTime(now)},
	}}}
	var all []string
	for _, r := range StatusHistory(hr) {
		all = append(all, fmt.Sprintf("%d %s %s %s by %s at %s, took %q", r.Revision, r.Status, r.Chart, r.AppVersion, r.By, r.Deployed.Format(time.TimeOnly), r.Duration))
	}
	want := `2 deployed web@1.1.0 9 by rollback at 15:00:00, took ""` + "\n" + `1 superseded web@1.0.0  by install at 14:00:00, took ""`
	if got := strings.Join(all, "\n"); got != want {
		t.Errorf("the revisions are\n%s", got)
	}
}
