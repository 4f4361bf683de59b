// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/rollout"
)

// fleetAge is how old the list of releases may be. What this process writes, and what the cache receives
// of a release that is in the list, counts at once.
const fleetAge = time.Second

// fleet is the releases of a policy.
type fleet struct {
	members []rollout.Member
	stages  rollout.Stages
	index   map[string]int
	read    time.Time
	// dirty are the releases that have changed since.
	dirty map[types.NamespacedName]struct{}
}

// touch makes each fleet read a release again.
func (t *Tracker) touch(key types.NamespacedName) {
	for _, f := range t.fleets {
		f.dirty[key] = struct{}{}
	}
}

// read returns a function that reads the releases of a policy. failed receives an error.
func (t *Tracker) read(ctx context.Context, failed *error) rollout.Fleet {
	return func(of policy.Rollout) ([]rollout.Member, rollout.Stages) {
		id := [2]string{of.Namespace, of.Policy}
		f := t.fleets[id]
		if f == nil || t.options.Now().Sub(f.read) >= fleetAge || !t.refresh(ctx, of, f) {
			var err error
			if f, err = t.list(ctx, of); err != nil {
				*failed = err
				return nil, rollout.Stages{}
			}
			t.fleets[id] = f
		}
		for i := range f.members {
			m := &f.members[i]
			m.Starts = t.queue.Starts(m.Key())
			if asked := t.queue.Asked(m.Key()); asked != (rollout.Input{}) {
				m.Want(asked)
			}
		}
		return f.members, f.stages
	}
}

// list reads all HelmReleases from the cache.
func (t *Tracker) list(ctx context.Context, of policy.Rollout) (*fleet, error) {
	var all helmv2.HelmReleaseList
	if err := t.options.Cached.List(ctx, &all, client.InNamespace(of.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	f := &fleet{
		members: make([]rollout.Member, 0, len(all.Items)), index: make(map[string]int, len(all.Items)),
		read: t.options.Now(), dirty: map[types.NamespacedName]struct{}{},
	}
	sources := map[string]client.Object{}
	for i := range all.Items {
		m := t.member(ctx, of, &all.Items[i], sources)
		f.index[m.Key()] = len(f.members)
		f.members = append(f.members, m)
	}
	f.stages = rollout.StagesOf(of.Order, f.members)
	return f, nil
}

// refresh reads the releases again that have changed. It reports false if the list must be read again:
// there are others, or stages may have changed.
func (t *Tracker) refresh(ctx context.Context, of policy.Rollout, f *fleet) bool {
	for key := range f.dirty {
		if of.Namespace != "" && of.Namespace != key.Namespace {
			continue
		}
		i, has := f.index[key.String()]
		hr := &helmv2.HelmRelease{}
		if !has || t.options.Cached.Get(ctx, key, hr, client.UnsafeDisableDeepCopy) != nil {
			return false
		}
		was, is := &f.members[i], t.member(ctx, of, hr, nil)
		if was.Outside != is.Outside || !slices.Equal(was.DependsOn, is.DependsOn) || !sameLabels(was.Labels, is.Labels) {
			return false
		}
		f.members[i] = is
	}
	clear(f.dirty)
	return true
}

func sameLabels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, has := b[key]; !has || other != value {
			return false
		}
	}
	return true
}

// member returns a HelmRelease as a member of a policy. sources has sources that were read.
func (t *Tracker) member(ctx context.Context, of policy.Rollout, cached *helmv2.HelmRelease, sources map[string]client.Object) rollout.Member {
	hr := t.queue.Newest(client.ObjectKeyFromObject(cached).String(), cached)
	m := inputs.Member(hr, t.source(ctx, cached, sources), t.options.Now())
	if of.By == v1alpha1.RolloutByValues {
		m.From, m.Values = inputs.ValuesObjects(hr), t.queue.ValuesOf(m.Key())
	}
	m.Outside = !t.options.Policies.Selects(ctx, of, cached)
	return m
}

// source returns the source of a HelmRelease; nil if it is not known.
func (t *Tracker) source(ctx context.Context, hr *helmv2.HelmRelease, sources map[string]client.Object) client.Object {
	kind, key := inputs.SourceOf(hr)
	row, known := inputs.SourceKindOf(kind)
	if !known || row.Gated {
		// There may be no cache of the kind.
		return nil
	}
	id := kind + "/" + key.String()
	if obj, has := sources[id]; has {
		return obj
	}
	obj := row.New()
	if t.options.Cached.Get(ctx, key, obj, client.UnsafeDisableDeepCopy) != nil {
		obj = nil
	}
	if sources != nil {
		sources[id] = obj
	}
	return obj
}

func keyOf(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
