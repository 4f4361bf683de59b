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
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// holderIndex finds HelmReleases by the UID of the Operation that they name as
// their holder.
const holderIndex = ".metadata.annotations.holder"

func holderKey(obj client.Object) []string {
	if uid := obj.GetAnnotations()[opsv1alpha1.AnnotationHolder]; uid != "" {
		return []string{uid}
	}
	return nil
}

// holders knows which Operations have, or wait for, a HelmRelease. Nil knows none.
type holders struct {
	// cached holds Operations once they are served, which need not be ever.
	cached client.Reader
	live   client.Reader
	served atomic.Bool
	turns  turns
}

// of returns the Operation with a UID, and whether it lives: exists, and has
// something left to do, be it to tidy up. That the cache does not know it means nothing: what was created a moment
// ago may hold a release already.
func (h *holders) of(ctx context.Context, namespace, uid string) (name string, living bool, err error) {
	var list opsv1alpha1.OperationList
	if h.served.Load() {
		if err := h.cached.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{uidIndex: uid}); err != nil {
			return "", false, err
		}
	}
	if len(list.Items) == 0 {
		err := h.live.List(ctx, &list, client.InNamespace(namespace))
		if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			// There are no Operations at all.
			return "", false, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("list Operations: %w", err)
		}
	}
	for i := range list.Items {
		if o := &list.Items[i]; string(o.UID) == uid {
			return o.Name, !over(o), nil
		}
	}
	return "", false, nil
}

// inTheWay fills in which Operations Helm has to wait for.
func (h *holders) inTheWay(ctx context.Context, hr *helmv2.HelmRelease, now time.Time, have *release.Observed) error {
	if h == nil {
		return nil
	}
	have.WaitingOperation = h.turns.next(client.ObjectKeyFromObject(hr), now)
	uid := hr.Annotations[opsv1alpha1.AnnotationHolder]
	if uid == "" {
		return nil
	}
	name, living, err := h.of(ctx, hr.Namespace, uid)
	if err != nil {
		return release.BlockedBy(helmv2.ReasonStateError, err, "Could not determine who holds the release")
	}
	if living {
		have.LockHolder = &release.Operation{Name: name}
	}
	return nil
}

// turnPatience is how long a turn that nobody renews keeps Helm waiting.
const turnPatience = 2 * time.Minute

// turns are the Operations that wait for Helm to be done with a release. It is
// about fairness only, so that nothing is lost with the process. The zero value is
// ready for use, by any number of goroutines.
type turns struct {
	mu      sync.Mutex
	waiting map[types.UID]turn
}

type turn struct {
	release types.NamespacedName
	name    string
	since   time.Time
}

// wait notes that an Operation waits for a release, or still does.
func (t *turns) wait(uid types.UID, name string, hr types.NamespacedName, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[types.UID]turn{}
	}
	t.waiting[uid] = turn{release: hr, name: name, since: now}
}

// leave notes that an Operation does not wait any more, and returns for what it
// did.
func (t *turns) leave(uid types.UID) (hr types.NamespacedName, waited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, waited := t.waiting[uid]
	delete(t.waiting, uid)
	return was.release, waited
}

// next returns an Operation that waits for a release; nil if none does.
func (t *turns) next(hr types.NamespacedName, now time.Time) *release.Operation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first *turn
	for _, w := range t.waiting {
		if w.release == hr && now.Sub(w.since) < turnPatience && (first == nil || w.name < first.name) {
			first = &w
		}
	}
	if first == nil {
		return nil
	}
	return &release.Operation{Name: first.name}
}
