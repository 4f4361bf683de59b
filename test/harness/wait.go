// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// pollEvery is the interval of calls for states that cannot be watched. It is short, because it
	// limits the precision of measured times.
	pollEvery = 50 * time.Millisecond
	// aliveEvery is the interval of checks whether the controller runs.
	aliveEvery = time.Second
	// slowEvery is the interval of reports about a wait.
	slowEvery = 30 * time.Second
	// shownLogLines is the number of lines of the controller's log in an error.
	shownLogLines = 25
)

// Until waits until look returns done. It calls look at once, and then after each change of the
// watched objects. A watched object without a name stands for all objects of its kind in its
// namespace. Without watched objects, look is called every pollEvery: for the states of processes
// and files.
//
// seen describes the last state for the error. Until fails when the context or the controller ends.
func (e *Environment) Until(ctx context.Context, what string, look func() (seen string, done bool), watched ...client.Object) error {
	w := wait{env: e, what: what, began: time.Now(), changed: make(chan struct{}, 1)}
	watching, stop := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	for first := true; ; first = false {
		seen, done := look()
		if done {
			return nil
		}
		// A call that the context interrupted has no valid result.
		if ctx.Err() == nil {
			w.seen = seen
		}
		if first {
			for _, o := range watched {
				watches.Go(func() { e.follow(watching, o, w.notify) })
			}
		}
		if err := w.next(ctx, len(watched) == 0); err != nil {
			return err
		}
	}
}

// wait is one call of Until.
type wait struct {
	env   *Environment
	what  string
	began time.Time
	// seen is the last state.
	seen string
	// reported is the number of reports that the wait is slow.
	reported time.Duration
	changed  chan struct{}
}

// notify lets the wait look again.
func (w *wait) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// next returns nil when the wait looks again.
func (w *wait) next(ctx context.Context, poll bool) error {
	tick := time.NewTicker(aliveEvery)
	if poll {
		tick.Reset(pollEvery)
	}
	defer tick.Stop()
	for {
		if c := w.env.Controller; c != nil && c.Ended() != nil {
			return w.env.unmet(c.Ended(), w.began, w.what, w.seen)
		}
		if waited := time.Since(w.began); waited > (w.reported+1)*slowEvery {
			w.reported = waited / slowEvery
			if w.env.Slow != nil {
				w.env.Slow(fmt.Sprintf("waiting %s for %s\nlast seen: %s", waited.Round(time.Second), w.what, w.seen))
			}
		}
		select {
		case <-ctx.Done():
			return w.env.unmet(ctx.Err(), w.began, w.what, w.seen)
		case <-w.changed:
			return nil
		case <-tick.C:
			if poll {
				return nil
			}
		}
	}
}

// follow calls notify after each change of a watched object until ctx ends.
func (e *Environment) follow(ctx context.Context, o client.Object, notify func()) {
	for ctx.Err() == nil {
		if err := e.watch(ctx, o, notify); err != nil {
			// The kind may not be served yet, and the API server may be away.
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
		}
	}
}

// watch is one request of follow. Only metadata is requested, because look reads the objects.
func (e *Environment) watch(ctx context.Context, o client.Object, notify func()) error {
	gvk, err := e.Client.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	options := []client.ListOption{client.InNamespace(o.GetNamespace())}
	if o.GetName() != "" {
		options = append(options, client.MatchingFields{"metadata.name": o.GetName()})
	}
	events, err := e.Client.Watch(ctx, list, options...)
	if err != nil {
		return err
	}
	defer events.Stop()
	// The objects may have changed before the watch began.
	notify()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			switch {
			case !open:
				return nil
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			}
			notify()
		}
	}
}

func (e *Environment) unmet(cause error, began time.Time, what, seen string) error {
	err := fmt.Errorf("waited %s for %s: %w\nlast seen: %s", time.Since(began).Round(100*time.Millisecond), what, cause, seen)
	if e.Controller == nil {
		return err
	}
	return fmt.Errorf("%w\nthe controller's log ends:\n%s", err, e.Controller.LogTail(shownLogLines))
}

// WaitRelease waits until a HelmRelease satisfies a condition, and returns it. The condition must
// not depend on other objects: it is called after changes of the HelmRelease.
func (e *Environment) WaitRelease(ctx context.Context, key types.NamespacedName, what string, wanted func(*helmv2.HelmRelease) bool) (*helmv2.HelmRelease, error) {
	var hr *helmv2.HelmRelease
	err := e.Until(ctx, fmt.Sprintf("HelmRelease %s %s", key, what), func() (string, bool) {
		hr = &helmv2.HelmRelease{}
		if err := e.Client.Get(ctx, key, hr); err != nil {
			return err.Error(), false
		}
		return Summary(hr), wanted(hr)
	}, &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	return hr, err
}

// Ready reports whether the current generation is reconciled and ready.
func Ready(hr *helmv2.HelmRelease) bool {
	conditions := hr.Status.Conditions
	return hr.Status.ObservedGeneration == hr.Generation &&
		apimeta.IsStatusConditionTrue(conditions, helmv2.ConditionReady) &&
		apimeta.FindStatusCondition(conditions, helmv2.ConditionReconciling) == nil &&
		apimeta.FindStatusCondition(conditions, helmv2.ConditionStalled) == nil
}

// ReadyCondition returns the condition Ready, or an empty one.
func ReadyCondition(conditions []metav1.Condition) metav1.Condition {
	if c := apimeta.FindStatusCondition(conditions, helmv2.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Type: helmv2.ConditionReady, Status: metav1.ConditionUnknown}
}

// Summary describes the state of a HelmRelease in a few lines.
func Summary(hr *helmv2.HelmRelease) string {
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d, observed %d", hr.Generation, hr.Status.ObservedGeneration)
	if hr.DeletionTimestamp != nil {
		fmt.Fprintf(&b, ", being deleted, finalizers %v", hr.Finalizers)
	}
	for _, c := range hr.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s (generation %d): %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	for _, s := range hr.Status.History {
		fmt.Fprintf(&b, "\n  revision %d %s: %s %s", s.Version, s.Status, s.ChartName, s.ChartVersion)
	}
	return b.String()
}
