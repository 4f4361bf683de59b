// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/readiness"
)

// errOlderVersion is the error of an object that a lagging API server answers for.
var errOlderVersion = errors.New("the API server answered with an older version than it did before")

// concurrentReads is the number of objects that one wait reads at the same time.
const concurrentReads = 8

// object is the state of one object in a wait.
type object struct {
	info *resource.Info
	// result and err are the last result of the condition.
	result *status.Result
	err    error
	known  readiness.Known
	// live is the last known state, nil if the object does not exist or could not be read.
	live *unstructured.Unstructured
	// subscription is nil if the object is polled.
	subscription *subscription
	// silent is the time since the last event or read.
	silent time.Duration
}

func objectsOf(list kube.ResourceList) []*object {
	all := make([]*object, len(list))
	for i, info := range list {
		all[i] = &object{info: info}
	}
	return all
}

// eachOf calls do for every object, concurrently.
func eachOf(all []*object, do func(o *object)) {
	if len(all) == 1 {
		do(all[0])
		return
	}
	var group errgroup.Group
	group.SetLimit(concurrentReads)
	for _, o := range all {
		group.Go(func() error {
			do(o)
			return nil
		})
	}
	_ = group.Wait()
}

// read reads the object from the API server and checks it.
func (o *object) read(c condition) {
	defer o.handlePanic()
	o.silent = 0
	if c.check == nil {
		o.live = nil
		o.result, o.err = c.ask(o.info)
		return
	}
	live, err := get(o.info)
	if err != nil {
		o.known.Observe(readiness.Observation{Source: readiness.Gap})
		o.live, o.result, o.err = nil, nil, err
		return
	}
	o.observe(readiness.ObservationOf(readiness.Read, live), live, c)
	if o.known.MustRead() {
		o.result, o.err = nil, errOlderVersion
	}
	if o.subscription != nil && live != nil && live.GetLabels()[helmv2.LabelName] == "" {
		// The watch selects by this label.
		o.subscription.leave()
		o.subscription = nil
	}
}

// observe merges an observation and checks the object, unless a newer state is known or the object
// must be read first.
func (o *object) observe(observation readiness.Observation, live *unstructured.Unstructured, c condition) {
	defer o.handlePanic()
	if !o.known.Observe(observation) {
		return
	}
	o.silent = 0
	if observation.Source == readiness.Removed && c.lost != nil && o.known.Concerns(observation) && o.ended(live, c.check) {
		return
	}
	switch o.known.Existence() {
	case readiness.Unknown:
		return
	case readiness.Absent:
		live = nil
	case readiness.Present:
	}
	o.live = live
	isGone := c.target && o.known.TargetGone()
	switch {
	case (live == nil || isGone) && expires(o.info.Object):
		o.result, o.err = readiness.Current(), nil
	case isGone && c.lost != nil && o.known.Target() != "":
		o.result, o.err = c.lost, nil
	case isGone:
		o.result, o.err = c.check(nil)
	default:
		o.result, o.err = c.check(live)
	}
}

// ended checks the last state of a deleted object, and reports whether the object had completed
// or failed by then.
func (o *object) ended(last *unstructured.Unstructured, check readiness.Check) bool {
	result, err := o.result, o.err
	if o.result, o.err = check(last); o.settled() {
		o.live = last
		return true
	}
	o.result, o.err = result, err
	return false
}

// handlePanic turns a panic of a check into an error. Checks run on goroutines of their own, where
// a panic would end the process.
func (o *object) handlePanic() {
	if p := recover(); p != nil {
		o.result, o.err = nil, fmt.Errorf("judging panicked: %v", p)
	}
}

func (o *object) current() bool { return o.err == nil && o.result.Status == status.CurrentStatus }

// settled reports whether the result ends the wait for the object.
func (o *object) settled() bool {
	return o.err == nil && o.result != nil && (o.result.Status == status.CurrentStatus || o.result.Status == status.FailedStatus)
}

// reasonsOf returns why objects are not ready, and separately why some have failed.
func reasonsOf(all []*object) (reasons, failures []string) {
	for _, o := range all {
		switch {
		case o.err != nil:
			reasons = append(reasons, fmt.Sprintf("%s: %s", ObjectName(o.info), o.err))
		case o.result.Status == status.FailedStatus:
			failures = append(failures, describe(o.info, o.result))
		case !o.current():
			reasons = append(reasons, describe(o.info, o.result))
		}
	}
	return reasons, failures
}

// watched reports whether every change of the object will be received.
func (o *object) watched() bool { return o.subscription != nil && !o.known.MustRead() }

// get reads an object from the API server. It returns nil if there is none.
func get(info *resource.Info) (*unstructured.Unstructured, error) {
	answer, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	live, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server answered with %T", answer)
	}
	return live, nil
}

func expires(object runtime.Object) bool {
	u, ok := object.(*unstructured.Unstructured)
	return ok && readiness.Expires(u)
}
