// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"sync"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/view/sources"
)

const (
	// listAge is how long a list of sources serves all users.
	listAge = 15 * time.Second
	// listTimeout limits a list request.
	listTimeout = 10 * time.Second
	// listPage is the number of objects of one answer, and maxListed that of all that are read.
	listPage, maxListed = 500, 10_000
)

// Lists are the sources of the kinds that the controller does not keep. They are listed on demand,
// once for all users, and cached briefly. It is safe for concurrent use.
type Lists struct {
	live client.Reader
	// namespace is the only one that is listed; empty is all.
	namespace string
	now       func() time.Time

	mu    sync.Mutex
	kinds map[string]*listed
}

// listed is the latest list of a kind. The mutex is held during a request, so that there is one at a
// time.
type listed struct {
	mu  sync.Mutex
	at  time.Time
	all []sources.Source
	err error
}

// NewLists returns Lists. They read with the identity of the controller, in one namespace or in all.
func NewLists(live client.Reader, namespace string, now func() time.Time) *Lists {
	return &Lists{live: live, namespace: namespace, now: now, kinds: map[string]*listed{}}
}

// get returns the objects of a kind. They must not be changed.
func (l *Lists) get(ctx context.Context, k sourceKind) ([]sources.Source, error) {
	l.mu.Lock()
	kind := l.kinds[k.kind]
	if kind == nil {
		kind = &listed{}
		l.kinds[k.kind] = kind
	}
	l.mu.Unlock()
	kind.mu.Lock()
	defer kind.mu.Unlock()
	if now := l.now(); kind.at.IsZero() || now.Sub(kind.at) >= listAge {
		// The answer is for other users too, who may wait for it after this one is gone.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
		defer cancel()
		kind.all, kind.err = l.list(ctx, k)
		kind.at = now
	}
	return kind.all, kind.err
}

// list lists the objects of a kind in pages.
func (l *Lists) list(ctx context.Context, k sourceKind) ([]sources.Source, error) {
	var all []sources.Source
	options := &client.ListOptions{Namespace: l.namespace, Limit: listPage}
	for {
		found, next, err := k.list(ctx, l.live, options)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if options.Continue = next; next == "" || len(all) >= maxListed {
			return all, nil
		}
	}
}

// sourceOf returns the part of a source that all kinds have.
func sourceOf(kind string, meta *metav1.ObjectMeta, suspended bool, artifact *fluxmeta.Artifact, conditions []metav1.Condition, observed int64) sources.Source {
	s := sources.Source{
		Ref:       sources.Ref{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		Suspended: suspended, Generation: meta.Generation, Observed: observed, Conditions: conditions,
	}
	if artifact != nil {
		s.Revision = artifact.Revision
	}
	return s
}

func helmCharts(list *sourcev1.HelmChartList) (all []sources.Source) {
	for _, o := range list.Items {
		s := sourceOf(sourcev1.HelmChartKind, &o.ObjectMeta, o.Spec.Suspend, o.Status.Artifact, o.Status.Conditions, o.Status.ObservedGeneration)
		s.Of = sources.Ref{Kind: o.Spec.SourceRef.Kind, Namespace: o.Namespace, Name: o.Spec.SourceRef.Name}
		all = append(all, s)
	}
	return all
}

func ociRepositories(list *sourcev1.OCIRepositoryList) (all []sources.Source) {
	for _, o := range list.Items {
		all = append(all, sourceOf(sourcev1.OCIRepositoryKind, &o.ObjectMeta, o.Spec.Suspend, o.Status.Artifact, o.Status.Conditions, o.Status.ObservedGeneration))
	}
	return all
}

func helmRepositories(list *sourcev1.HelmRepositoryList) (all []sources.Source) {
	for _, o := range list.Items {
		s := sourceOf(sourcev1.HelmRepositoryKind, &o.ObjectMeta, o.Spec.Suspend, o.Status.Artifact, o.Status.Conditions, o.Status.ObservedGeneration)
		s.Static = o.Spec.Type == sourcev1.HelmRepositoryTypeOCI
		all = append(all, s)
	}
	return all
}

func gitRepositories(list *sourcev1.GitRepositoryList) (all []sources.Source) {
	for _, o := range list.Items {
		all = append(all, sourceOf(sourcev1.GitRepositoryKind, &o.ObjectMeta, o.Spec.Suspend, o.Status.Artifact, o.Status.Conditions, o.Status.ObservedGeneration))
	}
	return all
}

func buckets(list *sourcev1.BucketList) (all []sources.Source) {
	for _, o := range list.Items {
		all = append(all, sourceOf(sourcev1.BucketKind, &o.ObjectMeta, o.Spec.Suspend, o.Status.Artifact, o.Status.Conditions, o.Status.ObservedGeneration))
	}
	return all
}
