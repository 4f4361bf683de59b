// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// fleet is the number of releases that move between controllers at once.
	fleet = 50

	leaseName = "helm-controller-leader-election"
	// leaseDuration is not so short that a machine with other things to do loses the Lease.
	leaseDuration = 15 * time.Second
)

// replicas are two controllers that alternate in a world. No other controller may run.
type replicas struct {
	world
	names map[string]*harness.Controller
}

// alone ends the controller that all tests share until the test has ended.
func (w world) alone() {
	w.Helper()
	w.Must(env.Controller.Stop(w.Context()))
	w.Cleanup(func() {
		if err := env.Controller.Start(); err != nil {
			w.Error(err)
		}
	})
}

// replicas makes replicas with leader election, which do not run yet.
func (w world) replicas(names ...string) replicas {
	w.Helper()
	all := replicas{w, map[string]*harness.Controller{}}
	for _, name := range names {
		all.names[name] = w.replica(name)
	}
	return all
}

func (w world) replica(name string, args ...string) *harness.Controller {
	w.Helper()
	c, err := env.Replica(w.Context(), w.Namespace, name, append([]string{
		"--enable-leader-election", "--concurrent=10", "--graceful-shutdown-timeout=5m",
		"--leader-election-lease-duration=" + leaseDuration.String(), "--leader-election-renew-deadline=10s", "--leader-election-retry-period=2s",
	}, args...)...)
	w.Must(err)
	w.Cleanup(func() {
		// The test checks how it ended before. The process may be stopped by a signal.
		_ = c.Signal(syscall.SIGCONT)
		_ = c.Kill(w.Context())
		tail := c.LogTail(1 << 20)
		if strings.Contains(tail, "WARNING: DATA RACE") {
			w.Errorf("there is a data race in replica %s", name)
		}
		if w.Failed() {
			w.Logf("the log of replica %s ends:\n%s", name, c.LogTail(30))
		}
	})
	return c
}

// lease returns the Lease of replicas, an empty one if it does not exist.
func (w world) lease(name string) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	_ = env.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, lease)
	return lease
}

func holder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// lead starts a replica, and returns the new holder of a lease when it has changed.
func (w world) lead(c *harness.Controller, name, before string) string {
	w.Helper()
	w.Must(c.Start())
	return w.leaderAfter(name, before)
}

func (w world) leaderAfter(name, before string) (identity string) {
	w.Helper()
	w.Must(env.Until(w.Context(), "another leader", func() (string, bool) {
		identity = holder(w.lease(name))
		return "held by " + identity, identity != "" && identity != before
	}, &coordinationv1.Lease{ObjectMeta: w.Meta(name)}))
	return identity
}

// fleetOf creates releases and waits until they are installed.
func (w world) fleetOf(count int, labels map[string]string) []*helmv2.HelmRelease {
	w.Helper()
	w.push("0.1.0")
	source := w.source("hello", env.Registry.Address)
	all := make([]*helmv2.HelmRelease, count)
	for i := range all {
		all[i] = w.Draft(fmt.Sprintf("r%02d", i), fixture.ChartRef(helmv2.KindOCIRepository, source.Name), values{"message": "first"})
		all[i].Labels = labels
	}
	for _, hr := range all {
		w.Create(hr)
	}
	for _, hr := range all {
		w.UntilRevision(hr, 1)
	}
	return all
}

// upgradeAll changes the values of releases. Their Pods need some time to become ready.
func (w world) upgradeAll(all []*helmv2.HelmRelease, message string, takes time.Duration) {
	w.Helper()
	for _, hr := range all {
		w.Edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.Values = w.Raw(values{
				"message":        message,
				"podAnnotations": values{"simulate.pintle.dev/delay": takes.String()},
			})
		})
	}
}

// midway starts upgrades, and returns when some releases have been upgraded and others are being
// upgraded. The latter last long enough that this state is not missed by slow polling.
func (w world) midway(all []*helmv2.HelmRelease, message string) {
	w.Helper()
	enough := len(all) / 5
	w.upgradeAll(all[:enough], message, time.Second)
	w.upgradeAll(all[enough:], message, 15*time.Second)
	w.UntilRecords("releases to be upgraded", func() (string, bool) {
		pending, done, waiting := w.progress(all, message)
		seen := fmt.Sprintf("%d are being upgraded, %d have been, %d have not begun", pending, done, waiting)
		if pending+waiting == 0 {
			w.Fatal("no upgrade is left to interrupt")
		}
		if done < enough || pending == 0 {
			return seen, false
		}
		w.Log(seen)
		return seen, true
	})
}

// progress counts releases by the state of their newest stored revision.
func (w world) progress(all []*helmv2.HelmRelease, message string) (pending, done, waiting int) {
	w.Helper()
	stored, err := env.Stored(w.Context(), w.Namespace)
	w.Must(err)
	for _, hr := range all {
		revisions := stored[hr.Name]
		switch newest := revisions[len(revisions)-1]; {
		case newest.Pending:
			pending++
		case newest.Values["message"] == message:
			done++
		default:
			waiting++
		}
	}
	return pending, done, waiting
}

// once checks that each release has reached its inputs by one revision since version before, which
// has succeeded.
func (w world) once(all []*helmv2.HelmRelease, message string, before map[string]int) {
	w.Helper()
	for _, hr := range all {
		w.Until(hr, "to be ready", harness.Ready)
	}
	stored, err := env.Stored(w.Context(), w.Namespace)
	w.Must(err)
	resumed := 0
	for _, hr := range all {
		revisions := stored[hr.Name]
		newest := revisions[len(revisions)-1]
		w.onceOf(hr, revisions, before[hr.Name])
		if w.Attempt(hr, newest.Number).Run > 1 {
			resumed++
		}
		if newest.Values["message"] != message || hr.Status.History[0].Version != newest.Number {
			w.Errorf("%s: the newest revision is %d with %v:\n%s", hr.Name, newest.Number, newest.Values, harness.Summary(hr))
		}
		if hr.Status.Failures != 0 || hr.Status.UpgradeFailures != 0 {
			w.Errorf("%s: %d failures are counted", hr.Name, hr.Status.Failures)
		}
		w.message(hr.Name+"-hello", message)
	}
	w.Logf("%d of %d actions were resumed", resumed, len(all))
}

// onceOf checks the revisions of one release: there is one since version before, and it has
// succeeded.
func (w world) onceOf(hr *helmv2.HelmRelease, revisions []harness.Revision, before int) {
	w.Helper()
	var complete, failed int
	for i, r := range revisions {
		if r.Pending || (r.Status == "deployed") != (i == len(revisions)-1) {
			w.Errorf("%s: revision %d of %d is %s", hr.Name, r.Number, len(revisions), r.Status)
		}
		switch {
		case r.Number <= before:
		case strings.HasSuffix(r.Description, " complete"):
			complete++
		default:
			failed++
		}
	}
	if complete != 1 || failed > 0 {
		w.Errorf("%s: %d revisions succeeded, want 1, and %d failed, want none: %s", hr.Name, complete, failed, w.statuses(hr))
	}
}

// versions are those of the newest revisions.
func versions(all []*helmv2.HelmRelease) map[string]int {
	newest := map[string]int{}
	for _, hr := range all {
		newest[hr.Name] = hr.Status.History[0].Version
	}
	return newest
}

// TestFailover: replicas change places in the middle of upgrades, politely, by
// force and without noticing.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.alone()
	r := w.replicas("a", "b")
	a, b := r.names["a"], r.names["b"]
	first := w.lead(a, leaseName, "")
	all := w.fleetOf(fleet, nil)
	w.Must(b.Start())

	var second string
	if !t.Run("Shutdown", func(t *testing.T) {
		second = world{w.In(t)}.shutdown(a, all, first)
	}) {
		return
	}
	w.Must(a.Start())
	if !t.Run("Kill", func(t *testing.T) {
		first = world{w.In(t)}.killed(b, all[:20], second)
	}) {
		return
	}
	w.Must(b.Start())
	t.Run("Stop", func(t *testing.T) {
		world{w.In(t)}.stopped(a, all[:20], first)
	})
}

// shutdown stops the leading replica a with SIGTERM. It releases the lease after its last write,
// and b continues.
func (w world) shutdown(a *harness.Controller, all []*helmv2.HelmRelease, leader string) string {
	before := versions(all)
	w.midway(all, "second")
	w.Must(a.Stop(w.Context()))
	if err := a.Exit(); err != nil {
		w.Errorf("the leader ended with %v, want exit status 0", err)
	}
	next := w.leaderAfter(leaseName, leader)
	w.once(all, "second", before)

	leases, writes := w.requests("a")
	away := leases[len(leases)-1]
	if late := after(writes, away.Received); len(late) > 0 || lastAnswer(writes).After(away.Received) {
		w.Errorf("the lease was given away at %s, with writes on their way until %s, and after it: %v", away, lastAnswer(writes), late)
	}
	if _, theirs := w.requests("b"); len(theirs) == 0 || theirs[0].Received.Before(away.Received) {
		w.Errorf("the lease was given away at %s, before that the other wrote: %v", away, theirs[:min(1, len(theirs))])
	}
	return next
}

// killed kills the leading replica b. When its lease has expired, a continues.
func (w world) killed(b *harness.Controller, all []*helmv2.HelmRelease, leader string) string {
	before := versions(all)
	w.midway(all, "third")
	w.Must(b.Kill(w.Context()))
	next := w.leaderAfter(leaseName, leader)
	// The API server may handle a request after its sender was killed, but not as late as this.
	acquired := w.lease(leaseName).Spec.AcquireTime
	w.once(all, "third", before)
	if acquired == nil {
		w.Fatal("the Lease of the next leader has no time")
	}
	if _, theirs := w.requests("b"); len(after(theirs, acquired.Time)) > 0 {
		w.Errorf("a request has the identity of the killed leader: %v", after(theirs, acquired.Time))
	}
	return next
}

// stopped pauses the leading replica a until b leads, and then continues it. It must notice the
// lost lease before it writes.
func (w world) stopped(a *harness.Controller, all []*helmv2.HelmRelease, leader string) {
	before := versions(all)
	// Longer than it takes to start all of them: requests in flight when a process is stopped
	// arrive when it continues.
	w.upgradeAll(all, "fourth", 60*time.Second)
	w.applied(all, "fourth")
	w.labelled(len(all))
	w.Must(a.Signal(syscall.SIGSTOP))
	w.leaderAfter(leaseName, leader)
	w.once(all, "fourth", before)
	awake := time.Now()
	w.Must(a.Signal(syscall.SIGCONT))
	w.Must(env.Until(w.Context(), "the replica that lost its lease to end", func() (string, bool) {
		return "it runs", a.Ended() != nil
	}))
	if a.Exit() == nil {
		w.Error("the replica that lost its lease ended with exit status 0")
	}
	leases, writes := w.requests("a")
	if late := after(writes, awake); len(late) > 0 {
		w.Errorf("the replica that lost its lease wrote: %v", late)
	}
	for _, r := range after(leases, awake) {
		if r.Status.Code < 400 {
			w.Errorf("the replica that lost its lease wrote it: %v", r)
		}
	}
	w.once(all, "fourth", before)
}

// applied waits until all upgrades have written everything that precedes the wait for Pods.
func (w world) applied(all []*helmv2.HelmRelease, message string) {
	w.Helper()
	w.Must(env.Until(w.Context(), "upgrades to wait for pods", func() (string, bool) {
		pending, done, waiting := w.progress(all, message)
		seen := fmt.Sprintf("%d are being upgraded, %d have been, %d have not begun", pending, done, waiting)
		if done > 0 {
			w.Fatal(seen)
		}
		if pending < len(all) {
			return seen, false
		}
		for _, hr := range all {
			if w.deployment(hr.Name+"-hello").Status.UpdatedReplicas == 0 {
				return hr.Name + " is not applied", false
			}
		}
		return "", true
	}, &corev1.Secret{ObjectMeta: w.Meta("")}, &appsv1.Deployment{ObjectMeta: w.Meta("")}))
	time.Sleep(2 * time.Second)
}

// labelled waits until the records of n upgrades state that all objects have been applied. That is
// the last write of an upgrade while it waits for Pods, and follows the others by five seconds.
func (w world) labelled(n int) {
	w.Helper()
	w.UntilRecords("records to be labelled", func() (string, bool) {
		var list corev1.SecretList
		if err := env.Client.List(w.Context(), &list, client.InNamespace(w.Namespace), client.HasLabels{helmv2.LabelApplied},
			client.MatchingLabels{"status": string(helmv2.StatusPendingUpgrade)}); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d of %d are", len(list.Items), n), len(list.Items) == n
	})
}

// TestShortOfMemory: a leader that is about to run out of memory ends as at any
// other shutdown, in the middle of an upgrade, and the other replica finishes it.
func TestShortOfMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.alone()
	limit, used := filepath.Join(t.TempDir(), "limit"), filepath.Join(t.TempDir(), "used")
	w.Must(os.WriteFile(limit, []byte("1000\n"), 0o600))
	w.Must(os.WriteFile(used, []byte("100\n"), 0o600))
	a := w.replica("a", "--feature-gates=OOMWatch=true", "--oom-watch-interval=50ms",
		"--oom-watch-max-memory-path="+limit, "--oom-watch-current-memory-path="+used)
	leader := w.lead(a, leaseName, "")
	all := w.fleetOf(1, nil)
	w.Must(w.replica("b").Start())
	before := versions(all)
	w.upgradeAll(all, "second", 30*time.Second)
	w.applied(all, "second")

	w.Must(os.WriteFile(used, []byte("950\n"), 0o600))
	w.Must(env.Until(w.Context(), "the leader to end", func() (string, bool) { return "it runs", a.Ended() != nil }))
	if err := a.Exit(); err != nil {
		t.Errorf("the leader ended with %v, want exit status 0", err)
	}
	w.leaderAfter(leaseName, leader)
	w.once(all, "second", before)
	leases, writes := w.requests("a")
	if late := after(writes, leases[len(leases)-1].Received); len(late) > 0 {
		t.Errorf("written after the lease was given away: %v", late)
	}
}
