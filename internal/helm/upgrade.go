// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func (r *run) upgrade(ctx context.Context, job Job, a release.Upgrade) error {
	c, err := r.load(ctx, job)
	if err != nil {
		return err
	}
	renderer, err := r.postRenderer(job)
	if err != nil {
		return err
	}
	spec := job.Spec.Upgrade
	if spec == nil {
		spec = new(upgradeSpec)
	}
	values := job.Values
	if spec.PreserveValues {
		if values, err = r.preserve(job.Desired.Target.Name, c, values); err != nil {
			return err
		}
	}
	r.limitRecord()
	if err := r.precheckSize(ctx, job, c, precheck{policy: spec.GetCRDs(), values: values, mode: spec.GetServerSideApply(), timeout: a.Timeout}); err != nil {
		return err
	}
	plan := crdPlan{policy: spec.GetCRDs(), timeout: a.Timeout, serverSide: func() (bool, error) {
		return r.upgradesServerSide(job, spec.GetServerSideApply())
	}}
	if err := r.applyCRDs(c, values, plan); err != nil {
		return err
	}
	if err := r.discover(); err != nil {
		return err
	}
	r.chooseMethod(spec.GetServerSideApply(), 0, spec.Force)
	r.lookFor(func() bool {
		return !spec.DisableTakeOwnership && !spec.DisableOpenAPIValidation &&
			r.appliesServerSide(spec.GetServerSideApply(), r.gate.newest)
	})
	r.leaveOthers()
	if !spec.DisableOpenAPIValidation {
		r.checkBefore(helmrelease.HookPreUpgrade, spec.DisableHooks)
	}
	u := action.NewUpgrade(r.config)
	u.Namespace, u.Timeout = job.Desired.Target.Namespace, a.Timeout
	u.MaxHistory = job.maxHistory()
	u.TakeOwnership = !spec.DisableTakeOwnership
	u.Wait = !spec.DisableWait
	u.WaitForJobs = !spec.DisableWaitForJobs
	u.DisableHooks = spec.DisableHooks
	u.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
	u.SkipSchemaValidation = spec.DisableSchemaValidation
	u.Force = spec.Force
	u.CleanupOnFail = spec.CleanupOnFail
	// Values that are kept are among them by now.
	u.PostRenderer = renderer
	u.ResetValues = true
	u.EnableDNS = job.AllowDNS
	u.Devel = true
	u.SkipCRDs = true
	return r.admitted(r.sandboxed(ctx, job, c, a.Timeout, spec.DisableSchemaValidation, func() error {
		_, err := u.Run(job.Desired.Target.Name, c, values)
		return err
	}))
}

// upgradesServerSide tells how an upgrade is going to apply, before Helm has read
// anything.
func (r *run) upgradesServerSide(job Job, mode helmv2.ServerSideApplyMode) (bool, error) {
	version := 0
	if mode == helmv2.ServerSideApplyAuto {
		last, err := r.config.Releases.Last(job.Desired.Target.Name)
		if err != nil {
			return false, err
		}
		version = last.Version
	}
	return r.appliesServerSide(mode, version), nil
}
