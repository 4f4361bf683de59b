// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// waitTimeout is how long an Operation that stops renewing its wait keeps Helm waiting.
const waitTimeout = 2 * time.Minute

// Locks keeps Operations and Helm's actions on the same HelmRelease apart. An annotation of the
// HelmRelease names the Operation that holds it. Operations that wait for the lock are queued in
// memory, so that no other Helm action starts before them. Nil has no Operations.
type Locks struct {
	cached client.Reader
	live   client.Reader
	// served is true once the cache holds Operations, which need not be ever.
	served atomic.Bool

	mu      sync.Mutex
	waiting map[types.UID]operationWait
}

// operationWait is an Operation that waits for a HelmRelease.
type operationWait struct {
	release types.NamespacedName
	name    string
	since   time.Time
}

// NewLocks returns Locks. cached is read only after Served.
func NewLocks(cached, live client.Reader) *Locks {
	return &Locks{cached: cached, live: live}
}

// UseCache makes Locks read Operations from the cache, which holds them from now on.
func (l *Locks) UseCache() { l.served.Store(true) }

// Observe sets the Operations that Helm must wait for in have.
func (l *Locks) Observe(ctx context.Context, hr *helmv2.HelmRelease, now time.Time, have *release.Observed) error {
	if l == nil {
		return nil
	}
	have.WaitingOperation = l.next(client.ObjectKeyFromObject(hr), now)
	uid := hr.Annotations[opsv1alpha1.AnnotationHolder]
	if uid == "" {
		return nil
	}
	name, living, err := l.Operation(ctx, hr.Namespace, uid)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine who holds the release")
	}
	if living {
		have.LockHolder = &release.Operation{Name: name}
	}
	return nil
}

// Operation returns the name of the Operation with a UID, and whether something is left to do
// for it. If it is not in the cache, it is read from the API server: an Operation that was
// created a moment ago may hold a lock already.
func (l *Locks) Operation(ctx context.Context, namespace, uid string) (name string, living bool, err error) {
	var list opsv1alpha1.OperationList
	if l.served.Load() {
		if err := l.cached.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{IndexUID: uid}); err != nil {
			return "", false, err
		}
	}
	if len(list.Items) == 0 {
		err := l.live.List(ctx, &list, client.InNamespace(namespace))
		if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			// The CRD of Operations is not installed.
			return "", false, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("list Operations: %w", err)
		}
	}
	for i := range list.Items {
		if o := &list.Items[i]; string(o.UID) == uid {
			return o.Name, !IsOver(o), nil
		}
	}
	return "", false, nil
}

// Skipping returns the Operations that may make an upgrade of a HelmRelease leave out a hook, as the API
// server has them: the cache may not have the result of an Operation that has unlocked the release. An
// Operation that has succeeded counts only while SkipGuard checks who creates it: other clients may write
// its status. No request is sent if the cache has none.
func (l *Locks) Skipping(ctx context.Context, hr *helmv2.HelmRelease) ([]opsv1alpha1.Operation, error) {
	if l == nil {
		return nil, nil
	}
	read, options := l.live, []client.ListOption{client.InNamespace(hr.Namespace)}
	if l.served.Load() {
		read, options = l.cached, append(options, client.MatchingFields{IndexSkips: hr.Name})
	}
	var list opsv1alpha1.OperationList
	if err := read.List(ctx, &list, options...); apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		// The CRD of Operations is not installed.
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list Operations: %w", err)
	}
	var all []opsv1alpha1.Operation
	for i := range list.Items {
		op := &list.Items[i]
		if !operation.MaySkip(op, hr) {
			continue
		}
		if read == l.cached {
			err := l.live.Get(ctx, client.ObjectKeyFromObject(op), op)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read Operation %s: %w", op.Name, err)
			}
		}
		if op.Status.Phase == opsv1alpha1.PhaseSucceeded {
			gap, err := SkipGuard().Gap(ctx, l.live, op.CreationTimestamp)
			if err != nil {
				return nil, fmt.Errorf("read the admission policy of Operation %s: %w", op.Name, err)
			}
			if gap != "" {
				ctrl.LoggerFrom(ctx).Info("the upgrade does not leave out the hook of an Operation", "operation", op.Name, "cause", gap)
				continue
			}
		}
		all = append(all, *op)
	}
	return all, nil
}

// Wait queues an Operation for the lock of a HelmRelease, or renews its wait.
func (l *Locks) Wait(uid types.UID, name string, hr types.NamespacedName, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[types.UID]operationWait{}
	}
	l.waiting[uid] = operationWait{release: hr, name: name, since: now}
}

// Leave removes an Operation from the queue, and returns the HelmRelease that it waited for.
func (l *Locks) Leave(uid types.UID) (hr types.NamespacedName, waited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, waited := l.waiting[uid]
	delete(l.waiting, uid)
	return was.release, waited
}

// next returns an Operation that waits for a HelmRelease; nil if none does.
func (l *Locks) next(hr types.NamespacedName, now time.Time) *release.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first *operationWait
	for _, w := range l.waiting {
		if w.release == hr && now.Sub(w.since) < waitTimeout && (first == nil || w.name < first.name) {
			first = &w
		}
	}
	if first == nil {
		return nil
	}
	return &release.Operation{Name: first.name}
}
