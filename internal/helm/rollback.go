// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func (r *run) rollback(job Job, a release.Rollback) error {
	target := job.Desired.Target
	if err := r.rollbackTarget(target, a.Version); err != nil {
		return err
	}
	spec := job.Spec.Rollback
	if spec == nil {
		spec = new(helmv2.Rollback)
	}
	if spec.Recreate { //nolint:staticcheck // this line is all that is left of it
		r.logs.printf("spec.rollback.recreate has no effect")
	}
	r.chooseMethod(spec.GetServerSideApply(), a.Version, spec.Force)
	r.limitRecord()
	u := action.NewRollback(r.config)
	u.Version = a.Version
	u.Timeout = a.Timeout
	u.Wait = !spec.DisableWait
	u.WaitForJobs = !spec.DisableWaitForJobs
	u.DisableHooks = spec.DisableHooks
	u.Force = spec.Force
	u.CleanupOnFail = spec.CleanupOnFail
	u.MaxHistory = job.maxHistory()
	err := u.Run(target.Name)
	if err == nil {
		return nil
	}
	return errors.Join(err, r.failRollback(target.Name, err))
}

// rollbackTarget makes sure that a revision can be returned to. Helm would say
// only that there is none, and would return to one of another namespace.
func (r *run) rollbackTarget(target release.Target, version int) error {
	full := fmt.Sprintf("%s/%s.v%d", target.Namespace, target.Name, version)
	rel, err := r.config.Releases.Get(target.Name, version)
	if err != nil {
		return fmt.Errorf("revision %s to return to: %w", full, err)
	}
	if rel.Name != target.Name || rel.Namespace != target.Namespace {
		return fmt.Errorf("revision %s to return to belongs to release %s/%s", full, rel.Namespace, rel.Name)
	}
	return nil
}

// failRollback records that the rollback failed, if Helm did not: when a hook
// fails it leaves the new revision pending, and nothing can be done to a release
// in that state.
func (r *run) failRollback(name string, cause error) error {
	for _, rev := range r.store.Revisions() {
		if rev.Status != helmv2.StatusPendingRollback {
			continue
		}
		rel, err := r.config.Releases.Get(name, rev.Version)
		if err != nil {
			return err
		}
		rel.SetStatus(helmrelease.StatusFailed, fmt.Sprintf("Rollback %q failed: %s", name, cause))
		if err := r.config.Releases.Update(rel); err != nil {
			return err
		}
	}
	return nil
}
