// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// scaledTemplate is a Deployment with replicas in the chart.
	scaledTemplate = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 2
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: c, image: example.com/none, resources: {requests: {cpu: 1000m}}}]}
`
	confidentialTemplate = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  password: open sesame\n"
)

// detecting enables drift detection. It disables waiting, since no controller makes Deployments
// ready.
func detecting(mode helmv2.DriftDetectionMode, ignore ...helmv2.IgnoreRule) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: mode, Ignore: ignore}
		hr.Spec.Install = &helmv2.Install{DisableWait: true}
		hr.Spec.Upgrade = &helmv2.Upgrade{DisableWait: true}
	}
}

func driftingChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "note", "1.0.0", map[string]string{
		"templates/data.yaml": dataTemplate, "templates/ports.yaml": portsTemplate, "templates/scaled.yaml": scaledTemplate,
		"templates/secret.yaml": confidentialTemplate,
	})
}

// drifting installs a release that is in sync.
func (w *world) drifting(mode helmv2.DriftDetectionMode, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.t.Helper()
	w.publish("app", "1.0.0", driftingChart(w.t))
	hr := w.release("app", values("data", values("a", "1", "b", "1")), append(edit, detecting(mode))...)
	w.untilReady(hr)
	w.untilSays(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, "No drift detected against the cluster state")
	return hr
}

// changeAs changes an object as another field manager, at any resourceVersion.
func changeAs[T client.Object](w *world, manager string, object T, change func(T)) {
	w.t.Helper()
	for {
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
		change(object)
		err := suite.client.Update(w.t.Context(), object, client.FieldOwner(manager))
		if !apierrors.IsConflict(err) {
			w.must(err)
			return
		}
	}
}

func (w *world) deployed(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

// driftEvents returns the events about drift, by reason.
func (w *world) driftEvents(hr *helmv2.HelmRelease) map[string][]string {
	w.t.Helper()
	var list corev1.EventList
	w.must(suite.client.List(w.t.Context(), &list, client.InNamespace(hr.Namespace)))
	all := map[string][]string{}
	for _, e := range list.Items {
		if strings.Contains(e.Reason, "Drift") && e.InvolvedObject.Name == hr.Name {
			for range max(1, e.Count) {
				all[e.Reason] = append(all[e.Reason], e.Message)
			}
		}
	}
	return all
}

// TestDriftCorrected: a changed and a removed object are restored without a new revision. Events
// name the manager of each change.
func TestDriftCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	changeAs(w, "kubectl-edit", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["a"], cm.Data["more"] = "2", "1"; delete(cm.Data, "b") })
	untilTrue(w, "the data to be the chart's", func() bool {
		data := w.configMap("app").Data
		return data["a"] == "1" && data["b"] == "1" && data["more"] == "1"
	}, w.allConfigMaps())
	w.must(suite.client.Delete(t.Context(), w.service("app")))
	untilTrue(w, "the service to be back", func() bool {
		return suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "app"}, &corev1.Service{}) == nil
	})
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, "ConfigMap/"+w.namespace+"/app changed", ".data.a", `"2" instead of "1"`, "by kubectl-edit (Update)")
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCorrected, "ConfigMap/"+w.namespace+"/app patched")
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, "Service/"+w.namespace+"/app removed")
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCorrected, "Service/"+w.namespace+"/app created")
	w.untilReady(hr)
	w.untilSays(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected)
	if n := len(w.stored("app")); n != 1 {
		t.Errorf("there are %d revisions", n)
	}
}

// quiet is how long TestDriftQuiet listens: PINTLE_QUIET, or a moment.
func quiet(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("PINTLE_QUIET")
	if text == "" {
		return time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDriftQuiet: permitted changes of other clients cause neither events nor writes, and do not
// hide drift.
func TestDriftQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	// The webhook acts on creation only, so that another apply would undo its change.
	template := w.object(driftDeployment)
	template.SetAnnotations(map[string]string{"some": "thing"})
	w.admit(template, `[{"op":"add","path":"/metadata/labels/admitted","value":"yes"},
		{"op":"add","path":"/metadata/annotations/admitted","value":"yes"},
		{"op":"replace","path":"/spec/template/spec/containers/0/resources","value":{"requests":{"cpu":"3"}}}]`, "CREATE")
	hr := w.drifting(helmv2.DriftDetectionEnabled, func(hr *helmv2.HelmRelease) {
		hr.Spec.DriftDetection = nil
	})
	w.autoscaler("app")
	scale := func(n int32) {
		to := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		w.must(suite.client.SubResource("scale").Update(t.Context(), w.deployed("app"), client.WithSubResourceBody(to), client.FieldOwner("kube-controller-manager")))
	}
	scale(7)
	changeAs(w, "operator", w.deployed("app"), func(d *appsv1.Deployment) {
		if d.Labels["admitted"] != "yes" || d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String() != "3" {
			t.Fatalf("it was not admitted: %+v", d)
		}
		d.Annotations["operator/seen"] = "yes"
		d.Labels["operator"] = "yes"
		d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: "Exists"}}
	})
	changeAs(w, "operator", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["operator"] = "yes" })
	w.untilSays(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, "Deployment/"+w.namespace+"/app", ".spec.replicas", "kube-controller-manager", "paths: [\"/spec/replicas\"]")
	d := w.deployed("app")
	for i, end := 0, time.Now().Add(quiet(t)); time.Now().Before(end); i++ {
		scale(int32(7 + i%2))
		changeAs(w, "operator", d, func(d *appsv1.Deployment) { d.Annotations["operator/seen"] = strconv.Itoa(i) })
		version := d.ResourceVersion
		if i%10 == 0 {
			token := "look " + strconv.Itoa(i)
			w.ask(hr, token)
			w.until(hr, "the request to be handled", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == token })
		}
		w.noticed(hr, d)
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		if d.ResourceVersion != version {
			t.Fatalf("resourceVersion %s after %s: %v", d.ResourceVersion, version, d.ManagedFields)
		}
	}
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCeded)
	if events := w.driftEvents(hr); len(events) != 1 || len(events[helmv2.ReasonDriftCeded]) != 1 {
		t.Fatalf("events %q", events)
	}
	scale(7)
	changeAs(w, "kubectl-set", d, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/other" })
	untilTrue(w, "the image to be the chart's", func() bool {
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		return d.Spec.Template.Spec.Containers[0].Image == "example.com/none"
	})
	if *d.Spec.Replicas != 7 || d.Labels["operator"] != "yes" || len(d.Spec.Template.Spec.Tolerations) != 1 {
		t.Errorf("the correction went too far: %+v", d.Spec)
	}
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCorrected, "Deployment")
	if events := w.driftEvents(hr); len(events[helmv2.ReasonDriftDetected]) != 1 || !strings.Contains(events[helmv2.ReasonDriftDetected][0], `.spec.template.spec.containers[name="c"].image`) {
		t.Errorf("events: %q", events)
	}
}

// TestDriftSecret: values of a Secret are not reported, and are corrected.
func TestDriftSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}}
	changeAs(w, "editor", secret, func(s *corev1.Secret) { s.Data["password"] = []byte("correct horse") })
	untilTrue(w, "the password to be the chart's", func() bool {
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
		return string(secret.Data["password"]) == "open sesame"
	})
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, "Secret/"+w.namespace+"/app changed", ".data.password", "by editor")
	w.untilReady(hr)
	said, err := json.Marshal([]any{hr, w.driftEvents(hr)})
	w.must(err)
	if suite.log != "" {
		logged, err := os.ReadFile(suite.log)
		w.must(err)
		said = append(said, logged...)
	}
	for _, value := range []string{"open sesame", "correct horse", "b3BlbiBzZXNhbWU=", "Y29ycmVjdCBob3JzZQ=="} {
		if strings.Contains(string(said), value) {
			t.Errorf("%q is said", value)
		}
	}
}

// TestDriftNotCorrected: a failed correction is reported and does not prevent other corrections.
func TestDriftNotCorrected(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionWarn)
	d := w.deployed("app")
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	other := d.DeepCopy()
	other.ResourceVersion, other.UID, other.ManagedFields = "", "", nil
	other.Spec.Selector.MatchLabels["app"], other.Spec.Template.Labels["app"] = "other", "other"
	w.must(suite.client.Delete(t.Context(), d))
	w.must(suite.client.Create(t.Context(), other, client.FieldOwner("editor")))
	changeAs(w, "editor", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["a"] = "2" })
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.DriftDetection.Mode = helmv2.DriftDetectionEnabled })
	untilTrue(w, "the data to be the chart's", func() bool { return w.configMap("app").Data["a"] == "1" }, w.allConfigMaps())
	w.untilSays(hr, "Drifted", metav1.ConditionTrue, helmv2.ReasonDriftDetected,
		".spec.selector", "by editor", "Failed to ", "correct cluster state", "Deployment/"+w.namespace+"/app: ", "immutable")
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftCorrectionFailed, "immutable")
	w.untilSays(hr, "Ready", metav1.ConditionTrue, helmv2.ReasonInstallSucceeded)
}

// TestDriftOfListKey: the number of a port is its merge key. An apply after its change would add a
// second port with the same name, which the API server rejects.
func TestDriftOfListKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	changeAs(w, "kubectl-edit", w.service("app"), func(s *corev1.Service) {
		s.Spec.Ports[0].Port = 8081
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "more", Port: 9000})
	})
	untilTrue(w, "the port to be the chart's", func() bool { return w.service("app").Spec.Ports[0].Port == 80 })
	if ports := w.service("app").Spec.Ports; len(ports) != 2 || ports[1].Port != 9000 {
		t.Errorf("ports: %+v", ports)
	}
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, ".spec.ports.0.port: 8081 instead of 80", "by kubectl-edit")
	w.untilSays(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected)
	// The port is owned by a patch now.
	changeAs(w, "kubectl-edit", w.service("app"), func(s *corev1.Service) { s.Spec.Ports[0].Port = 8082 })
	untilTrue(w, "the port to be the chart's", func() bool { return w.service("app").Spec.Ports[0].Port == 80 })
	w.upgradeTo(hr, 2, values("data", values("a", "1"), "port", 81))
	if ports := w.service("app").Spec.Ports; len(ports) != 2 || ports[0].Port != 81 && ports[1].Port != 81 {
		t.Errorf("ports after an upgrade: %+v", ports)
	}
}

// TestDriftFight: corrections are limited if another client undoes each of them at once, and the
// condition names its manager.
func TestDriftFight(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		fights, cm := 0, w.configMap("app")
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if err := suite.client.Get(ctx, client.ObjectKeyFromObject(cm), cm); err == nil && cm.Data["a"] == "1" {
				cm.Data["a"] = "2"
				if suite.client.Update(ctx, cm, client.FieldOwner("fighter")) == nil {
					fights++
				}
			}
		}
		ended <- fights
	}()
	w.untilSays(hr, "Drifted", metav1.ConditionTrue, helmv2.ReasonDriftDetected, "corrected less often", "ConfigMap/"+w.namespace+"/app", ".data.a", "by fighter (Update)", "paths: [\"/data/a\"]")
	w.must(suite.client.Delete(t.Context(), w.service("app")))
	untilTrue(w, "the removed object to be created again", func() bool {
		return suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "app"}, &corev1.Service{}) == nil
	})
	w.quiet(hr)
	stop()
	if n := <-ended; n > 6 {
		t.Errorf("%d rounds", n)
	}
}

// TestDriftOverride: additions of an overridden manager are removed.
func TestDriftOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.ownController(config{overridden: []string{"kubectl-edit"}})
	hr := w.drifting(helmv2.DriftDetectionWarn, mine)
	changeAs(w, "operator", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["operator"] = "1" })
	changeAs(w, "kubectl-edit", w.configMap("app"), func(cm *corev1.ConfigMap) { cm.Data["added"] = "1" })
	w.untilSays(hr, "Drifted", metav1.ConditionTrue, helmv2.ReasonDriftDetected, "ConfigMap", ".data.added", "1 removals", "by kubectl-edit")
	if fields := w.configMap("app").ManagedFields; len(fields) != 3 {
		t.Errorf("looking has written managed fields: %v", fields)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.DriftDetection.Mode = helmv2.DriftDetectionEnabled })
	untilTrue(w, "the added field to be removed", func() bool { _, there := w.configMap("app").Data["added"]; return !there })
	if data := w.configMap("app").Data; data["operator"] != "1" || data["a"] != "1" {
		t.Errorf("data is %v", data)
	}
	w.untilSays(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected)
}

// TestDriftReadOnce: a controller that starts reads the newest revision once, to decide
// and to compare its objects.
func TestDriftReadOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	own := config{name: w.namespace}
	stop, err := startController(own)
	w.must(err)
	hr := w.drifting(helmv2.DriftDetectionEnabled, func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: own.name} })
	w.quiet(hr)
	w.must(stop())
	var read, compared atomic.Int64
	w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			switch {
			case req.Method != http.MethodGet:
			case strings.HasSuffix(req.URL.Path, "/"+w.namespace+"/secrets/sh.helm.release.v1.app.v1"):
				read.Add(1)
			case strings.HasSuffix(req.URL.Path, "/"+w.namespace+"/deployments/app"):
				compared.Add(1)
			}
			return next.RoundTrip(req)
		})
	}})
	w.ask(hr, "again")
	w.until(hr, "the request to be handled", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == "again" })
	w.quiet(hr)
	if read.Load() != 1 || compared.Load() == 0 {
		t.Errorf("the revision was read %d times, an object of it %d times", read.Load(), compared.Load())
	}
}

// TestDriftCorrectsWhatItSaw: an object that was changed after its comparison is compared again
// before it is corrected. It may be excluded from drift detection by then.
func TestDriftCorrectsWhatItSaw(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	way, err := cluster.Connect(suite.config)
	w.must(err)
	manifest := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: " + w.namespace + "}\ndata: {a: '1'}\n"
	}
	look := drift.Request{
		Release: client.ObjectKey{Namespace: w.namespace, Name: "app"},
		Objects: func(context.Context) ([]*resource.Info, []release.Object, error) {
			text := strings.NewReader(manifest("left") + "---\n" + manifest("changed") + "---\n" + manifest("gone"))
			all, err := resource.NewBuilder(way).Unstructured().Stream(text, "manifest").Flatten().Do().Infos()
			return all, nil, err
		},
		Changed: func(schema.GroupVersionResource, string, string, string, string) drift.Change { return drift.Unknown },
	}
	for _, name := range []string{"left", "changed", "gone"} {
		w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: map[string]string{"a": "2"},
		}, client.FieldOwner("editor")))
	}
	d := drift.NewDetector(time.Now)
	found, err := d.Detect(t.Context(), look)
	w.must(err)
	if len(found.Objects) != 3 {
		t.Fatalf("found %+v", found)
	}
	changeAs(w, "editor", w.configMap("left"), func(cm *corev1.ConfigMap) {
		cm.Annotations = map[string]string{helmv2.MetadataDriftDetection: helmv2.MetadataDriftDetectionDisabled}
	})
	changeAs(w, "editor", w.configMap("changed"), func(cm *corev1.ConfigMap) { cm.Data["a"] = "3" })
	w.must(suite.client.Delete(t.Context(), w.configMap("gone")))
	if corrected, failed := d.Correct(t.Context(), look, false); len(corrected) != 3 || len(failed) != 0 {
		t.Errorf("corrected %+v, failed %+v", corrected, failed)
	}
	for name, want := range map[string]string{"left": "2", "changed": "1", "gone": "1"} {
		if got := w.configMap(name).Data["a"]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestDriftRendersAgain: a chart that looked for a missing CRD is upgraded when the CRD is created,
// and one that looks up an object on request. A chart with random output is never upgraded.
func TestDriftRendersAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.publish("asking", "1.0.0", asking(t, group))
	w.publish("looking", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {seen: {{ (lookup "v1" "ConfigMap" .Release.Namespace "elsewhere").data | default dict | toJson | quote }}}
`}))
	w.publish("random", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {version: {{ .Capabilities.APIVersions.Has "none/v1" | quote }}, random: {{ randAlphaNum 9 }}}
`}))
	asks := w.release("asking", nil, detecting(helmv2.DriftDetectionEnabled))
	warned := w.release("warned", nil, detecting(helmv2.DriftDetectionWarn), func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "asking" })
	looks := w.release("looking", nil, detecting(helmv2.DriftDetectionEnabled))
	random := w.release("random", nil, detecting(helmv2.DriftDetectionEnabled))
	for _, hr := range []*helmv2.HelmRelease{asks, warned, looks, random} {
		w.untilReady(hr)
	}
	w.define(group)
	w.until(asks, "revision 2", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	if got := w.configMap("asking").Data["version"]; got != "true" {
		t.Errorf("it was rendered with %s", got)
	}
	w.untilSays(warned, "Drifted", metav1.ConditionTrue, helmv2.ReasonDriftDetected, "the chart reads the cluster, and is rendered otherwise now")
	w.untilSays(random, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, "renders another manifest each time")
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "elsewhere"}, Data: map[string]string{"a": "1"}}))
	w.ask(looks, "look")
	w.until(looks, "revision 2", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	if got := w.configMap("looking").Data["seen"]; got != `{"a":"1"}` {
		t.Errorf("it was rendered with %s", got)
	}
	for _, hr := range []*helmv2.HelmRelease{asks, warned, looks, random} {
		w.ask(hr, "again")
		w.until(hr, "the request to be handled", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == "again" })
		w.quiet(hr)
	}
	for hr, want := range map[*helmv2.HelmRelease]int{asks: 2, warned: 1, looks: 2, random: 1} {
		if n := newest(hr); n != want {
			t.Errorf("%s is at revision %d, want %d", hr.Name, n, want)
		}
	}
}

// TestDriftOfWhatGoes: an object that is being deleted is left alone, and created again once it is
// gone.
func TestDriftOfWhatGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	const finalizer = "pintle.dev/test"
	cm := w.configMap("app")
	changeAs(w, "editor", cm, func(cm *corev1.ConfigMap) { cm.Finalizers = []string{finalizer} })
	w.must(suite.client.Delete(t.Context(), cm))
	changeAs(w, "editor", cm, func(cm *corev1.ConfigMap) { cm.Data["a"] = "2" })
	w.quiet(hr)
	if events := w.driftEvents(hr); len(events) != 0 || w.configMap("app").Data["a"] != "2" {
		t.Errorf("it is corrected while it goes: %q", events)
	}
	changeAs(w, "editor", cm, func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	untilTrue(w, "it to be back", func() bool {
		now := &corev1.ConfigMap{}
		return suite.client.Get(t.Context(), client.ObjectKeyFromObject(cm), now) == nil && now.UID != cm.UID && now.Data["a"] == "1"
	})
}
