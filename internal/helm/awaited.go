// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/readiness"
)

// errOutdated is what is known of an object that a lagging API server answers for.
var errOutdated = errors.New("the API server answered with an older version than it did before")

// opinion is what a wait thinks of one object.
type opinion struct {
	info   *resource.Info
	result *status.Result
	err    error
	// known is what is known of the object, and live the object as it was last seen, nil
	// if it does not exist or could not be read.
	known readiness.Known
	live  *unstructured.Unstructured
	// sub is nil if the object is not followed, and looked at now and then.
	sub *subscription
	// unheard is how long nothing has been heard of it.
	unheard time.Duration
}

func opinions(list kube.ResourceList) []*opinion {
	all := make([]*opinion, len(list))
	for i, info := range list {
		all[i] = &opinion{info: info}
	}
	return all
}

// eachOf calls do for every object, several at a time.
func eachOf(all []*opinion, do func(o *opinion)) {
	if len(all) == 1 {
		do(all[0])
		return
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, o := range all {
		group.Go(func() error {
			do(o)
			return nil
		})
	}
	_ = group.Wait()
}

// look reads the object from the API server and judges it.
func (o *opinion) look(w watch) {
	defer o.rescue()
	o.unheard = 0
	if w.judge == nil {
		o.live = nil
		o.result, o.err = w.see(o.info)
		return
	}
	object, err := read(o.info)
	if err != nil {
		o.known.Observe(readiness.Observation{Source: readiness.Gap})
		o.live, o.result, o.err = nil, nil, err
		return
	}
	o.observe(observed(readiness.Read, object), object, w)
	if o.known.MustRead() {
		o.result, o.err = nil, errOutdated
	}
	if o.sub != nil && object != nil && object.GetLabels()[helmv2.LabelName] == "" {
		// The watch selects by this label.
		o.sub.leave()
		o.sub = nil
	}
}

// observe merges an observation of the object and judges it, unless more was known
// already, or the object has to be read first.
func (o *opinion) observe(seen readiness.Observation, object *unstructured.Unstructured, w watch) {
	defer o.rescue()
	if !o.known.Observe(seen) {
		return
	}
	o.unheard = 0
	if seen.Source == readiness.Removed && w.lost != nil && o.known.Concerns(seen) && o.ended(object, w.judge) {
		return
	}
	switch o.known.Existence() {
	case readiness.Unknown:
		return
	case readiness.Absent:
		object = nil
	case readiness.Present:
	}
	o.live = object
	isGone := w.target && o.known.TargetGone()
	switch {
	case (object == nil || isGone) && expires(o.info.Object):
		o.result, o.err = current(), nil
	case isGone && w.lost != nil && o.known.Target() != "":
		o.result, o.err = w.lost, nil
	case isGone:
		o.result, o.err = w.judge(nil)
	default:
		o.result, o.err = w.judge(object)
	}
}

// ended judges an object that was deleted by its last state, and reports whether it had
// completed or failed by then.
func (o *opinion) ended(last *unstructured.Unstructured, judge look) bool {
	result, err := o.result, o.err
	if o.result, o.err = judge(last); o.settled() {
		o.live = last
		return true
	}
	o.result, o.err = result, err
	return false
}

// rescue makes an error of a panic: objects are judged on goroutines, where one
// would end the process.
func (o *opinion) rescue() {
	if p := recover(); p != nil {
		o.result, o.err = nil, fmt.Errorf("judging panicked: %v", p)
	}
}

func (o *opinion) current() bool { return o.err == nil && o.result.Status == status.CurrentStatus }

// settled reports whether the verdict ends the wait for the object.
func (o *opinion) settled() bool {
	return o.err == nil && o.result != nil && (o.result.Status == status.CurrentStatus || o.result.Status == status.FailedStatus)
}

// followed reports whether every change of the object is going to be received.
func (o *opinion) followed() bool { return o.sub != nil && !o.known.MustRead() }
