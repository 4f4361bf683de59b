// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// runAnnotation names the run of a hook: release, event, first or last, revision.
	runAnnotation = "test.pintle.dev/run"
	// hangs makes a simulated Pod run until the annotation is removed.
	hangs = "simulate.pintle.dev/hang"
)

// hookPolicies are the deletion policies of hooks, one of them in a short run.
func hookPolicies() []string {
	if testing.Short() {
		return []string{"hook-succeeded"}
	}
	return []string{"before-hook-creation", "hook-succeeded", "hook-failed"}
}

// hookTemplates render to a ConfigMap that differs each time, a Deployment, and two Jobs for each
// event. held is the event whose last Job runs until the test ends it, and fails is the one whose
// last Job fails. Jobs are not replaced by those of other revisions.
const hookTemplates = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  message: {{ .Values.message | quote }}
  random: {{ randAlphaNum 12 | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {simulate.pintle.dev/ready: {{ ternary "never" "always" .Values.unready | quote }}}
    spec:
      containers: [{name: main, image: example.com/pintle/hooked}]
{{- range $event := list "pre-install" "post-install" "pre-upgrade" "post-upgrade" }}
{{- range $last := list false true }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ $event }}-{{ ternary "last" "first" $last }}-{{ $.Release.Revision }}
  annotations:
    helm.sh/hook: {{ $event }}
    helm.sh/hook-weight: {{ ternary "1" "0" $last | quote }}
    helm.sh/hook-delete-policy: {{ $.Values.policy }}
    test.pintle.dev/run: {{ $.Release.Name }} {{ $event }} {{ ternary "last" "first" $last }} {{ $.Release.Revision }}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        {{- if and $last (eq $event $.Values.held) }}
        simulate.pintle.dev/hang: "true"
        {{- end }}
        simulate.pintle.dev/exit-code: {{ ternary "1" "0" (and $last (eq $event $.Values.fails)) | quote }}
    spec:
      restartPolicy: Never
      containers: [{name: hook, image: example.com/pintle/hooked}]
{{- end }}
{{- end }}
`

const hookValues = `{message: "", policy: before-hook-creation, held: "", fails: "", unready: false}`

// hookRuns are the Jobs of hooks that ever existed, and those that have completed, by run.
type hookRuns struct {
	world

	mu                 sync.Mutex
	created, completed map[string]map[types.UID]bool
	// sentinels are the names of all other Jobs.
	sentinels map[string]bool
}

func (h *hookRuns) saw(job *batchv1.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	run := job.Annotations[runAnnotation]
	if run == "" {
		h.sentinels[job.Name] = true
		return
	}
	if h.created[run] == nil {
		h.created[run], h.completed[run] = map[types.UID]bool{}, map[types.UID]bool{}
	}
	h.created[run][job.UID] = true
	if job.Status.Succeeded > 0 {
		h.completed[run][job.UID] = true
	}
}

// ran checks the hooks of a revision: each was created once, and has completed.
func (h *hookRuns) ran(hr *helmv2.HelmRelease, revision int, events ...string) {
	h.Helper()
	h.catchUp()
	h.mu.Lock()
	defer h.mu.Unlock()
	got := map[string]string{}
	for run, uids := range h.created {
		if strings.HasPrefix(run, hr.Name+" ") && strings.HasSuffix(run, fmt.Sprint(" ", revision)) {
			got[run] = fmt.Sprintf("%d created, %d completed", len(uids), len(h.completed[run]))
		}
	}
	want := map[string]string{}
	for _, event := range events {
		for _, hook := range []string{"first", "last"} {
			want[runOf(hr, event, hook, revision)] = "1 created, 1 completed"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s: hooks of revision %d (-want +got):\n%s", hr.Name, revision, diff)
	}
}

func runOf(hr *helmv2.HelmRelease, event, hook string, revision int) string {
	return fmt.Sprintf("%s %s %s %d", hr.Name, event, hook, revision)
}

// catchUp returns when all Jobs that exist have been seen.
func (h *hookRuns) catchUp() {
	h.Helper()
	suspended := true
	sentinel := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, GenerateName: "sentinel-"},
		Spec: batchv1.JobSpec{Suspend: &suspended, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "none", Image: "example.com/none"}},
		}}},
	}
	h.Create(sentinel)
	h.Must(env.Until(h.Context(), "the watch of Jobs to catch up", func() (string, bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return "", h.sentinels[sentinel.Name]
	}))
}

// hooked publishes the chart of hookTemplates, creates its source, and watches its Jobs.
func (w world) hooked() *hookRuns {
	w.Helper()
	w.Publish(&helmchart.Chart{
		Metadata:  &helmchart.Metadata{APIVersion: "v2", Name: "hooked", Version: "0.1.0"},
		Templates: []*helmchart.File{{Name: "templates/all.yaml", Data: []byte(hookTemplates)}},
		Raw:       []*helmchart.File{{Name: chartutil.ValuesfileName, Data: []byte(hookValues)}},
	})
	w.Source("hooked", env.Registry.Address, "hooked", fixture.Newest())
	h := &hookRuns{world: w, created: map[string]map[types.UID]bool{}, completed: map[string]map[types.UID]bool{}, sentinels: map[string]bool{}}
	w.watchJobs(w.Namespace, h.saw)
	return h
}

// install creates a release of hooked that does not retry, and rolls back failed upgrades.
func (w world) install(name string, v values, changes ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	hr := w.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "hooked"), v)
	hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: ptr(true)}}
	for _, change := range changes {
		change(hr)
	}
	w.Create(hr)
	return hr
}

// untilHeld waits until the Job of a hook runs.
func (w world) untilHeld(hr *helmv2.HelmRelease, event string, number int) *batchv1.Job {
	w.Helper()
	ctx := w.Context()
	job := &batchv1.Job{ObjectMeta: w.Meta(fmt.Sprintf("%s-%s-last-%d", hr.Name, event, number))}
	w.Must(env.Until(ctx, "Job "+job.Name+" to run", func() (string, bool) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", job.Status), job.Status.Active == 1
	}, job.DeepCopy()))
	return job
}

// endHook lets a Job end that untilHeld has returned. It must be the one that runs.
func (w world) endHook(job *batchv1.Job) {
	w.Helper()
	var pods corev1.PodList
	w.Must(env.Client.List(w.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)}))
	if len(pods.Items) != 1 || !pods.Items[0].DeletionTimestamp.IsZero() {
		w.Errorf("Job %s has %d Pods:\n%s", job.Name, len(pods.Items), w.PodsText(w.Context()))
		return
	}
	pod := &pods.Items[0]
	before := pod.DeepCopy()
	delete(pod.Annotations, hangs)
	w.Must(env.Client.Patch(w.Context(), pod, client.MergeFrom(before)))
}

// continued checks a revision that a second process has resumed: it is the newest one, deployed,
// and its stored manifest is applied. Nothing failed.
func (w world) continued(hr *helmv2.HelmRelease, number int, manifest string) {
	w.Helper()
	w.UntilReady(hr)
	all := w.stored(hr)
	for i, r := range all {
		want := helmrelease.StatusSuperseded
		if i == len(all)-1 {
			want = helmrelease.StatusDeployed
		}
		if r.Info.Status != want || !strings.HasSuffix(r.Info.Description, " complete") {
			w.Errorf("%s: revision %d is %s: %s", hr.Name, r.Version, r.Info.Status, r.Info.Description)
		}
	}
	if len(all) != number || all[len(all)-1].Version != number || hr.Status.Failures != 0 {
		w.Errorf("%s: want %d revisions and no failure: %s, %d failures", hr.Name, number, w.statuses(hr), hr.Status.Failures)
	}
	newest := all[len(all)-1]
	cm := &corev1.ConfigMap{}
	w.Get(hr.Name, cm)
	if random := cm.Data["random"]; newest.Manifest != manifest || random == "" || !strings.Contains(manifest, random) {
		w.Errorf("%s: the ConfigMap has %q; revision %d had and has the manifests\n%s\n%s", hr.Name, random, number, manifest, newest.Manifest)
	}
	if a := w.Attempt(hr, number); a.Run != 2 {
		w.Errorf("%s: revision %d was made by %+v, want 2 runs", hr.Name, number, a)
	}
}

// interruptedHook is a hook during which a process ends.
type interruptedHook struct {
	hr       *helmv2.HelmRelease
	event    string
	revision int
	job      *batchv1.Job
	manifest string
}

// upgradeUntil upgrades releases to a revision, and returns when the hooks of an event run.
func (w world) upgradeUntil(event string, number int, all ...*helmv2.HelmRelease) []interruptedHook {
	w.Helper()
	for _, hr := range all {
		w.Edit(hr, func(hr *helmv2.HelmRelease) {
			v := values{}
			w.Must(json.Unmarshal(hr.Spec.Values.Raw, &v))
			v["message"], v["held"] = fmt.Sprint("revision ", number), event
			hr.Spec.Values = w.Raw(v)
		})
	}
	return w.until(event, number, all...)
}

// until returns when releases run the hooks of an event.
func (w world) until(event string, number int, all ...*helmv2.HelmRelease) []interruptedHook {
	w.Helper()
	held := make([]interruptedHook, len(all))
	for i, hr := range all {
		job := w.untilHeld(hr, event, number)
		held[i] = interruptedHook{hr, event, number, job, w.newest(hr, number, pendingAt(number)).Manifest}
	}
	return held
}

// pendingAt is the status of a revision that is made.
func pendingAt(number int) helmrelease.Status {
	if number == 1 {
		return helmrelease.StatusPendingInstall
	}
	return helmrelease.StatusPendingUpgrade
}

// unchanged checks that hooks run and their revisions are pending, while no process works on them.
func (w world) unchanged(all []interruptedHook) {
	w.Helper()
	for _, i := range all {
		job := w.untilHeld(i.hr, i.event, i.revision)
		if job.UID != i.job.UID || !job.DeletionTimestamp.IsZero() {
			w.Errorf("%s: Job %s is another one, or being deleted", i.hr.Name, job.Name)
		}
		w.newest(i.hr, i.revision, pendingAt(i.revision))
		if a := w.Attempt(i.hr, i.revision); a.Run != 1 || a.Running != "Job/"+job.Name {
			w.Errorf("%s: the attempt is %+v", i.hr.Name, a)
		}
	}
}

// finish ends hooks of actions that were resumed, and checks the results.
func (h *hookRuns) finish(all []interruptedHook) {
	h.Helper()
	h.resumed(all)
	for _, i := range all {
		h.endHook(i.job)
	}
	for _, i := range all {
		h.continued(i.hr, i.revision, i.manifest)
		_, action, _ := strings.Cut(i.event, "-")
		h.ran(i.hr, i.revision, "pre-"+action, "post-"+action)
	}
}

// TestHooksSurviveKill kills the controller during hooks of all policies, and during the wait of an
// install for its objects. All actions are resumed, except those whose inputs change meanwhile.
func TestHooksSurviveKill(t *testing.T) {
	w := newWorld(t)
	h := w.hooked()
	changed := w.install("changed", values{})
	rolled := w.install("rolled", values{})
	installed := map[string][]*helmv2.HelmRelease{}
	for _, event := range []string{"pre-install", "pre-upgrade", "post-upgrade"} {
		for _, policy := range hookPolicies() {
			v := values{"policy": policy}
			if event == "pre-install" {
				v["held"] = event
			}
			installed[event] = append(installed[event], w.install(event+"-"+policy, v))
		}
	}
	unready := w.install("unready", values{"unready": true, "policy": "hook-succeeded"})
	for _, hr := range append(installed["pre-upgrade"], append(installed["post-upgrade"], changed, rolled)...) {
		w.UntilRevision(hr, 1)
	}
	held := w.upgradeUntil("pre-upgrade", 2, installed["pre-upgrade"]...)
	held = append(held, w.upgradeUntil("post-upgrade", 2, installed["post-upgrade"]...)...)
	held = append(held, w.until("pre-install", 1, installed["pre-install"]...)...)
	given := w.upgradeUntil("pre-upgrade", 2, changed, rolled)
	w.untilWaiting(unready, 1)

	w.Must(env.Controller.Kill(t.Context()))
	w.unchanged(held)
	first := w.newest(unready, 1, helmrelease.StatusPendingInstall)
	w.Edit(changed, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"message": "newer"}) })
	w.Edit(rolled, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = w.Raw(values{"message": "broken", "fails": "post-upgrade"})
	})
	w.Edit(unready, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"policy": "hook-succeeded"}) })
	w.Must(env.Controller.Start())

	h.finish(held)
	h.anew(unready, first)
	h.outdated(changed, rolled, given)
}

// untilWaiting waits until the objects of a revision are applied, and the action waits for them.
func (w world) untilWaiting(hr *helmv2.HelmRelease, number int) {
	w.Helper()
	w.UntilRecords(hr.Name+" to wait for its objects", func() (string, bool) {
		all, err := env.History(w.Namespace, hr.Name)
		if err != nil || len(all) < number {
			return fmt.Sprint(err), false
		}
		return fmt.Sprint(all[number-1].Labels), all[number-1].Labels[helmv2.LabelApplied] != ""
	})
}

// anew checks a release whose install was given up: it was uninstalled, and installed with all its
// hooks.
func (h *hookRuns) anew(hr *helmv2.HelmRelease, first *helmrelease.Release) {
	h.Helper()
	h.UntilRevision(hr, 1)
	if again := h.newest(hr, 1, helmrelease.StatusDeployed); !again.Info.FirstDeployed.After(first.Info.FirstDeployed) {
		h.Errorf("the first install was at %s, and that of revision 1 at %s", first.Info.FirstDeployed, again.Info.FirstDeployed)
	}
	if a := h.Attempt(hr, 1); a.Run != 1 {
		h.Errorf("the new install is %+v", a)
	}
	h.untilEvents(hr, helmv2.ReasonPendingRelease, helmv2.ReasonUninstallSucceeded, helmv2.ReasonInstallSucceeded)
	h.catchUp()
	h.mu.Lock()
	defer h.mu.Unlock()
	for event, want := range map[string]int{"pre-install": 2, "post-install": 1} {
		for _, hook := range []string{"first", "last"} {
			run := runOf(hr, event, hook, 1)
			if len(h.created[run]) != want || len(h.completed[run]) != want {
				h.Errorf("%s: %d created, %d completed, want %d", run, len(h.created[run]), len(h.completed[run]), want)
			}
		}
	}
}

// outdated checks releases whose inputs have changed during an interruption. The revision is closed,
// and is not rolled back to.
func (h *hookRuns) outdated(changed, rolled *helmv2.HelmRelease, given []interruptedHook) {
	h.Helper()
	h.UntilRevision(changed, 3)
	h.settles(rolled, conditions{helmv2.ConditionReady: no, helmv2.ConditionReleased: no, helmv2.ConditionRemediated: yes})
	h.rolledBack(rolled, 4, 1)
	for _, i := range given {
		if r := h.stored(i.hr)[1]; r.Info.Status != helmrelease.StatusFailed || r.Labels[helmv2.LabelInterrupted] != "true" {
			h.Errorf("%s: revision 2 is %s and has the labels %v", i.hr.Name, r.Info.Status, r.Labels)
		}
		h.untilEvents(i.hr, helmv2.ReasonPendingRelease)
	}
	h.ran(changed, 3, "pre-upgrade", "post-upgrade")
	h.Edit(changed, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = h.Raw(values{"message": "broken", "fails": "post-upgrade"})
	})
	h.settles(changed, conditions{helmv2.ConditionReady: no, helmv2.ConditionReleased: no, helmv2.ConditionRemediated: yes})
	h.rolledBack(changed, 5, 3)
}

// upgradable installs a release for each policy of hooks.
func (w world) upgradable(changes ...func(*helmv2.HelmRelease)) []*helmv2.HelmRelease {
	w.Helper()
	var all []*helmv2.HelmRelease
	for _, policy := range hookPolicies() {
		all = append(all, w.install(policy, values{"policy": policy}, changes...))
	}
	for _, hr := range all {
		w.UntilRevision(hr, 1)
	}
	return all
}

// TestHooksSurviveFailover: replicas change places while hooks run, by a shutdown and by a stopped
// process.
func TestHooksSurviveFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.alone()
	h := w.hooked()
	r := w.replicas("a", "b")
	a, b := r.names["a"], r.names["b"]
	w.lead(a, leaseName, "")
	all := w.upgradable()
	held := w.upgradeUntil("pre-upgrade", 2, all...)

	began := time.Now()
	w.Must(a.Stop(t.Context()))
	if a.Exit() != nil {
		t.Errorf("the leader waited for hooks: %v", a.Exit())
	}
	if left := holder(w.lease(leaseName)); left != "" {
		t.Errorf("the lease is held by %s", left)
	}
	w.unchanged(held)
	_, writes := w.requests("a")
	for _, write := range after(writes, began) {
		if write.Verb == "delete" || write.ObjectRef.Resource == "jobs" {
			t.Errorf("written during the shutdown: %s", write)
		}
	}
	leader := w.lead(b, leaseName, "")
	h.finish(held)

	// b does not notice that a takes its place.
	held = w.upgradeUntil("post-upgrade", 3, all...)
	w.Must(a.Start())
	w.Must(b.Signal(syscall.SIGSTOP))
	w.leaderAfter(leaseName, leader)
	h.resumed(held)
	awake := time.Now()
	w.Must(b.Signal(syscall.SIGCONT))
	w.Must(env.Until(w.Context(), "the replica that lost its lease to end", func() (string, bool) { return "it runs", b.Ended() != nil }))
	h.finish(held)
	w.refused("b", awake)
}

// TestHooksMoveBetweenShards: releases move to another shard while their hooks run. The controllers
// of both shards run. The second one resumes the actions, and the first one stops. Then a controller
// is stopped by a signal, and continues when another one has done its work. It changes nothing.
func TestHooksMoveBetweenShards(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.alone()
	h := w.hooked()
	one := w.shard("one")
	two := w.shard("two")
	all := w.upgradable(func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{shardLabel: "one"} })
	held := w.upgradeUntil("pre-upgrade", 2, all...)
	for _, hr := range all {
		w.move(hr, "two")
	}
	h.resumed(held)
	moved := time.Now()
	w.idle(one)
	h.finish(held)
	w.refused("one", moved)

	held = w.upgradeUntil("post-upgrade", 3, all...)
	w.Must(two.Signal(syscall.SIGSTOP))
	w.shardOf("other", shardLabel+" in (two,three)")
	h.finish(held)
	awake := time.Now()
	w.Must(two.Signal(syscall.SIGCONT))
	w.idle(two)
	w.refused("two", awake)
	for _, i := range held {
		h.continued(i.hr, i.revision, i.manifest)
	}
}

// resumed waits until a second process works on all revisions.
func (h *hookRuns) resumed(all []interruptedHook) {
	h.Helper()
	for _, i := range all {
		h.UntilResumed(i.hr, i.revision)
	}
}

// idle waits until a replica runs no action, or ends because it has lost its lease.
func (w world) idle(c *harness.Controller) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, "the actions of a replica to end", func() (string, bool) {
		if c.Ended() != nil {
			return "", true
		}
		m, err := c.Metrics(ctx)
		if err != nil {
			return err.Error(), false
		}
		running := m.Sum("pintle_helm_release_actions_in_progress")
		return fmt.Sprint(running), running == 0
	}))
}

// refused checks that a replica has changed no record and no hook since a moment.
func (w world) refused(replica string, since time.Time) {
	w.Helper()
	_, writes := w.requests(replica)
	for _, write := range after(writes, since) {
		if kind := write.ObjectRef.Resource; write.Status.Code < 400 && (kind == "secrets" || kind == "jobs") {
			w.Errorf("replica %s wrote: %s", replica, write)
		}
	}
}
