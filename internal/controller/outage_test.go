// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

var errUnavailable = apierrors.NewServiceUnavailable("try again later")

// TestObstacle: which errors count as an outage, and when an outage ends.
func TestObstacle(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	upstream := release.BlockedBy("X", errUnavailable, "the artifact server")
	upstream.Upstream = true
	terminal := release.BlockedBy("X", errUnavailable, "the API server")
	terminal.Terminal, terminal.Retry = true, release.Never()
	for name, tc := range map[string]struct {
		err    error
		outage bool
	}{
		"Bare":            {err: errUnavailable, outage: true},
		"Blocked":         {err: release.BlockedBy("X", errUnavailable, "x"), outage: true},
		"Terminal":        {err: terminal, outage: true},
		"ArtifactServer":  {err: upstream},
		"Other":           {err: errors.New("forbidden")},
		"ClusterIsBroken": {err: fmt.Errorf("%w: %w", &cluster.Unreachable{}, errUnavailable)},
	} {
		var o Outage
		got := o.Obstacle(tc.err, now)
		if got.Brief != tc.outage || got.Transient != tc.outage || o.Active() != tc.outage {
			t.Errorf("%s: %+v, outage %t", name, got, o.Active())
		}
		if tc.outage && (got.Terminal || got.Retry != release.BackoffUpTo(MaxOutageRetry)) {
			t.Errorf("%s: not tried again: %+v", name, got)
		}
		if again := o.Obstacle(tc.err, now.Add(outageGrace)); again.Brief {
			t.Errorf("%s: never said: %+v", name, again)
		}
		if _ = o.Obstacle(errors.New("forbidden"), now); o.Active() {
			t.Errorf("%s: an answer does not end the outage", name)
		}
	}
}

// TestFilter: errors of an API server are kept out of a comparison until they last. Errors
// about objects are not.
func TestFilter(t *testing.T) {
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	denied := release.ObjectError{Object: release.Object{Name: "denied"}, Err: "forbidden"}
	unread := release.ObjectError{Object: release.Object{Name: "unread"}, Err: "busy", Transient: true}
	var o Outage
	for _, step := range []struct {
		name   string
		errs   []release.ObjectError
		after  time.Duration
		told   int
		repeat bool
	}{
		{name: "Complete"},
		{name: "Denied", errs: []release.ObjectError{denied}, told: 1},
		{name: "Unread", errs: []release.ObjectError{unread}, repeat: true},
		{name: "StillUnread", errs: []release.ObjectError{unread}, after: outageGrace - time.Second, repeat: true},
		{name: "Mixed", errs: []release.ObjectError{unread, denied}, told: 1, repeat: true},
		{name: "Lasting", errs: []release.ObjectError{unread, denied}, after: time.Second, told: 2, repeat: true},
		{name: "Over", errs: []release.ObjectError{denied}, told: 1},
		{name: "Anew", errs: []release.ObjectError{unread}, repeat: true},
	} {
		now = now.Add(step.after)
		found := o.Filter(release.Drift{Errors: step.errs}, now)
		if len(found.Errors) != step.told || found.Repeat != step.repeat {
			t.Errorf("%s: %+v", step.name, found)
		}
	}
}
