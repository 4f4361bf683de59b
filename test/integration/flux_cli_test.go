// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
)

// The tests of this file check the behaviour that the flux CLI relies on, command by command: its
// writes, its reads and its conclusions. TestFluxCLI in flux_command_test.go runs the CLI itself.

// seen is one state of a HelmRelease that a polling client may read.
type seen struct {
	*helmv2.HelmRelease

	// health is the status that kstatus computes.
	health  kstatus.Status
	message string
}

// health computes the kstatus of the object in the API server.
func (w *world) health(hr *helmv2.HelmRelease) (kstatus.Status, string) {
	w.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	w.must(err)
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
	w.must(err)
	return result.Status, result.Message
}

// states returns every state that a HelmRelease is in from now on, the present one
// included, until one is the last.
func (w *world) states(hr *helmv2.HelmRelease, act func(), last func(seen) bool) []seen {
	w.t.Helper()
	watching, err := client.NewWithWatch(suite.config, client.Options{Scheme: controller.Scheme()})
	w.must(err)
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), hr))
	events, err := watching.Watch(w.t.Context(), &helmv2.HelmReleaseList{}, client.InNamespace(hr.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: hr.ResourceVersion, FieldSelector: "metadata.name=" + hr.Name}})
	w.must(err)
	defer events.Stop()
	act()
	var all []seen
	waiting := w.waitsFor("the last state")
	defer waiting.over()
	for {
		select {
		case e := <-events.ResultChan():
			if e.Type != watch.Modified {
				w.t.Fatalf("the watch says %s", e.Type)
			}
			s := seen{HelmRelease: e.Object.(*helmv2.HelmRelease)}
			s.health, s.message = w.health(s.HelmRelease)
			all = append(all, s)
			waiting.because(stories(all))
			if last(s) {
				*hr = *s.HelmRelease
				return all
			}
		case <-w.t.Context().Done():
			w.t.Fatalf("the test has ended; the states were %s", stories(all))
		}
	}
}

func stories(all []seen) string {
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("generation %d, observed %d, handled %q: %s, %s",
			s.Generation, s.Status.ObservedGeneration, s.Status.LastHandledReconcileAt, s.health, s.message))
	}
	return "\n" + strings.Join(lines, "\n")
}

// reconcile is `flux reconcile helmrelease`, with annotations for --force and --reset. It sends one
// patch, then polls until the token changes and kstatus is Current. No earlier state may satisfy
// that condition. It returns the final state.
func (w *world) reconcile(hr *helmv2.HelmRelease, annotations ...string) seen {
	w.t.Helper()
	token := time.Now().Format(time.RFC3339Nano)
	before := hr.Status.LastHandledReconcileAt
	ends := func(s seen) bool {
		return s.Status.LastHandledReconcileAt != before && s.health != kstatus.InProgressStatus
	}
	all := w.states(hr, func() {
		w.edit(hr.DeepCopy(), func(hr *helmv2.HelmRelease) {
			for _, a := range append(annotations, helmv2.AnnotationReconcileRequest) {
				metav1.SetMetaDataAnnotation(&hr.ObjectMeta, a, token)
			}
		})
	}, ends)
	end := all[len(all)-1]
	if end.Status.LastHandledReconcileAt != token {
		w.t.Errorf("the handled token is %q, the requested one %q", end.Status.LastHandledReconcileAt, token)
	}
	return end
}

// succeeds checks that the CLI succeeds with a state, which it derives from Ready, and prints the
// newest revision.
func (w *world) succeeds(s seen, revision int) {
	w.t.Helper()
	if ready := condition(s.HelmRelease, "Ready"); s.health != kstatus.CurrentStatus || ready.Status != metav1.ConditionTrue ||
		s.Status.ObservedGeneration != s.Generation || ready.ObservedGeneration != s.Generation {
		w.t.Errorf("kstatus says %s (%s), the status is %+v", s.health, s.message, s.Status)
	}
	if newest(s.HelmRelease) != revision {
		w.t.Errorf("the command ends at revision %d, want %d", newest(s.HelmRelease), revision)
	}
}

func TestFluxReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("plain", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("plain", nil)
	w.untilReady(hr)

	w.succeeds(w.reconcile(hr), 1)
	if hr.Status.LastHandledForceAt != "" || hr.Status.LastHandledResetAt != "" {
		t.Errorf("a plain request is answered with %+v", hr.Status)
	}
	// With --with-source, the source has a new artifact by now.
	w.publish("plain", "1.1.0", configMapChart(t, "1.1.0"))
	w.untilReady(hr)
	w.until(hr, "the new chart", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	w.untilReady(hr)
	w.succeeds(w.reconcile(hr), 2)
	if !strings.HasPrefix(hr.Status.History[0].ChartVersion, "1.1.0+") {
		t.Errorf("the command shows revision %q", hr.Status.History[0].ChartVersion)
	}
}

func TestFluxReconcileForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("forced", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("forced", nil)
	w.untilReady(hr)
	end := w.reconcile(hr, helmv2.AnnotationForceRequest)
	w.succeeds(end, 2)
	if end.Status.LastHandledForceAt != end.Status.LastHandledReconcileAt {
		t.Errorf("the force is answered by %q", end.Status.LastHandledForceAt)
	}
	w.succeeds(w.reconcile(hr), 2)
}

// TestFluxReconcileReset: on a stalled release the CLI ends at once with the reason. With --reset
// it does not end before the new attempt.
func TestFluxReconcileReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("stalled", "1.0.0", pack(t, "stalled", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n", "values.yaml": "name: Not-A-Name\n",
	}))
	hr := w.release("stalled", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{DisableOpenAPIValidation: true}
		hr.Spec.Upgrade = &helmv2.Upgrade{DisableOpenAPIValidation: true}
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "names", ValuesKey: "values.yaml", Optional: true}}
	})
	w.untilSays(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
	if end := w.reconcile(hr); end.health != kstatus.FailedStatus || !strings.Contains(end.message, "Failed to install after 1 attempt(s)") {
		t.Errorf("the command ends with %s: %s", end.health, end.message)
	}
	stored := len(w.stored("stalled"))
	end := w.reconcile(hr, helmv2.AnnotationResetRequest)
	if end.health != kstatus.FailedStatus || end.Status.LastHandledResetAt != end.Status.LastHandledReconcileAt ||
		!strings.Contains(end.message, "Failed to upgrade after 1 attempt(s)") || len(w.stored("stalled")) != stored+1 {
		t.Errorf("the command ends with %s: %s, %d revisions stored, status %+v", end.health, end.message, len(w.stored("stalled")), end.Status)
	}
}

// TestFluxReconcileTemplate: --with-source finds the HelmChart by its name, and
// `flux trace` by status.
func TestFluxReconcileTemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.release("templated", nil, templated(""))
	key := client.ObjectKey{Namespace: w.namespace, Name: w.namespace + "-templated"}
	w.until(hr, "its HelmChart", func(*helmv2.HelmRelease) bool { _, found := w.helmChart(key); return found })
	w.fill(key, "1.0.0")
	w.untilReady(hr)
	if hr.Status.HelmChart != key.String() {
		t.Errorf("status.helmChart is %q, want %q", hr.Status.HelmChart, key)
	}
	w.succeeds(w.reconcile(hr), 1)
}

// TestFluxSuspendAndResume: suspend only patches the spec. Resume waits until the condition Ready
// and kstatus have the current generation, which must happen with and without an action, and not
// before its end.
func TestFluxSuspendAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("paused", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("paused", map[string]any{"message": "one"})
	w.untilReady(hr)
	suspend := func(to bool) func() {
		return func() { w.edit(hr.DeepCopy(), func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = to }) }
	}
	resumed := func(s seen) bool {
		ready := condition(s.HelmRelease, "Ready")
		return !s.Spec.Suspend && ready.ObservedGeneration == s.Generation && s.health == kstatus.CurrentStatus
	}

	suspend(true)()
	w.quiet(hr)
	all := w.states(hr, suspend(false), resumed)
	w.succeeds(all[len(all)-1], 1)

	suspend(true)()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	w.quiet(hr)
	if newest(hr) != 1 || w.configMap("paused").Data["message"] != "one" {
		t.Errorf("a suspended release was upgraded: %+v", hr.Status)
	}
	all = w.states(hr, suspend(false), resumed)
	w.succeeds(all[len(all)-1], 2)
	if got := w.configMap("paused").Data["message"]; got != "two" {
		t.Errorf("resume ends with message %q", got)
	}
	// The message of a failure is that of the failed action.
	for _, s := range all {
		if s.health == kstatus.FailedStatus {
			t.Errorf("resume would fail at %s", stories(all))
		}
	}
}

// TestFluxGet: the columns of `flux get helmreleases` are correct with and without a revision.
func TestFluxGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.release("shown", nil)
	w.untilSays(hr, "Ready", metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "not found")
	if len(hr.Status.History) > 0 || hr.Status.LastAttemptedRevision != "" {
		t.Errorf("the column Revision shows something: %+v", hr.Status)
	}
	w.publish("shown", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(hr)
	ready := condition(hr, "Ready")
	want := fmt.Sprintf("Helm install succeeded for release %s/shown.v1 with chart note@%s", w.namespace, hr.Status.History[0].ChartVersion)
	if ready.Message != want || hr.Status.LastAttemptedRevision != hr.Status.History[0].ChartVersion {
		t.Errorf("the columns are %q and %q, last attempted was %q; want %q",
			hr.Status.History[0].ChartVersion, ready.Message, hr.Status.LastAttemptedRevision, want)
	}
}

// TestFluxDebug: `flux debug helmrelease` merges values and prints status and history. It uses the
// fields of helm-controller's API.
func TestFluxDebug(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("debugged", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("debugged", map[string]any{"message": "shown"})
	w.untilReady(hr)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	w.must(err)
	status, _, err := unstructured.NestedMap(content, "status")
	w.must(err)
	for _, field := range []string{
		"conditions", "history", "inventory", "lastAttemptedConfigDigest", "lastAttemptedGeneration", "lastAttemptedReleaseAction",
		"lastAttemptedRevision", "observedGeneration", "storageNamespace",
	} {
		if status[field] == nil {
			t.Errorf("status.%s is not there: %v", field, status)
		}
	}
	history, _, err := unstructured.NestedSlice(status, "history")
	w.must(err)
	snapshot := history[0].(map[string]any)
	for _, field := range []string{
		"apiVersion", "appVersion", "chartName", "chartVersion", "configDigest", "digest", "firstDeployed", "lastDeployed", "name",
		"namespace", "status", "version",
	} {
		if snapshot[field] == nil {
			t.Errorf("history[0].%s is not there: %v", field, snapshot)
		}
	}
}

// TestFluxEvents: `flux events --for HelmRelease/NAME` finds them by the object they
// are about; others, by annotation, the revision.
func TestFluxEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("told", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("told", nil)
	w.untilReady(hr)
	found := func() []corev1.Event {
		// A selector of fields is the API server's business: no cache has it.
		var list corev1.EventList
		w.must(suite.client.List(t.Context(), &list, client.InNamespace(w.namespace), client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", helmv2.HelmReleaseKind), fields.OneTermEqualSelector("involvedObject.name", hr.Name),
		)}))
		return list.Items
	}
	succeeded := func(e corev1.Event) bool { return e.Reason == helmv2.ReasonInstallSucceeded }
	w.until(hr, "its event", func(*helmv2.HelmRelease) bool { return slices.ContainsFunc(found(), succeeded) })
	events := found()
	e := events[slices.IndexFunc(events, succeeded)]
	what := condition(hr, "Ready").Message + ": app 9; 1 object created; source 1.0.0@sha256:"
	if e.Type != corev1.EventTypeNormal || !strings.HasPrefix(e.Message, what) || e.LastTimestamp.IsZero() ||
		e.InvolvedObject.UID != hr.UID || e.InvolvedObject.APIVersion != helmv2.GroupVersion.String() ||
		e.Annotations[helmv2.GroupVersion.Group+"/revision"] != hr.Status.History[0].ChartVersion {
		t.Errorf("the event is %+v", e)
	}
}

// TestFluxTraceAndTree: `flux trace` finds a HelmRelease by the labels of an object,
// `flux tree` the objects by the Secret that Helm stores the newest revision in.
func TestFluxTraceAndTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("traced", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("traced", nil)
	w.untilReady(hr)
	labels := w.configMap("traced").Labels
	if labels[helmv2.GroupVersion.Group+"/name"] != hr.Name || labels[helmv2.GroupVersion.Group+"/namespace"] != hr.Namespace {
		t.Errorf("the labels are %v", labels)
	}
	latest := hr.Status.History[0]
	secret := &corev1.Secret{}
	w.must(suite.client.Get(t.Context(), client.ObjectKey{
		Namespace: hr.Status.StorageNamespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", latest.Name, latest.Version),
	}, secret))
	if len(secret.Data["release"]) == 0 || latest.Namespace != w.namespace {
		t.Errorf("the Secret of %+v holds nothing", latest)
	}
	if entries := hr.Status.Inventory.Entries; len(entries) != 1 || entries[0].ID != w.namespace+"_traced__ConfigMap" || entries[0].Version != "v1" {
		t.Errorf("the inventory is %+v", entries)
	}
}
