// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

const skippedHook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}"

// TestSkippedHook: an upgrade leaves out its first hook if an Operation has run the same text. Its record
// says so, and has the hook with its event. A hook that others precede runs as usual.
func TestSkippedHook(t *testing.T) {
	t.Parallel()
	const (
		other  = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: backup, annotations: {helm.sh/hook: %s, helm.sh/hook-weight: '%d'}}\n"
		secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}\n"
	)
	digest := hookjob.Digest(hookjob.Hook{Manifest: skippedHook})
	skip := release.Skip{Digest: digest, Operation: "migrate-1", ApprovedBy: "alice"}
	for name, c := range map[string]struct {
		also    string
		skip    release.Skip
		skipped bool
		created map[string]int
	}{
		"Only hook":           {skip: skip, skipped: true, created: map[string]int{}},
		"Before others":       {also: fmt.Sprintf(other, "pre-upgrade", 1), skip: skip, skipped: true, created: map[string]int{"backup": 1}},
		"Before other events": {also: fmt.Sprintf(other, "post-upgrade", -1), skip: skip, skipped: true, created: map[string]int{"backup": 1}},
		"After others":        {also: fmt.Sprintf(other, "pre-upgrade", -1), skip: skip, created: map[string]int{"backup": 1, "migrate": 1}},
		"After others' names": {also: secret, skip: skip, created: map[string]int{"migrate": 1}},
		"Other text":          {skip: release.Skip{Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(nil))}, created: map[string]int{"migrate": 1}},
		"Not run":             {created: map[string]int{"migrate": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMortal(t)
			first := m.chart("1.0.0", map[string]string{"templates/one.yaml": oneYAML})
			if out := m.runner.Run(t.Context(), m.conn, job(release.Install{Timeout: time.Minute}, first, "1.0.0", nil)); out.Err != nil {
				t.Fatal(out.Err)
			}
			clear(m.created)
			templates := map[string]string{"templates/one.yaml": oneYAML, "templates/hook.yaml": skippedHook}
			if c.also != "" {
				templates["templates/also.yaml"] = c.also
			}
			j := job(release.Upgrade{Timeout: time.Minute}, m.chart("1.1.0", templates), "1.1.0", nil)
			if c.skip.Digest != "" {
				j.Skips = []release.Skip{{Digest: "sha256:another"}, c.skip}
			}
			out := m.runner.Run(t.Context(), m.conn, j)
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			delete(m.created, "one")
			if diff := cmp.Diff(c.created, m.created); diff != "" {
				t.Errorf("created (-want +got):\n%s", diff)
			}
			var want *release.Skip
			if c.skipped {
				s := skip
				s.Hook = "Job/migrate"
				want = &s
			}
			if diff := cmp.Diff(want, out.Revisions[0].Skipped); diff != "" {
				t.Errorf("the record has (-want +got):\n%s", diff)
			}
			for _, h := range m.stored()[0].Hooks {
				if h.Name == "migrate" && (len(h.Events) != 1 || h.LastRun.StartedAt.IsZero() != c.skipped) {
					t.Errorf("the stored hook has events %v, last run %+v", h.Events, h.LastRun)
				}
			}
		})
	}
}

// TestResumedSkip: an upgrade that is interrupted while its second hook runs leaves out the first one
// when it is resumed, whatever Operations exist by then.
func TestResumedSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		defer m.rest()
		first := m.chart("1.0.0", map[string]string{"templates/one.yaml": oneYAML})
		if out := m.runner.Run(t.Context(), m.conn, job(release.Install{Timeout: time.Minute}, first, "1.0.0", nil)); out.Err != nil {
			t.Fatal(out.Err)
		}
		clear(m.created)
		m.running()
		next := m.chart("1.1.0", map[string]string{
			"templates/one.yaml": oneYAML, "templates/hook.yaml": skippedHook,
			"templates/second.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: second, annotations: {helm.sh/hook: pre-upgrade}}\n",
		})
		j := job(release.Upgrade{Timeout: time.Hour}, next, "1.1.0", nil)
		j.Skips = []release.Skip{{Digest: hookjob.Digest(hookjob.Hook{Manifest: skippedHook}), Operation: "migrate-1"}}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := m.begin(ctx, j)
		time.Sleep(time.Minute)
		cancel(release.ErrShutdown)
		<-done
		done = m.begin(t.Context(), job(release.Upgrade{Timeout: time.Hour, Resume: 2}, next, "1.1.0", nil))
		time.Sleep(time.Minute)
		m.complete("/apis/batch/v1/namespaces/prod/jobs/second")
		if out := <-done; out.Err != nil {
			t.Error(out.Err)
		}
		if m.created["migrate"] != 0 || m.created["second"] != 1 || m.history()[0].Skipped == nil {
			t.Errorf("created %v; history %+v", m.created, m.history())
		}
	})
}
