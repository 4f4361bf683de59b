// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/rollout"
	"github.com/pintle-dev/pintle/internal/view"
)

// TestRollouts: each wave is shown with its numbers, and its releases with links. Releases that have the
// chart are left out, and so are many that wait.
func TestRollouts(t *testing.T) {
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(100_000, 0)
	show := func(waves []view.Rollout, unread ...string) string {
		s := &site{templates: parsed, Options: Options{Source: &access.Source{}}}
		w := httptest.NewRecorder()
		s.render(w, httptest.NewRequest(http.MethodGet, "/rollouts", nil), http.StatusOK, "rollouts",
			&layout{Title: "Rollouts", User: &authenticationv1.UserInfo{}, Content: rolloutsOf(waves, unread, now)})
		return w.Body.String()
	}
	if page := show(nil, "left out"); !strings.Contains(page, "There are no rollouts") || !strings.Contains(page, "left out") {
		t.Error(page)
	}
	wave := view.Rollout{
		Policy: "ClusterReleasePolicy/fleet", Chart: "web 2.0.0", Halted: true, MaxConcurrent: 10, MaxFailed: 1, InFlight: 1,
		Counts: map[rollout.State]int{rollout.Done: 1, rollout.Failed: 1, rollout.Bakes: 1, rollout.Waits: 150},
		Releases: []view.RolloutRelease{
			{Namespace: "apps", Name: "done", State: rollout.Done, Place: 1, Stage: 1},
			{Namespace: "apps", Name: "bakes", State: rollout.Bakes, Place: 2, Stage: 1, Until: new(now.Add(time.Minute))},
			{Namespace: "apps", Name: "bad", State: rollout.Failed, Place: 3, Stage: 1, FailedAt: new(now.Add(-time.Hour)), Cause: "it <crashes>"},
		},
	}
	for i := range 150 {
		wave.Releases = append(wave.Releases, view.RolloutRelease{Namespace: "apps", Name: "waits", State: rollout.Waits, Place: 4 + i, Stage: 1})
	}
	page := show([]view.Rollout{wave})
	for _, want := range []string{
		"web 2.0.0", "ClusterReleasePolicy/fleet", "1 of 153 have it, 1 of 10 in flight, 1 of 1 failed, 150 wait", "rollout resume",
		`<a href="/releases/apps/bad">`, "60m ago", "it &lt;crashes&gt;", "until <time", "and 52 more",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page[:min(len(page), 4000)])
		}
	}
	if strings.Contains(page, "/releases/apps/done") {
		t.Error("a release that has the chart is listed")
	}
}
