// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// live returns the drift after changes to live objects. It replaces earlier changes.
func live(args arguments) release.Drift {
	web := release.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace, Name: name}
	replicas := release.DriftedField{
		Path: ".spec.replicas", Pointer: "/spec/replicas", Kind: release.DriftChanged, Want: "1", Have: args.value("replicas", "3"),
		Manager: args.value("by", "kubectl-edit"), Operation: "Update", Time: time.Date(2026, time.January, 1, 11, 0, 0, 0, time.UTC),
	}
	var d release.Drift
	if args.has("removed") {
		gone := release.Object{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}
		d.Objects = append(d.Objects, release.DriftedObject{Object: gone, Removed: true})
	}
	if args.has("changed") {
		d.Objects = append(d.Objects, release.DriftedObject{Object: web, Fields: []release.DriftedField{replicas}})
	}
	if args.has("scaled") {
		replicas.Subresource = "scale"
		d.Ceded = append(d.Ceded, release.DriftedObject{
			Object: web, Fields: []release.DriftedField{replicas}, Autoscaler: args.value("autoscaler", ""),
		})
	}
	if args.has("unreadable") {
		d.Errors = append(d.Errors, release.ObjectError{Object: web, Err: "forbidden"})
	}
	// Requests without an answer of the API server, for a moment or for long.
	d.Repeat = args.has("unanswered") || args.has("long-unanswered")
	if args.has("long-unanswered") {
		d.Errors = append(d.Errors, release.ObjectError{Object: web, Err: "the API server is busy", Transient: true})
	}
	if args.has("again-and-again") {
		d.Pause = time.Minute
	}
	return d
}

// correct restores the live objects. An error of the action applies to all of them.
func (w *World) correct(a release.CorrectDrift, o *release.Outcome) {
	if o.EndedEarly() {
		return
	}
	o.Corrected = a.Drift.Objects
	if o.Err == nil {
		w.live = release.Drift{Ceded: w.live.Ceded}
		return
	}
	for _, object := range a.Drift.Objects {
		o.Failed = append(o.Failed, release.ObjectError{Object: object.Object, Err: o.Err.Error()})
	}
	o.Err = nil
}
