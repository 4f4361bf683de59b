// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
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
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// errCancelled ends a wait whose action is no longer wanted.
var errCancelled = errors.New("the wait was cancelled")

// manner is how a client waits for the objects and the hooks of an action.
type manner struct {
	// legacy is true if objects are judged as Helm 3 does.
	legacy bool
	// checks are the user's rules for objects, hookChecks those for hooks.
	checks, hookChecks *cel.ReadinessChecks
	// applied is called when all objects have been applied: what is stored of the
	// revision from now on says so. stamp stores just that, and is called if it
	// takes time until anything else is stored.
	applied func()
	stamp   func() error
}

// manner returns how a job waits. The user's rules count only where the action
// waits for its objects, and for hooks too then, but not for tests. Rules that
// cannot be read do not keep a release from being removed.
func (j *Job) manner(store *storage.Driver) (manner, error) {
	hr := helmv2.HelmRelease{Spec: j.Spec}
	m := manner{legacy: hr.GetWaitStrategy(j.Defaults) == helmv2.WaitLegacy, applied: store.SetApplied, stamp: store.StoreApplied}
	if m.legacy {
		return m, nil
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
	c.manner.applied()
	return c.waitReady(list, timeout, jobs, func() {
		if err := c.manner.stamp(); err != nil {
			c.Log("record that the objects have been applied: %s", err)
		}
	})
}

// waitReady waits for objects as the spec wants it, and gives up when something
// else is wanted. If late is not nil it is called once, should the wait be a long
// one.
func (c *client) waitReady(list kube.ResourceList, timeout time.Duration, jobs bool, late func()) error {
	w, err := c.watch(jobs)
	if err != nil {
		return err
	}
	w.yields, w.late, w.explained = true, late, true
	return c.wait(list, timeout, w)
}

// WatchUntilReady waits for hooks: Jobs and Pods have to run to their end,
// anything else is ready once it exists. A Job whose Pods fail gets all its time,
// since it is going to try again; one that has failed for good ends the wait.
func (c *client) WatchUntilReady(list kube.ResourceList, timeout time.Duration) error {
	w := poller(checked(c.manner.hookChecks, hookDone))
	w.target, w.lost = true, &status.Result{Status: status.FailedStatus, Message: "was deleted before it was seen to complete"}
	if w.explained = c.inquest.on(); w.explained {
		w.role = c.inquest.role
	}
	err := c.wait(list, timeout, w)
	if err != nil && w.explained {
		c.inquest.hookFailed = true
	}
	return err
}

// WaitForDelete waits until all objects are gone. An object that another one of the same
// name has replaced is gone.
func (c *client) WaitForDelete(list kube.ResourceList, timeout time.Duration) error {
	w := poller(gone)
	w.target = true
	return c.wait(list, timeout, w)
}

// watch is one way to wait.
type watch struct {
	// judge returns the verdict on a live object; nil if the verdict takes other requests,
	// which see sends. Both may be called for several objects at a time.
	judge look
	see   func(info *resource.Info) (*status.Result, error)
	// target is true if the wait is about the object that was written or deleted before, and
	// not about another one of the same name.
	target bool
	// lost, if set, is the verdict on a target that is gone.
	lost *status.Result
	// pace says how long to wait until the next look.
	pace func(waited time.Duration) time.Duration
	// yields is true if the wait ends when something else is wanted by now.
	yields bool
	// explained is true if somebody wants to know why the wait failed, and role is what
	// its objects are to the release.
	explained bool
	role      release.Role
	// late, if set, is called once the wait has lasted for lateAfter.
	late func()
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
	return watch{pace: pollEvery, judge: judge}
}

// survey looks once at each object and returns those that are not ready, with
// the reasons, and separately of those that will certainly never be.
func survey(list kube.ResourceList, w watch) (pending kube.ResourceList, reasons, failures []string) {
	all := opinions(list)
	eachOf(all, func(o *opinion) { o.look(w) })
	for _, o := range all {
		if !o.current() {
			pending = append(pending, o.info)
		}
	}
	reasons, failures = said(all)
	return pending, reasons, failures
}

// read asks the API server for an object. It returns nil if there is none.
func read(info *resource.Info) (*unstructured.Unstructured, error) {
	answer, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, err
	}
	object, ok := answer.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server answered with %T", answer)
	}
	return object, nil
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
