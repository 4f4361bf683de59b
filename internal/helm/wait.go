// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"time"

	"helm.sh/helm/v3/pkg/kube"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// waitOptions returns the readiness checks of a job. The user's checks apply to hooks only if
// the action waits for its objects, and never to tests. Checks that cannot be compiled do not
// prevent the removal of a release.
func (j *Job) waitOptions() (wait.Options, error) {
	hr := helmv2.HelmRelease{Spec: j.Spec}
	o := wait.Options{
		Legacy:   hr.GetWaitStrategy(j.Defaults) == helmv2.WaitLegacy,
		Examiner: j.Examiner, Patient: j.Patient, HookRole: release.RoleHook,
	}
	if _, tests := j.Action.(release.Test); tests {
		o.HookRole = release.RoleTest
	}
	if o.Legacy {
		return o, nil
	}
	checks, err := cel.CompileReadinessChecks(j.Spec.HealthCheckExprs)
	waits := true
	switch j.Action.(type) {
	case release.Install:
		waits = !hr.GetInstall().DisableWait
	case release.Upgrade:
		waits = !hr.GetUpgrade().DisableWait
	case release.Rollback:
		waits = !hr.GetRollback().DisableWait
	case release.Uninstall:
		waits = !hr.GetUninstall().DisableWait
		err = nil
	case release.Unlock:
		err = nil
	case release.Test:
		waits = false
	case release.Recheck, release.CorrectDrift, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	o.Checks = checks
	if waits {
		o.HookChecks = checks
	}
	return o, err
}

// Wait waits until all objects are ready. A Job is ready once it has started.
func (c *client) Wait(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, false)
}

// WaitWithJobs waits until all objects are ready and all Jobs have completed.
func (c *client) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, true)
}

// waitApplied waits for the objects of a revision. Helm calls it when all of them have been
// applied. Whether the label for that could be stored only decides whether the revision can be
// rechecked later.
func (c *client) waitApplied(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	c.setApplied()
	return c.waiter.UntilReady(list, timeout, jobs, func() {
		if err := c.storeApplied(); err != nil {
			c.Log("record that the objects have been applied: %s", err)
		}
	})
}

// WatchUntilReady waits for hooks: Jobs and Pods have to end, other objects have to exist.
func (c *client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	err := c.waiter.UntilDone(list, timeout)
	if err != nil && c.inquest.on() {
		c.inquest.hookFailed = true
	}
	return err
}

// WaitForDelete waits until all objects are gone.
func (c *client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	return c.waiter.UntilDeleted(list, timeout)
}
