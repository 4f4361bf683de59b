// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// Resolution is what became of a kind.
type Resolution struct {
	// State is Served, Moved or Gone.
	State State
	// Mapping maps the kind in the group and version that the API server serves; nil if the kind is
	// gone.
	Mapping *meta.RESTMapping
}

// Resolver maps the kinds in stored manifests. It resolves each kind once, and sends no request for
// a kind that the cached discovery has. It may be used concurrently.
type Resolver struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one action
	getter genericclioptions.RESTClientGetter
	// repeat calls a function until it returns nil or an error that is not transient.
	repeat func(ctx context.Context, do func() error) error

	mu    sync.Mutex
	known map[schema.GroupVersionKind]Resolution
}

// New returns a Resolver. repeat repeats incomplete discovery until an outage of the action starts;
// without it, discovery is requested once.
func New(ctx context.Context, getter genericclioptions.RESTClientGetter, repeat func(ctx context.Context, do func() error) error) *Resolver {
	if repeat == nil {
		repeat = func(_ context.Context, do func() error) error { return do() }
	}
	return &Resolver{ctx: ctx, getter: getter, repeat: repeat, known: map[schema.GroupVersionKind]Resolution{}}
}

// Resolve returns what became of a kind. The error is an *apiretry.Outage or an
// *apiretry.UnavailableError if discovery is incomplete: the kind must not be taken for gone.
func (r *Resolver) Resolve(gvk schema.GroupVersionKind) (Resolution, error) {
	return r.resolve(gvk, false)
}

// Rediscover is Resolve past the cached discovery, which may be outdated.
func (r *Resolver) Rediscover(gvk schema.GroupVersionKind) (Resolution, error) {
	return r.resolve(gvk, true)
}

func (r *Resolver) resolve(gvk schema.GroupVersionKind, fresh bool) (Resolution, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known[gvk]; ok && (!fresh || known.State != Served) {
		return known, nil
	}
	var found Resolution
	err := r.repeat(r.ctx, func() (err error) {
		found, err = r.try(gvk, fresh)
		return unavailable(gvk, err)
	})
	if err != nil {
		return Resolution{}, err
	}
	r.known[gvk] = found
	return found, nil
}

// unavailable returns a transient error as an *apiretry.UnavailableError: the API server answered
// other requests, or there would be an outage.
func unavailable(gvk schema.GroupVersionKind, err error) error {
	var outage *apiretry.Outage
	if err == nil || errors.As(err, &outage) || !apiretry.IsTransient(err) {
		return err
	}
	return &apiretry.UnavailableError{API: gvk.GroupVersion().String(), Why: apiretry.AnswerOf(err).Cause()}
}

// try resolves a kind once. It is an error if discovery is incomplete.
func (r *Resolver) try(gvk schema.GroupVersionKind, fresh bool) (Resolution, error) {
	mapper, err := r.getter.ToRESTMapper()
	if err != nil {
		return Resolution{}, err
	}
	if !fresh {
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			return Resolution{State: Served, Mapping: mapping}, nil
		}
		if !meta.IsNoMatchError(err) {
			return Resolution{}, err
		}
	}
	decision, err := r.discover(gvk)
	if err == nil && fresh && decision.State != Served {
		meta.MaybeResetRESTMapper(mapper)
	}
	if err != nil || decision.State == Gone {
		return Resolution{State: decision.State}, err
	}
	mapping, err := mapper.RESTMapping(decision.Kind.GroupKind(), decision.Kind.Version)
	if meta.IsNoMatchError(err) {
		// The API server has changed between the requests.
		err = &apiretry.UnavailableError{API: decision.Kind.GroupVersion().String(), Why: err.Error()}
	}
	return Resolution{State: decision.State, Mapping: mapping}, err
}

// Successor returns the group and version in which the API server serves a kind that it does not
// serve in the given version; empty if there is none or this is unknown.
func (r *Resolver) Successor(gvk schema.GroupVersionKind) schema.GroupVersion {
	decision, err := r.discover(gvk)
	if err != nil || decision.State != Moved {
		return schema.GroupVersion{}
	}
	return decision.Kind.GroupVersion()
}

// discover requests the discovery of the groups of a kind, and returns the decision. It is an error
// if the state of the kind is unknown.
func (r *Resolver) discover(gvk schema.GroupVersionKind) (Decision, error) {
	client, err := r.getter.ToDiscoveryClient()
	if err != nil {
		return Decision{}, err
	}
	d := discovery{ctx: r.ctx, api: client.RESTClient()}
	groups := map[string]Group{}
	for _, name := range GroupsOf(gvk.GroupKind()) {
		if groups[name], err = d.group(name); err != nil {
			return Decision{}, fmt.Errorf("discovery of API group %s: %w", name, err)
		}
	}
	decision := Decide(gvk, groups)
	if decision.State == Gone {
		// CRDs are read last: they are rarely needed, and there may be thousands.
		for name, group := range groups {
			if group.CRDs, err = d.listCRDs(name, group); err != nil {
				return Decision{}, fmt.Errorf("CRDs of API group %s: %w", name, err)
			}
			groups[name] = group
		}
		decision = Decide(gvk, groups)
	}
	if decision.State == Unknown {
		err = &apiretry.UnavailableError{API: gvk.GroupVersion().String(), Why: decision.Failure}
	}
	return decision, err
}
