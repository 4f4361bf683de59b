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

// verify reports whether hooks may be taken from a stored revision: its record has to agree
// with status.history, or else any image could be run by writing into a Secret. It notes
// what is in the way. Of a revision whose tests are not covered, it removes the tests.
func (o *observer) verify(ctx context.Context, v *view, stored *helm.Stored) (bool, error) {
	if stored.Release == nil {
		return true, nil
	}
	history, version := v.hr.Status.History, stored.Labelled.Version
	problem := func(format string) *operation.Problem {
		where := fmt.Sprintf("status.history of HelmRelease %s", client.ObjectKeyFromObject(v.hr))
		return &operation.Problem{Reason: opsv1alpha1.ReasonRecordNotVerified, Message: fmt.Sprintf(format, version, where)}
	}
	const mends = "; hooks can be run again after the next upgrade by the HelmRelease"
	var refused *operation.Problem
	switch release.TrustOf(history, &stored.Labelled, &stored.Revision) {
	case release.VerifiedInFull:
		return true, nil
	case release.VerifiedWithoutTests:
		if !wantsTest(stored.Release, v.op.Spec.Parameters) {
			stored.Release.Hooks = slices.DeleteFunc(stored.Release.Hooks, isTest)
			return true, nil
		}
		refused = problem("the digest of revision %d in %s was made by helm-controller and does not cover tests" + mends)
	case release.Unrecorded:
		if release.MayBeRecorded(history, version) {
			v.in.Obstacle = problem("revision %d is not in %s yet, so that its record cannot be verified")
			return false, nil
		}
		refused = problem("revision %d is not in %s any more, so that its record cannot be verified")
	case release.Unverifiable:
		refused = problem("the digest of revision %d in %s is not one that can be verified here" + mends)
	case release.Altered:
		refused = problem("the record of revision %d does not agree with its digest in %s: somebody else changed it" + mends)
	}
	if err := o.upToDate(ctx, v); err != nil {
		return false, err
	}
	v.in.Plan.Refused = refused
	return false, nil
}

// upToDate returns errStale if the HelmRelease was changed since it was read from the cache:
// no Operation fails for good because of a history that is outdated.
func (o *observer) upToDate(ctx context.Context, v *view) error {
	live := &helmv2.HelmRelease{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(v.hr), live); err != nil {
		return err
	}
	if live.ResourceVersion != v.hr.ResourceVersion {
		return errStale
	}
	return nil
}

// wantsTest reports whether an Operation asks for a test.
func wantsTest(rls *hookjob.Release, p *opsv1alpha1.Parameters) bool {
	if p == nil {
		return false
	}
	return string(p.Event) == eventTest ||
		slices.ContainsFunc(rls.Hooks, func(h hookjob.Hook) bool { return h.Name == p.HookName && p.HookName != "" && isTest(h) })
}

func isTest(h hookjob.Hook) bool { return slices.Contains(h.Events, eventTest) }
