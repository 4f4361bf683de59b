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
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// shownNames is how many of the releases that are not as wanted an error names.
const shownNames = 5

// stalled returns why the controller has stalled a release, or an empty text.
func stalled(hr *helmv2.HelmRelease) string {
	if hr.DeletionTimestamp != nil || hr.Status.ObservedGeneration != hr.Generation {
		return ""
	}
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf("the controller has stalled HelmRelease %s: %s: %s", hr.Name, c.Reason, c.Message)
}

// board has the progress of HelmReleases towards a condition.
type board struct {
	// names are those that count.
	names []string
	// met is called with nil if the HelmRelease does not exist.
	met     func(*helmv2.HelmRelease) bool
	done    map[string]bool
	missing int
	// last is a HelmRelease that did not satisfy the condition when it was last read.
	last *helmv2.HelmRelease
	// end is the reason why waiting is useless.
	end string
}

func newBoard(names []string, met func(*helmv2.HelmRelease) bool) *board {
	b := &board{names: names, met: met, done: map[string]bool{}, missing: len(names)}
	for _, name := range names {
		b.done[name] = false
		b.set(name, nil)
	}
	return b
}

// set takes note of a HelmRelease, or of there being none.
func (b *board) set(name string, hr *helmv2.HelmRelease) {
	was, counts := b.done[name]
	if !counts {
		return
	}
	is := b.met(hr)
	switch {
	case is && !was:
		b.missing--
	case was && !is:
		b.missing++
	}
	b.done[name] = is
	if is || hr == nil {
		return
	}
	b.last = hr
	if b.end == "" {
		b.end = stalled(hr)
	}
}

// over reports whether waiting has ended.
func (b *board) over() bool { return b.missing == 0 || b.end != "" }

// text describes the missing HelmReleases.
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
	if b.last != nil {
		text += fmt.Sprintf("\n%s: %s", b.last.Name, harness.Summary(b.last))
	}
	return text
}

// await waits until HelmReleases satisfy a condition. It watches, for polling a thousand releases
// would be work for the API server that the controller needs.
func (b *bench) await(ctx context.Context, names []string, met func(*helmv2.HelmRelease) bool) error {
	for {
		board := newBoard(names, met)
		err := b.look(ctx, board)
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
func (b *bench) look(ctx context.Context, board *board) error {
	list := &helmv2.HelmReleaseList{}
	if err := b.Env.Client.List(ctx, list, client.InNamespace(name)); err != nil {
		return err
	}
	for i := range list.Items {
		board.set(list.Items[i].Name, &list.Items[i])
	}
	if board.over() {
		return nil
	}
	version := &client.ListOptions{Namespace: name, Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	events, err := b.Env.Client.Watch(ctx, &helmv2.HelmReleaseList{}, version)
	if err != nil {
		return err
	}
	defer events.Stop()
	b.follow(ctx, board, events.ResultChan())
	return nil
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
			hr, ok := e.Object.(*helmv2.HelmRelease)
			switch {
			case !open || !ok || e.Type == watch.Bookmark:
				return // repeat the list
			case e.Type == watch.Deleted:
				board.set(hr.Name, nil)
			default:
				board.set(hr.Name, hr)
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
