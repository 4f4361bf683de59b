// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// eventTest is the event of hooks that are tests.
const eventTest = "test"

// verification is whether hooks may be taken from a stored revision.
type verification struct {
	ok bool
	// release contains the hooks that may be taken.
	release *hookjob.Release
	// obstacle may pass, refused does not.
	obstacle, refused *operation.Problem
}

// verify returns whether hooks may be taken from a stored revision: its record must agree with
// status.history, or else any image could be run by writing into a Secret. If the digest does not
// cover tests, the tests are not among the hooks.
func (o *observer) verify(ctx context.Context, rec reconciliation, stored helm.Stored) (verification, error) {
	trusted := verification{ok: true, release: stored.Release}
	if stored.Release == nil {
		return trusted, nil
	}
	history, version := rec.hr.Status.History, stored.Labelled.Version
	problem := func(format string) *operation.Problem {
		where := fmt.Sprintf("status.history of HelmRelease %s", client.ObjectKeyFromObject(rec.hr))
		return &operation.Problem{Reason: opsv1alpha1.ReasonRecordNotVerified, Message: fmt.Sprintf(format, version, where)}
	}
	const mends = "; hooks can be run again after the next upgrade by the HelmRelease"
	var refused *operation.Problem
	switch release.TrustOf(history, &stored.Labelled, &stored.Revision) {
	case release.VerifiedInFull:
		return trusted, nil
	case release.VerifiedWithoutTests:
		if !wantsTest(stored.Release, rec.op.Spec.Parameters) {
			covered := *stored.Release
			covered.Hooks = slices.DeleteFunc(slices.Clone(covered.Hooks), isTest)
			trusted.release = &covered
			return trusted, nil
		}
		refused = problem("the digest of revision %d in %s was made by helm-controller and does not cover tests" + mends)
	case release.Unrecorded:
		if release.MayBeRecorded(history, version) {
			return verification{obstacle: problem("revision %d is not in %s yet, so that its record cannot be verified")}, nil
		}
		refused = problem("revision %d is not in %s any more, so that its record cannot be verified")
	case release.Unverifiable:
		refused = problem("the digest of revision %d in %s is not one that can be verified here" + mends)
	case release.Altered:
		refused = problem("the record of revision %d does not agree with its digest in %s: another client changed it" + mends)
	}
	if err := o.upToDate(ctx, rec); err != nil {
		return verification{}, err
	}
	return verification{refused: refused}, nil
}

// upToDate returns errStale if the HelmRelease was changed since it was read from the cache: an
// Operation must not fail for good because of an outdated history.
func (o *observer) upToDate(ctx context.Context, rec reconciliation) error {
	live := &helmv2.HelmRelease{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(rec.hr), live); err != nil {
		return err
	}
	if live.ResourceVersion != rec.hr.ResourceVersion {
		return errStale
	}
	return nil
}

// wantsTest reports whether an Operation requests a test.
func wantsTest(rls *hookjob.Release, p *opsv1alpha1.Parameters) bool {
	if p == nil {
		return false
	}
	return string(p.Event) == eventTest ||
		slices.ContainsFunc(rls.Hooks, func(h hookjob.Hook) bool { return h.Name == p.HookName && p.HookName != "" && isTest(h) })
}

func isTest(h hookjob.Hook) bool { return slices.Contains(h.Events, eventTest) }
