// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// name is the namespace's, the chart's and its source's.
	name = "bench"
	// hands is how many requests we send at the same time. One after the other
	// would make a fast controller wait for us.
	hands = 10
	// shownLogLines is how much of the controller's log an error quotes.
	shownLogLines = 25
)

// prepare pushes the chart and makes the source of all releases.
func (b *bench) prepare(ctx context.Context) error {
	chart, err := harness.LoadChart(name)
	if err != nil {
		return err
	}
	archive, err := harness.Pack(chart)
	if err != nil {
		return err
	}
	if err := b.env.Registry.PushChart(ctx, "charts", archive); err != nil {
		return err
	}
	if err := b.env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	repository := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + b.env.Registry.Address + "/charts/" + name, Insecure: true,
			Reference: &sourcev1.OCIRepositoryRef{Tag: chart.Metadata.Version}, Interval: metav1.Duration{Duration: time.Hour},
		},
	}
	if err := b.env.Client.Create(ctx, repository); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return b.env.Until(ctx, "the chart", func() (string, bool) {
		if err := b.env.Client.Get(ctx, client.ObjectKeyFromObject(repository), repository); err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(repository.Status.Conditions),
			apimeta.IsStatusConditionTrue(repository.Status.Conditions, helmv2.ConditionReady)
	})
}

func (b *bench) release(i int) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: releaseName(i)},
		Spec: helmv2.HelmReleaseSpec{
			// Longer than any phase, so that only what is asked for is measured.
			Interval: metav1.Duration{Duration: 10 * time.Hour},
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.OCIRepositoryKind, Name: name},
			Values:   &apiextensionsv1.JSON{Raw: []byte(`{"message":"hello"}`)},
		},
	}
	if b.drift {
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	}
	return hr
}

func releaseName(i int) string { return fmt.Sprintf("bench-%05d", i) }

func (b *bench) create(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error { return b.env.Client.Create(ctx, b.release(i)) })
}

func (b *bench) patchAll(ctx context.Context, patch string) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		return b.env.Client.Patch(ctx, b.release(i), client.RawPatch(types.MergePatchType, json.RawMessage(patch)))
	})
}

func (b *bench) deleteAll(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error { return b.env.Client.Delete(ctx, b.release(i)) })
}

// each does something for all releases, several at a time.
func (b *bench) each(ctx context.Context, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for i := range b.releases {
		group.Go(func() error {
			if err := do(ctx, i); err != nil {
				return fmt.Errorf("HelmRelease %s: %w", releaseName(i), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// goal reports whether a HelmRelease is as wanted. It is asked about nil if there
// is none.
type goal func(*helmv2.HelmRelease) bool

// board says which releases are as wanted.
type board struct {
	goal    goal
	met     map[string]bool
	missing int
	// last is one that was not as wanted when it was seen last.
	last *helmv2.HelmRelease
}

func newBoard(releases int, goal goal) *board {
	b := &board{goal: goal, met: map[string]bool{}, missing: releases}
	for i := range releases {
		b.set(releaseName(i), nil)
	}
	return b
}

func (b *board) set(name string, hr *helmv2.HelmRelease) {
	was, is := b.met[name], b.goal(hr)
	switch {
	case is && !was:
		b.missing--
	case was && !is:
		b.missing++
	}
	b.met[name] = is
	if !is && hr != nil {
		b.last = hr
	}
}

// await waits until all releases are as wanted. It watches, for polling a
// thousand of them would be work for the API server that the controller needs.
func (b *bench) await(ctx context.Context, goal goal) error {
	for {
		board, err := b.look(ctx, goal)
		if err == nil && board.missing == 0 {
			return nil
		}
		if ended := b.env.Controller.Ended(); ended != nil {
			err = ended
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return b.unmet(err, board)
		}
	}
}

// look lists and then watches until all are as wanted or the watch ends.
func (b *bench) look(ctx context.Context, goal goal) (*board, error) {
	board := newBoard(b.releases, goal)
	var list helmv2.HelmReleaseList
	if err := b.env.Client.List(ctx, &list, client.InNamespace(name)); err != nil {
		return board, err
	}
	for i := range list.Items {
		board.set(list.Items[i].Name, &list.Items[i])
	}
	if board.missing == 0 {
		return board, nil
	}
	version := &client.ListOptions{Namespace: name, Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
	events, err := b.env.Client.Watch(ctx, &helmv2.HelmReleaseList{}, version)
	if err != nil {
		return board, err
	}
	defer events.Stop()
	return board, b.follow(ctx, board, events.ResultChan())
}

func (b *bench) follow(ctx context.Context, board *board, events <-chan watch.Event) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for board.missing > 0 && b.env.Controller.Ended() == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case e, open := <-events:
			hr, ok := e.Object.(*helmv2.HelmRelease)
			switch {
			case !open || !ok:
				return nil // look again
			case e.Type == watch.Deleted:
				board.set(hr.Name, nil)
			default:
				board.set(hr.Name, hr)
			}
		}
	}
	return nil
}

func (b *bench) unmet(err error, board *board) error {
	if board.last != nil {
		err = fmt.Errorf("%w\n%d releases are not as wanted; %s: %s", err, board.missing, board.last.Name, harness.Summary(board.last))
	}
	return fmt.Errorf("%w\nthe controller's log ends:\n%s", err, b.env.Controller.LogTail(shownLogLines))
}
