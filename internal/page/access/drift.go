// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/view"
)

const (
	// maxCompared is the number of objects that one comparison reads.
	maxCompared = 200
	// maxComparisons is the number of concurrent comparisons, for all users together. Each holds a
	// manifest, and sends several requests at the same time.
	maxComparisons = 2
	// maxTurn is how long a comparison waits for others.
	maxTurn = 5 * time.Second
)

// Choose returns the objects of a comparison that are read.
type Choose = func(ctx context.Context, objects []*resource.Info) []*resource.Info

// Compare compares the chosen live objects of a release with its newest stored revision.
type Compare func(ctx context.Context, hr *helmv2.HelmRelease, choose Choose) (view.DiffFacts, error)

// errBusy is the error for a comparison that has waited for others in vain.
var errBusy = &unread{text: "too many comparisons run at the same time"}

// CompareAsRelease returns a function that reads, and sends dry runs, with the identity of a
// release, as the controller compares. It renders no chart and writes nothing.
func CompareAsRelease(find Find, scheme *runtime.Scheme, overrideManagers []string, now func() time.Time) Compare {
	slots := make(chan struct{}, maxComparisons)
	return func(ctx context.Context, hr *helmv2.HelmRelease, choose Choose) (view.DiffFacts, error) {
		leave, err := enter(ctx, slots)
		if err != nil {
			return view.DiffFacts{}, err
		}
		defer leave()
		conn, c, err := connect(ctx, find, scheme, hr)
		if err != nil {
			return view.DiffFacts{}, err
		}
		// It keeps what it has read, so each comparison has one of its own.
		differ := diff.New(diff.Options{OverrideManagers: overrideManagers, Now: now})
		return differ.DriftFacts(ctx, diff.Query{Release: hr, Reader: c, Connection: conn, Choose: choose})
	}
}

// enter takes a slot until leave is called.
func enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, errBusy
	}
}

// Drift is how live objects differ from the newest stored revision.
type Drift struct {
	view.Diff
	// Compared is the number of objects that were compared. Hidden counts objects that the user
	// may not get, and More counts objects beyond the limit.
	Compared, Hidden, More int
}

// Drift compares the live objects that the user may get with the newest stored revision. Their
// rights are checked before they are read. Errors of the API server are in the log only.
func (v *Viewer) Drift(ctx context.Context, hr *helmv2.HelmRelease) (Drift, error) {
	if err := v.Contents(ctx, hr); err != nil {
		return Drift{}, err
	}
	var d Drift
	facts, err := v.Compare(ctx, hr, func(ctx context.Context, objects []*resource.Info) []*resource.Info {
		if len(objects) > maxCompared {
			objects, d.More = objects[:maxCompared], len(objects)-maxCompared
		}
		chosen := v.readable(ctx, objects)
		d.Compared, d.Hidden = len(chosen), len(objects)-len(chosen)
		return chosen
	})
	if err != nil {
		return Drift{}, v.public(err)
	}
	v.conceal(hr, &facts)
	d.Diff = view.DiffOf(facts)
	return d, nil
}

// readable returns the objects that the user may get.
func (v *Viewer) readable(ctx context.Context, objects []*resource.Info) []*resource.Info {
	allowed := make([]bool, len(objects))
	parallel.Do(ctx, len(objects), maxReviews, func(i int) error {
		o, kind := objects[i], objects[i].Mapping.Resource
		right := authorizationv1.ResourceAttributes{Verb: "get", Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Name: o.Name}
		if o.Namespaced() {
			right.Namespace = o.Namespace
		}
		allowed[i] = v.may(ctx, right)
		return nil
	})
	var all []*resource.Info
	for i, o := range objects {
		if allowed[i] {
			all = append(all, o)
		}
	}
	return all
}

// conceal replaces the texts of the API server, and the names of autoscalers, which the user may
// not be allowed to get.
func (v *Viewer) conceal(hr *helmv2.HelmRelease, facts *view.DiffFacts) {
	if facts.Drift == nil {
		return
	}
	for i := range facts.Drift.Errors {
		e := &facts.Drift.Errors[i]
		v.Log.Info("not compared for the web page", "helmrelease", hr.Namespace+"/"+hr.Name, "object", e.Object, "error", e.Err)
		e.Err = "it could not be compared, and the log of the controller has the error"
	}
	for i := range facts.Drift.Ceded {
		facts.Drift.Ceded[i].Autoscaler = ""
	}
}
