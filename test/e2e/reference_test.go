// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestReference: releases move between helm-controller and Pintle in both directions.
// helm-controller installs, upgrades, fails and rolls back releases. After the change of
// controllers no object is written, no revision created, no condition changed. Then each controller
// upgrades the releases of the other. The CRD is that of helm-controller.
func TestReference(t *testing.T) {
	path := os.Getenv("PINTLE_REFERENCE")
	if path == "" {
		t.Fatal("PINTLE_REFERENCE is not set: `make test-reference` builds that executable")
	}
	ours, theirs := env.Controller, env.OtherController(path)
	t.Cleanup(func() {
		handOver(context.WithoutCancel(t.Context()), t, ours)
		// A copy: the end of the suite reads all logs.
		if text, err := os.ReadFile(theirs.LogPath); err == nil {
			_ = os.WriteFile(filepath.Join(harness.Root(), "bin", "e2e-reference.log"), text, 0o600)
		}
	})
	t.Run("Rehearsal", func(t *testing.T) { newWorld(t).rehearsed(theirs) })
	t.Run("MadeByThem", func(t *testing.T) { newWorld(t).changeHands(theirs, ours) })
	t.Run("MadeByUs", func(t *testing.T) { newWorld(t).changeHands(ours, theirs) })
	t.Run("Leave", func(t *testing.T) { newWorld(t).leaves(ours, theirs) })
	t.Run("Rejected", func(t *testing.T) { newWorld(t).rejected(ours, theirs) })
	t.Run("ReturnToTheirs", func(t *testing.T) { newWorld(t).returns(theirs, ours) })
	t.Run("ReturnToOurs", func(t *testing.T) { newWorld(t).returns(ours, theirs) })
}

func (w world) changeHands(maker, taker *harness.Controller) {
	w.Helper()
	handOver(w.Context(), w.T, maker)
	all := w.changelings()
	w.live(all)
	w.unmoved("taken over", taker, all)
	w.upgraded(all, "taker")
	w.unmoved("given back", maker, all)
	w.upgraded(all, "maker")
	w.unmoved("taken over again", taker, all)
	// Each controller uninstalls releases that the other upgraded last.
	w.removed(all[0].HelmRelease)
	handOver(w.Context(), w.T, maker)
	w.removed(all[1].HelmRelease)
}

// returns: an upgrade by one that fails when it has superseded a revision of the
// other is rolled back to that revision, by either.
func (w world) returns(maker, taker *harness.Controller) {
	w.Helper()
	handOver(w.Context(), w.T, maker)
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	fickle := fixture.ChartRef(helmv2.KindOCIRepository, "fickle")
	byTaker, byMaker := w.Draft("by-taker", fickle, nil), w.Draft("by-maker", fickle, nil)
	w.Create(byTaker, byMaker)
	w.UntilRevision(byTaker, 1)
	w.UntilRevision(byMaker, 1)

	rollBack := upgrade(func(u *helmv2.Upgrade) {
		u.Remediation = &helmv2.UpgradeRemediation{RemediateLastFailure: ptr(true)}
	})
	rolledBack := conditions{helmv2.ConditionRemediated: yes, helmv2.ConditionReady: no}
	handOver(w.Context(), w.T, taker)
	w.change(byTaker, failedTest(), tested, rollBack)
	w.change(byMaker, failedTest(), tested)
	w.settles(byMaker, conditions{helmv2.ConditionStalled: yes, helmv2.ConditionTestSuccess: no, helmv2.ConditionReady: no})
	w.settles(byTaker, rolledBack)
	w.rolledBack(byTaker, 3, 1)

	handOver(w.Context(), w.T, maker)
	worse := failedTest()
	worse["replicas"] = 2
	w.change(byMaker, worse, rollBack)
	w.settles(byMaker, rolledBack)
	w.rolledBack(byMaker, 4, 1)
}

// handOver stops the running controller and starts another.
func handOver(ctx context.Context, t *testing.T, to *harness.Controller) {
	t.Helper()
	if env.Controller == to {
		return
	}
	if err := env.Controller.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	env.Controller = to
	if err := to.Start(); err != nil {
		t.Fatal(err)
	}
}

// changeling is a release that moves between controllers.
type changeling struct {
	*helmv2.HelmRelease

	// first and second are the values it is installed and upgraded with.
	first, second values
	// unlike makes the upgrade's spec differ in more than values.
	unlike func(*helmv2.HelmReleaseSpec)
	// end are the conditions after the upgrade; ready by default.
	end conditions
	// stay excludes it from the second upgrade.
	stay bool
}

// live installs all releases concurrently, and then upgrades all.
func (w world) live(all []*changeling) {
	w.Helper()
	for _, c := range all {
		c.Spec.Values = w.Raw(c.first)
		w.Create(c.HelmRelease)
	}
	for _, c := range all {
		w.UntilRevision(c.HelmRelease, 1)
	}
	for _, c := range all {
		unlike := c.unlike
		if unlike == nil {
			unlike = func(*helmv2.HelmReleaseSpec) {}
		}
		w.change(c.HelmRelease, c.second, unlike)
	}
	for _, c := range all {
		if c.end == nil {
			w.UntilRevision(c.HelmRelease, 2)
			continue
		}
		w.settles(c.HelmRelease, c.end)
	}
}

// upgraded upgrades those once more that may be.
func (w world) upgraded(all []*changeling, note string) {
	w.Helper()
	revisions := map[string]int{}
	before := w.data("numbers-fickle")
	for _, c := range all {
		if c.stay {
			continue
		}
		revisions[c.Name] = c.Status.History[0].Version + 1
		v := values{}
		maps.Copy(v, c.second)
		v["global"] = values{"note": note}
		w.change(c.HelmRelease, v)
	}
	for _, c := range all {
		if !c.stay {
			w.UntilRevision(c.HelmRelease, revisions[c.Name])
		}
	}
	w.equal("what is rendered of numbers by the "+note, w.data("numbers-fickle"), before)
}

func (w world) data(configMap string) map[string]string {
	w.Helper()
	cm := &corev1.ConfigMap{}
	w.Get(configMap, cm)
	if len(cm.Data) < 10 {
		w.Fatalf("data of %s is %v", configMap, cm.Data)
	}
	return cm.Data
}

// unmoved hands all releases over, requests reconciliations, and compares the whole state with that
// before. It repeats this with other specs, because some status fields are about the last
// generation and are compared with the new one.
func (w world) unmoved(when string, to *harness.Controller, all []*changeling) {
	w.Helper()
	if err := env.Controller.Stop(w.Context()); err != nil {
		w.Fatal(err)
	}
	objects, summaries := w.rest(), map[string]string{}
	for _, c := range all {
		w.Get(c.Name, c.HelmRelease)
		summaries[c.Name] = c.summary()
	}
	// The other has ended already, which is no error.
	handOver(w.Context(), w.T, to)
	for _, longer := range []time.Duration{0, time.Minute} {
		what := fmt.Sprintf("%s, %s more of timeout", when, longer)
		w.looked(what, all, longer)
		for _, c := range all {
			w.same(what+": "+c.Name, summaries[c.Name], c.summary())
		}
		after := w.objects()
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			w.same(what+": "+name, objects[name], after[name])
			delete(after, name)
		}
		for name := range after {
			w.Errorf("%s: %s is new", what, name)
		}
		w.Logf("%s: %d releases and %d objects compared", what, len(all), len(objects))
	}
}

// looked requests a reconciliation of all releases and waits for it. It also increases their
// timeouts.
func (w world) looked(when string, all []*changeling, longer time.Duration) {
	w.Helper()
	request := time.Now().Format(time.RFC3339Nano)
	for _, c := range all {
		w.Edit(c.HelmRelease, func(hr *helmv2.HelmRelease) {
			// A failed release would be retried for a new generation.
			if c.end == nil {
				hr.Spec.Timeout.Duration += longer
			}
			hr.Annotations = map[string]string{fluxmeta.ReconcileRequestAnnotation: request}
		})
	}
	for _, c := range all {
		w.Until(c.HelmRelease, "to be looked at, "+when, func(hr *helmv2.HelmRelease) bool {
			return hr.Status.LastHandledReconcileAt == request && hr.Status.ObservedGeneration == hr.Generation &&
				!apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling)
		})
	}
}

func (w world) same(what, before, after string) {
	w.Helper()
	if before == after {
		return
	}
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	without := func(lines, others []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return slices.Contains(others, l) }), "\n  ")
	}
	w.Errorf("%s changed\nfrom\n  %s\nto\n  %s", what, without(was, is), without(is, was))
}

// rest returns the state as soon as it no longer changes: replaced Pods need some time to
// terminate.
func (w world) rest() map[string]string {
	w.Helper()
	objects, since := w.objects(), time.Now()
	w.Must(env.Until(w.Context(), "objects to rest", func() (string, bool) {
		if now := w.objects(); !maps.Equal(now, objects) {
			objects, since = now, time.Now()
		}
		return fmt.Sprintf("%d objects", len(objects)), time.Since(since) > time.Second
	}))
	return objects
}

// objects describes all objects in the namespace that a release may own or leave, including
// managedFields and versions.
func (w world) objects() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceList{},
		&corev1.ConfigMapList{}, &corev1.SecretList{}, &sourcev1.HelmChartList{},
	} {
		w.Must(env.Client.List(w.Context(), list, client.InNamespace(w.Namespace)))
		w.Must(apimeta.EachListItem(list, func(o runtime.Object) error {
			object, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", o)
			}
			all[fmt.Sprintf("%T %s", o, object.GetName())] = described(object)
			return nil
		}))
	}
	return all
}

func described(o client.Object) string {
	lines := []string{
		fmt.Sprintf("uid %s", o.GetUID()), fmt.Sprintf("generation %d", o.GetGeneration()),
		"resourceVersion " + o.GetResourceVersion(), fmt.Sprintf("labels %v", o.GetLabels()),
	}
	for _, entry := range o.GetManagedFields() {
		lines = append(lines, "managed "+oneLine(entry))
	}
	return strings.Join(lines, "\n")
}

// summary is the status of a release without the fields that a reconciliation changes.
func (c *changeling) summary() string {
	status := c.Status.DeepCopy()
	slices.SortFunc(status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	lines := []string{fmt.Sprintf("finalizers %v", c.Finalizers)}
	stalled := apimeta.IsStatusConditionTrue(status.Conditions, helmv2.ConditionStalled)
	for _, condition := range status.Conditions {
		if condition.Type == helmv2.ConditionFailing {
			// Only Pintle sets it.
			continue
		}
		text := condition.Message
		if stalled && (condition.Type == helmv2.ConditionReady || condition.Type == helmv2.ConditionStalled) {
			// The two controllers describe a failure differently.
			text = "..."
		}
		lines = append(lines, fmt.Sprintf("%s=%s %s: %s", condition.Type, condition.Status, condition.Reason, text))
	}
	for _, s := range status.History {
		lines = append(lines, "history "+oneLine(s))
	}
	status.LastHandledReconcileAt, status.ObservedGeneration = "", 0
	if c.end == nil {
		status.LastAttemptedGeneration = 0
	}
	status.Conditions, status.History = nil, nil
	rest := map[string]any{}
	_ = json.Unmarshal([]byte(oneLine(status)), &rest)
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		lines = append(lines, key+" "+oneLine(rest[key]))
	}
	return strings.Join(lines, "\n")
}

func oneLine(v any) string {
	line, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// removed deletes a release and expects that nothing of it is left.
func (w world) removed(hr *helmv2.HelmRelease) {
	w.Helper()
	w.Must(env.Client.Delete(w.Context(), hr))
	w.UntilGone(hr)
	w.revisions(hr, 0)
	for name := range w.objects() {
		if strings.HasPrefix(name, "*v1.Deployment "+hr.Name) || strings.HasPrefix(name, "*v1.HelmChart "+w.Namespace+"-"+hr.Name) {
			w.Errorf("%s is left", name)
		}
	}
}
