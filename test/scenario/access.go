// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// access is the access to the cluster of the release.
type access struct {
	// behind is true if the cache of Helm storage lacks the latest write.
	behind bool
	// missing is the error of reading an object that gives access; nil if it exists.
	missing error
	// ending is true if the namespace of the HelmRelease is being deleted.
	ending bool
}

// setAccess removes an object that gives access to the cluster, makes the cache of Helm storage
// stale, or restores both.
func (w script) setAccess(args arguments) {
	w.access = access{ending: args.has("ending"), behind: args.has("behind")}
	if why := args.at(0); why != "restored" && why != "behind" {
		w.access.missing = errors.New(why)
	}
}

// Connect returns an error or the reason if an object that gives access is missing. The access of a
// HelmRelease matters only to its deletion.
func (o observation) connect() (unreachable string, err error) {
	if o.access.missing == nil || !o.want.Deleted {
		return "", nil
	}
	why, blocked := release.DeletionWithout(o.access.missing, o.access.ending)
	if blocked != nil {
		return "", blocked
	}
	return why, nil
}

// revisions returns in with the revisions in storage, or none from a cache that is behind.
func (o observation) revisions(in release.Input, behind bool) release.Input {
	var stored []release.Revision
	if !behind {
		stored = read(in.Recorded.History, o.store(release.StoredTarget(in.Desired, in.Recorded)).observed())
	}
	in = in.WithRevisions(stored, o.conflicts)
	if release.MustFindStray(in) {
		if target, stored := o.findStray(in); target != nil {
			return in.WithStray(target, stored)
		}
	}
	return in
}

// demand returns d with the demand that a line adds. The others stay.
func demand(d policy.Demands, args arguments) (policy.Demands, error) {
	const name = "ReleasePolicy/rules"
	if why, ok := args.lookup("freeze"); ok {
		d.Freezes = []policy.Freeze{{Policy: name, Why: why, RollbacksFree: args.has("free")}}
		return d, nil
	}
	if text, ok := args.lookup("opens"); ok {
		opens, err := time.Parse(time.RFC3339, text)
		d.Windowed, d.RollbacksWindowed = true, !args.has("free")
		d.Closures = []policy.Closure{{Policy: name, Opens: opens, RollbacksFree: args.has("free")}}
		return d, err
	}
	switch args.at(0) {
	case "refuses":
		d.Refusal = &policy.Refusal{Policy: name, Field: "spec.chartRef", Why: args.at(1), ChangesOnly: args.has("changes")}
	case "refuses-denials":
		d.RefuseDenials = true
	case "unavailable":
		d.Unavailable = args.at(1)
	case "gone":
		d = policy.Demands{}
	default:
		return d, fmt.Errorf("unknown demand %q of a policy", args.at(0))
	}
	return d, nil
}

// demanded returns d with what policies demand. A policy refuses no chart of a HelmRelease that is
// deleted or suspended. One whose chart is refused keeps the inputs of its newest revision.
func demanded(d release.Desired, demands policy.Demands, recorded helmv2.HelmReleaseStatus, running *release.Running) release.Desired {
	d.Demands = demands
	if d.Deleted || d.Suspension.Active {
		d.Demands.Refusal = nil
	}
	if refusal := d.Demands.Refusal; refusal != nil && !refusal.ChangesOnly {
		d = d.KeepInputs(recorded, running)
	}
	return d
}
