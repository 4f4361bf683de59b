// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

// ErrCancelled is the error of a wait whose context ended.
var ErrCancelled = errors.New("the wait was cancelled")

// Options configure the waits of one action.
type Options struct {
	// Getter is the connection. Waits with the same connection share watches.
	Getter  genericclioptions.RESTClientGetter
	Watches *Watches
	// Legacy selects the readiness checks of Helm 3. Clients and Log are for them.
	Legacy  bool
	Clients func() (*kubernetes.Clientset, error)
	Log     func(format string, args ...any)
	// Checks are the user's readiness checks for objects, HookChecks those for hooks.
	Checks, HookChecks *cel.ReadinessChecks
	// Idle, if set, is called when a wait has to block. The function that it returns is called
	// before the wait returns, and may block.
	Idle func() (resume func())
	// Examiner, if set, finds the causes of failed waits.
	Examiner Examiner
	// Secrets returns the texts that no diagnosis may contain.
	Secrets func() []string
	// HookRole is the role of hooks in diagnoses.
	HookRole release.Role
	// Patient disables the early end of waits that cannot succeed.
	Patient bool
	Now     func() time.Time
}

// Waiter waits for the objects of one action. Write results may be added concurrently; there is
// one wait at a time.
type Waiter struct {
	Options

	// ctx ends waits. The interfaces of Helm, through which waits are started, pass none.
	ctx context.Context //nolint:containedctx // a Waiter lives as long as one action
	// diagnosis is the cause of the first wait that failed.
	diagnosis *release.Diagnosis

	mu sync.Mutex
	// results are the answers to writes that no wait has used yet.
	results map[*resource.Info]result
}

// New returns a Waiter whose waits end when ctx does.
func New(ctx context.Context, options Options) *Waiter { return &Waiter{Options: options, ctx: ctx} }

// UntilReady waits until all objects are ready; with jobs, until all Jobs have completed. It
// returns early if the action is outdated. If late is not nil, it is called once if the wait
// takes longer than five seconds.
func (w *Waiter) UntilReady(list kube.ResourceList, timeout time.Duration, jobs bool, late func()) error {
	c, err := w.readyCondition(jobs)
	if err != nil {
		return err
	}
	c.endsWhenOutdated, c.late, c.diagnosed = true, late, true
	return w.wait(list, timeout, c)
}

// UntilDone waits for hooks: Jobs and Pods have to end, other objects have to exist. A Job may
// retry its Pods until the timeout; one that has failed for good ends the wait.
func (w *Waiter) UntilDone(list kube.ResourceList, timeout time.Duration) error {
	c := polled(withRules(w.HookChecks, readiness.HookDone))
	c.target, c.lost = true, &status.Result{Status: status.FailedStatus, Message: "was deleted before it was seen to complete"}
	c.diagnosed, c.role = true, w.HookRole
	return w.wait(list, timeout, c)
}

// UntilDeleted waits until all objects are gone. An object that was replaced by another one of
// the same name is gone.
func (w *Waiter) UntilDeleted(list kube.ResourceList, timeout time.Duration) error {
	c := polled(readiness.Gone)
	c.target = true
	return w.wait(list, timeout, c)
}

// UntilEstablished waits until CRDs are established. The user's checks do not apply to them.
func (w *Waiter) UntilEstablished(list kube.ResourceList, timeout time.Duration) error {
	return w.wait(list, timeout, polled(readiness.Ready))
}

// Health reads all objects once and returns whether they are ready, as UntilReady would.
func (w *Waiter) Health(list kube.ResourceList, jobs bool) (release.Health, error) {
	c, err := w.readyCondition(jobs)
	if err != nil {
		return release.Health{}, err
	}
	all := objectsOf(list)
	eachOf(all, func(o *object) { o.read(c) })
	ready := true
	for _, o := range all {
		ready = ready && o.current()
	}
	reasons, failures := reasonsOf(all)
	return release.Health{Ready: ready, Waiting: append(failures, reasons...)}, nil
}

// Diagnosis returns the cause of the first wait that failed, nil if none was found.
func (w *Waiter) Diagnosis() *release.Diagnosis { return w.diagnosis }

// condition is the state that a wait waits for.
type condition struct {
	// check returns the readiness of a live object; nil if ask does so with requests of its own.
	// Both may be called concurrently.
	check readiness.Check
	ask   func(info *resource.Info) (*status.Result, error)
	// target is true if the condition is about the object that was written or deleted before,
	// and not about another one of the same name.
	target bool
	// lost, if set, is the result for a target that is gone.
	lost *status.Result
	// interval returns the pause until the next read of an object without watch.
	interval func(waited time.Duration) time.Duration
	// endsWhenOutdated is true if the wait ends when the action is outdated.
	endsWhenOutdated bool
	// diagnosed is true if the cause of a failure is of interest, and role is the role of the
	// objects in the release.
	diagnosed bool
	role      release.Role
	// late, if set, is called once the wait has lasted for lateAfter.
	late func()
}

// readyCondition returns the condition that objects are ready.
func (w *Waiter) readyCondition(jobs bool) (condition, error) {
	if w.Legacy {
		return w.legacy(jobs)
	}
	if jobs {
		return polled(withRules(w.Checks, readiness.ReadyWithJobs)), nil
	}
	return polled(withRules(w.Checks, readiness.Ready)), nil
}

func polled(check readiness.Check) condition {
	return condition{interval: PollInterval, check: check}
}

// PollInterval returns the pause between two reads of an object after a time of waiting: short
// at first, because most objects are ready soon, and a tenth of that time later.
func PollInterval(elapsed time.Duration) time.Duration {
	const shortest, longest = 100 * time.Millisecond, 2 * time.Second
	return min(max(elapsed/10, shortest), longest)
}

// ObjectName returns the kind, the namespace and the name of an object for messages.
func ObjectName(info *resource.Info) string {
	return fmt.Sprintf("%s/%s/%s", info.Mapping.GroupVersionKind.Kind, info.Namespace, info.Name)
}

func describe(info *resource.Info, r *status.Result) string {
	return fmt.Sprintf("%s status: '%s': %s", ObjectName(info), r.Status, strings.TrimSpace(r.Message))
}
