// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/expression"
	"github.com/pintle-dev/pintle/internal/release"
)

// errCancelled ends a wait whose action is no longer wanted.
var errCancelled = errors.New("the wait was cancelled")

// manner is how a client waits for the objects and the hooks of an action.
type manner struct {
	// legacy is true if objects are judged as Helm 3 does.
	legacy bool
	// checks are the user's rules for objects, hookChecks those for hooks.
	checks, hookChecks *expression.Checks
	// applied is called when all objects have been applied.
	applied func() error
}

// manner returns how a job waits. The user's rules count only where the action
// waits for its objects, and for hooks too then, but not for tests. Rules that
// cannot be read do not keep a release from being removed.
func (j *Job) manner(store *recorder) (manner, error) {
	hr := helmv2.HelmRelease{Spec: j.Spec}
	m := manner{legacy: hr.GetWaitStrategy(j.Defaults) == helmv2.WaitLegacy, applied: store.stampApplied}
	if m.legacy {
		return m, nil
	}
	checks, err := expression.CompileChecks(j.Spec.HealthCheckExprs)
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
	case release.Heal, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	m.checks = checks
	if waits {
		m.hookChecks = checks
	}
	return m, err
}

// Wait waits until all objects are ready. A Job counts once it has started.
func (c *client) Wait(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, false)
}

// WaitWithJobs waits until all objects are ready and all Jobs have completed.
func (c *client) WaitWithJobs(list kube.ResourceList, timeout time.Duration) error {
	return c.waitApplied(list, timeout, true)
}

// waitApplied waits for the objects of a revision. That it was called means that
// they all have been applied. Whether that could be recorded decides only whether
// the revision can be healed later.
func (c *client) waitApplied(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if err := c.manner.applied(); err != nil {
		c.Log("record that the objects have been applied: %s", err)
	}
	return c.waitReady(list, timeout, jobs)
}

// waitReady waits for objects as the spec wants it, and gives up when something
// else is wanted.
func (c *client) waitReady(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	w, err := c.watch(jobs)
	if err != nil {
		return err
	}
	w.yields = true
	return c.wait(list, timeout, w)
}

// WatchUntilReady waits for hooks: Jobs and Pods have to run to their end,
// anything else is ready once it exists. A Job whose Pods fail gets all its time,
// since it is going to try again; one that has failed for good ends the wait.
func (c *client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, poller(checked(c.manner.hookChecks, hookDone)))
}

// WaitForDelete waits until all objects are gone.
func (c *client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	return c.wait(list, timeout, poller(gone))
}

// watch is one way to wait.
type watch struct {
	see func(info *resource.Info) (*status.Result, error)
	// pace says how long to wait until the next look.
	pace func(waited time.Duration) time.Duration
	// yields is true if the wait ends when something else is wanted by now.
	yields bool
}

// watch returns how to wait for objects, whose Jobs have to complete or not.
func (c *client) watch(jobs bool) (watch, error) {
	if c.manner.legacy {
		return c.legacy(jobs)
	}
	if jobs {
		return poller(checked(c.manner.checks, readyWithJobs)), nil
	}
	return poller(checked(c.manner.checks, ready)), nil
}

func poller(judge look) watch {
	return watch{pace: pollEvery, see: func(info *resource.Info) (*status.Result, error) { return inspect(info, judge) }}
}

// wait looks at every object until each has been judged current once. Objects
// that will certainly never get there end it early.
func (c *client) wait(list kube.ResourceList, timeout time.Duration, w watch) error {
	if c.idle != nil {
		resume := c.idle()
		defer resume()
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	pending, cancelled := list, c.ctx.Done()
	var waited time.Duration
	for {
		var reasons, failures []string
		pending, reasons, failures = survey(pending, w.see)
		if len(pending) == 0 {
			return nil
		}
		if len(failures) > 0 {
			return fmt.Errorf("failed early due to stalled resources: [%s]", strings.Join(failures, ", "))
		}
		pause := w.pace(waited)
		select {
		case <-time.After(pause):
			waited += pause
		case <-cancelled:
			superseded := errors.Is(context.Cause(c.ctx), release.ErrSuperseded)
			if superseded && w.yields {
				return fmt.Errorf("%w: %w", errCancelled, release.ErrSuperseded)
			}
			if !superseded {
				return errCancelled
			}
			// A hook is not left halfway for that.
			cancelled = nil
		case <-deadline.C:
			return fmt.Errorf("timeout waiting for: [%s]", strings.Join(reasons, ", "))
		}
	}
}

// survey looks once at each object and returns those that are not ready, with
// the reasons, and separately of those that will certainly never be.
func survey(list kube.ResourceList, see func(*resource.Info) (*status.Result, error)) (pending kube.ResourceList, reasons, failures []string) {
	for _, info := range list {
		result, err := see(info)
		switch {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("%s: %s", subject(info), err))
		case result.Status == status.CurrentStatus:
			continue
		case result.Status == status.FailedStatus:
			failures = append(failures, describe(info, result))
		default:
			reasons = append(reasons, describe(info, result))
		}
		pending = append(pending, info)
	}
	return pending, reasons, failures
}

func inspect(info *resource.Info, judge look) (*status.Result, error) {
	object, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		if expires(info.Object) {
			return current(), nil
		}
		return judge(nil)
	}
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return judge(&unstructured.Unstructured{Object: content})
}

// expires reports whether an object is a Job that the cluster removes once it
// has ended, which may be between two looks: if it is gone it has ended.
func expires(object runtime.Object) bool {
	u, ok := object.(*unstructured.Unstructured)
	if !ok || u.GetKind() != "Job" {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "ttlSecondsAfterFinished")
	return found
}

func subject(info *resource.Info) string {
	return fmt.Sprintf("%s/%s/%s", info.Mapping.GroupVersionKind.Kind, info.Namespace, info.Name)
}

func describe(info *resource.Info, r *status.Result) string {
	return fmt.Sprintf("%s status: '%s': %s", subject(info), r.Status, strings.TrimSpace(r.Message))
}
