// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/release"
)

// Correct restores the objects of the revision, each by one request, and continues after a failed
// one. It returns the objects that it tried to correct and the errors of those that failed. Removed
// objects are created first, kind by kind in the order of the revision. With onlyRemoved, no other
// object is corrected. An object that was changed after its comparison is compared again, so that
// no unseen change is overwritten.
func (d *Detector) Correct(ctx context.Context, request Request, onlyRemoved bool) (corrected []release.DriftedObject, failed []release.ObjectError) {
	m := d.stateOf(request.Release, request.Revision)
	request.autoscalers = &autoscalers{}
	var changed []*objectState
	for _, batch := range m.removedBatches() {
		corrected = append(corrected, driftedObjects(batch)...)
		failed = append(failed, d.correctAll(ctx, batch, request)...)
	}
	for _, k := range m.objects {
		if k.found != nil && !k.found.removed && !onlyRemoved {
			changed = append(changed, k)
		}
	}
	if len(changed) > 0 {
		corrected = append(corrected, driftedObjects(changed)...)
		failed = append(failed, d.correctAll(ctx, changed, request)...)
		m.limit.spend(d.now())
	}
	return corrected, failed
}

// removedBatches returns the objects to create, in batches of consecutive objects of one kind.
func (m *releaseState) removedBatches() [][]*objectState {
	var batches [][]*objectState
	var last *objectState
	for _, k := range m.objects {
		if k.found == nil || !k.found.removed {
			continue
		}
		if last == nil || last.resource.GroupResource() != k.resource.GroupResource() {
			batches = append(batches, nil)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], k)
		last = k
	}
	return batches
}

func driftedObjects(all []*objectState) []release.DriftedObject {
	list := make([]release.DriftedObject, len(all))
	for i, k := range all {
		list[i] = release.DriftedObject{Object: k.object, Removed: k.found.removed, Fields: k.found.fields}
	}
	return list
}

func (d *Detector) correctAll(ctx context.Context, all []*objectState, request Request) []release.ObjectError {
	why := make([]string, len(all))
	errs := parallel.Do(ctx, len(all), concurrency, func(i int) error {
		why[i] = all[i].correct(ctx, request, d.now)
		return nil
	})
	var failed []release.ObjectError
	for i, k := range all {
		if errs[i] != nil {
			why[i] = errs[i].Error()
			k.setPanic(errs[i])
		}
		if why[i] != "" {
			failed = append(failed, release.ObjectError{Object: k.object, Err: why[i]})
		}
	}
	return failed
}

// correct corrects one object and returns the error message, empty on success.
func (k *objectState) correct(ctx context.Context, request Request, now func() time.Time) string {
	server := server{ctx: ctx, info: k.found.info, redact: request.Redact}
	var answer *unstructured.Unstructured
	correct := func() (err error) {
		answer, err = server.correct(k.found)
		return err
	}
	err := request.Retrier.Do(ctx, correct)
	if changedMeanwhile(err, k.found) {
		if k.refresh(ctx, k.found.info, request, now()); k.found == nil {
			return k.err
		}
		err = request.Retrier.Do(ctx, correct)
	}
	if err != nil {
		return server.explain(err)
	}
	k.recordApply(k.found.body, answer, now())
	return ""
}

// changedMeanwhile reports whether an object was changed after its comparison. For a JSON patch
// that tests the resourceVersion, the API server returns Invalid instead of Conflict.
func changedMeanwhile(err error, f *finding) bool {
	return apierrors.IsConflict(err) || f.patch != nil && apiretry.PatchMismatch(apiretry.AnswerOf(err))
}

// recordApply records that an object was applied. If the answer differs from the applied object,
// the next detection compares it again.
func (k *objectState) recordApply(sent, answer *unstructured.Unstructured, now time.Time) {
	*k = objectState{objectKey: k.objectKey, object: k.object, comparedAt: now, ceded: k.ceded, scaling: k.scaling}
	if Contains(answer.Object, sent.Object) {
		k.uid, k.version = string(answer.GetUID()), answer.GetResourceVersion()
	}
}

// correctionLimit limits how often a release is corrected: a burst at once, then one correction per
// recovery period. It keeps two controllers that overwrite each other from looping without end. Its
// zero value is ready for use.
type correctionLimit struct {
	spent []time.Time
}

const (
	// burst is the number of corrections that may follow each other without delay. Each of them
	// counts for the recovery period.
	burst    = 5
	recovery = 5 * time.Minute
)

// wait returns how long no correction may be made; zero if one may be made now.
func (l *correctionLimit) wait(now time.Time) time.Duration {
	l.spent = slices.DeleteFunc(l.spent, func(t time.Time) bool { return now.Sub(t) >= recovery })
	if len(l.spent) < burst {
		return 0
	}
	return l.spent[len(l.spent)-burst].Add(recovery).Sub(now)
}

func (l *correctionLimit) spend(now time.Time) { l.spent = append(l.spent, now) }
