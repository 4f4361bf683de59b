// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// shownNames is how many of the releases that are not as wanted an error names.
const shownNames = 5

// goal is a condition that all of some releases, or an object of the same name for each, have to
// satisfy.
type goal struct {
	// names are those that count.
	names []string
	list  func() client.ObjectList
	// met is called with nil if the object does not exist.
	met func(client.Object) bool
	// hopeless returns why waiting is useless, or an empty text.
	hopeless func(client.Object) string
}

// releasesAre is the goal that HelmReleases satisfy a condition. wanted is called with nil if the
// HelmRelease does not exist.
func releasesAre(names []string, wanted func(*helmv2.HelmRelease) bool) goal {
	return goal{
		names: names,
		list:  func() client.ObjectList { return &helmv2.HelmReleaseList{} },
		met: func(o client.Object) bool {
			hr, _ := o.(*helmv2.HelmRelease)
			return wanted(hr)
		},
		hopeless: stalled,
	}
}

// stalled returns why the controller has stalled a release, or an empty text.
func stalled(o client.Object) string {
	hr, ok := o.(*helmv2.HelmRelease)
	if !ok || hr.DeletionTimestamp != nil || hr.Status.ObservedGeneration != hr.Generation {
		return ""
	}
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf("the controller has stalled HelmRelease %s: %s: %s", hr.Name, c.Reason, c.Message)
}

// board has the progress towards a goal.
type board struct {
	goal
	done    map[string]bool
	missing int
	// last is an object that did not satisfy the condition when it was last read.
	last client.Object
	// end is the reason why waiting is useless.
	end string
}

func newBoard(g goal) *board {
	b := &board{goal: g, done: map[string]bool{}, missing: len(g.names)}
	for _, name := range g.names {
		b.done[name] = false
		b.set(name, nil)
	}
	return b
}

// set takes note of an object, or of there being none.
func (b *board) set(name string, o client.Object) {
	was, counts := b.done[name]
	if !counts {
		return
	}
	is := b.met(o)
	switch {
	case is && !was:
		b.missing--
	case was && !is:
		b.missing++
	}
	b.done[name] = is
	if is || o == nil {
		return
	}
	b.last = o
	if b.hopeless != nil && b.end == "" {
		b.end = b.hopeless(o)
	}
}

// over reports whether waiting has ended.
func (b *board) over() bool { return b.missing == 0 || b.end != "" }

// text describes the missing objects.
func (b *board) text() string {
	var names []string
	for _, name := range b.names {
		if !b.done[name] {
			names = append(names, name)
		}
	}
	shown := strings.Join(names[:min(len(names), shownNames)], ", ")
	if len(names) > shownNames {
		shown += ", ..."
	}
	text := fmt.Sprintf("%d of %d are not as wanted: %s", b.missing, len(b.names), shown)
	if hr, ok := b.last.(*helmv2.HelmRelease); ok {
		text += fmt.Sprintf("\n%s: %s", hr.Name, harness.Summary(hr))
	}
	return text
}

// await waits until a goal is met. It watches, for polling a thousand releases
// would be work for the API server that the controller needs.
func (b *bench) await(ctx context.Context, g goal) error {
	for {
		board, err := b.look(ctx, g)
		switch ended := b.Env.Controller.Ended(); {
		case ended != nil:
			err = ended
		case board.end != "":
			return fmt.Errorf("waited no longer: %s", board.end)
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err == nil && board.missing == 0:
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w\n%s\nthe controller's log ends:\n%s", err, board.text(), b.Env.Controller.LogTail(shownLogLines))
		}
	}
}

// look lists and then watches until waiting has ended or the watch ends.
func (b *bench) look(ctx context.Context, g goal) (*board, error) {
	board, list := newBoard(g), g.list()
	if err := b.Env.Client.List(ctx, list, client.InNamespace(name)); err != nil {
		return board, err
	}
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(client.Object); ok {
			board.set(o.GetName(), o)
		}
		return nil
	})
	if err != nil || board.over() {
		return board, err
	}
	version := &client.ListOptions{Namespace: name, Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	events, err := b.Env.Client.Watch(ctx, g.list(), version)
	if err != nil {
		return board, err
	}
	defer events.Stop()
	b.follow(ctx, board, events.ResultChan())
	return board, nil
}

func (b *bench) follow(ctx context.Context, board *board, events <-chan watch.Event) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !board.over() && b.Env.Controller.Ended() == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case e, open := <-events:
			o, ok := e.Object.(client.Object)
			switch {
			case !open || !ok || e.Type == watch.Bookmark:
				return // repeat the list
			case e.Type == watch.Deleted:
				board.set(o.GetName(), nil)
			default:
				board.set(o.GetName(), o)
			}
		}
	}
}

// awaitReconciliations waits until the given number of reconciliations has ended since the phase
// began. With rest it also waits until none is queued.
func (b *bench) awaitReconciliations(ctx context.Context, since, wanted int, rest bool) error {
	tick := time.NewTicker(metricsEvery)
	defer tick.Stop()
	seen := "its metrics have not been seen"
	for {
		f, err := b.figures(ctx)
		if err == nil {
			seen = fmt.Sprintf("%d reconciliations of %d have ended, %d are queued, %d are running", f.reconciliations-since, wanted, f.waiting, f.active)
			if f.reconciliations-since >= wanted && (!rest || f.waiting+f.active == 0) {
				return nil
			}
		}
		if ended := b.Env.Controller.Ended(); ended != nil {
			return fmt.Errorf("%w\nthe controller's log ends:\n%s", ended, b.Env.Controller.LogTail(shownLogLines))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s\nthe controller's log ends:\n%s", context.Cause(ctx), seen, b.Env.Controller.LogTail(shownLogLines))
		case <-tick.C:
		}
	}
}

// names returns those releases for which keep is true; all if it is nil.
func (b *bench) names(keep func(i int) bool) []string {
	var names []string
	for i := range b.Releases {
		if keep == nil || keep(i) {
			names = append(names, releaseName(i))
		}
	}
	return slices.Clip(names)
}
