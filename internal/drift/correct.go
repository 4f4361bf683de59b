// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/release"
)

// Correct makes objects what the revision has them be again, each by one request,
// and goes on where one cannot be corrected. It returns those it dealt with and
// those of them that are not as they should be now. What was removed comes first,
// kind by kind in the order in which the revision has them. An object that was
// changed after it was compared is compared once more: nobody's change is
// overwritten unseen. With onlyRemoved, no more than what was removed is put back.
func (d *Detector) Correct(ctx context.Context, look Look, onlyRemoved bool) (corrected []release.DriftedObject, failed []release.ObjectError) {
	m := d.memoryOf(look.Release, look.Revision)
	var changed []*known
	for _, batch := range m.removed() {
		corrected = append(corrected, drifted(batch)...)
		failed = append(failed, d.correctAll(ctx, batch, look)...)
	}
	for _, k := range m.objects {
		if k.found != nil && !k.found.removed && !onlyRemoved {
			changed = append(changed, k)
		}
	}
	if len(changed) > 0 {
		corrected = append(corrected, drifted(changed)...)
		failed = append(failed, d.correctAll(ctx, changed, look)...)
		m.fuse.spend(d.now())
	}
	return corrected, failed
}

// removed returns the objects that are to be created, cut where the kind changes.
func (m *memory) removed() [][]*known {
	var batches [][]*known
	var last *known
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

func drifted(all []*known) []release.DriftedObject {
	list := make([]release.DriftedObject, len(all))
	for i, k := range all {
		list[i] = release.DriftedObject{Object: k.object, Removed: k.found.removed, Fields: k.found.fields}
	}
	return list
}

func (d *Detector) correctAll(ctx context.Context, all []*known, look Look) []release.ObjectError {
	errs := make([]string, len(all))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, k := range all {
		group.Go(func() error {
			errs[i] = k.correct(ctx, look, d.now)
			return nil
		})
	}
	_ = group.Wait()
	var failed []release.ObjectError
	for i, k := range all {
		if errs[i] != "" {
			failed = append(failed, release.ObjectError{Object: k.object, Err: errs[i]})
		}
	}
	return failed
}

// correct corrects one object and returns what went wrong.
func (k *known) correct(ctx context.Context, look Look, now func() time.Time) string {
	server := server{ctx: ctx, info: k.found.info, redact: look.Redact}
	var answer *unstructured.Unstructured
	correct := func() (err error) {
		answer, err = server.correct(k.found)
		return err
	}
	err := look.Retrier.Do(ctx, correct)
	if overtaken(err, k.found) {
		if k.lookAt(ctx, k.found.info, look, now()); k.found == nil {
			return k.err
		}
		err = look.Retrier.Do(ctx, correct)
	}
	if err != nil {
		return server.explain(err)
	}
	k.seen(k.found.body, answer, now())
	return ""
}

// overtaken reports whether an object was changed since it was looked at. To a patch
// that tests the version, the API server says that it is invalid.
func overtaken(err error, f *finding) bool {
	return apierrors.IsConflict(err) || f.patch != nil && apierrors.IsInvalid(err) && strings.Contains(err.Error(), "testing value /metadata/resourceVersion failed")
}

// seen notes that an object was applied. If it is not what was sent, it is compared
// before it counts as what it should be.
func (k *known) seen(sent, answer *unstructured.Unstructured, now time.Time) {
	*k = known{place: k.place, object: k.object, looked: now, ceded: k.ceded}
	if Contains(answer.Object, sent.Object) {
		k.uid, k.version = string(answer.GetUID()), answer.GetResourceVersion()
	}
}

// fuse bounds how often a release is corrected: a few times at once, then once in a
// while. Otherwise two controllers that disagree would go on for ever, as fast as
// they can. Its zero value is ready for use.
type fuse struct {
	spent []time.Time
}

const (
	// burst corrections are made as they come; each of them counts for recovery.
	burst    = 5
	recovery = 5 * time.Minute
)

// wait returns how long nothing is to be corrected.
func (f *fuse) wait(now time.Time) time.Duration {
	f.spent = slices.DeleteFunc(f.spent, func(t time.Time) bool { return now.Sub(t) >= recovery })
	if len(f.spent) < burst {
		return 0
	}
	return f.spent[len(f.spent)-burst].Add(recovery).Sub(now)
}

func (f *fuse) spend(now time.Time) { f.spent = append(f.spent, now) }
