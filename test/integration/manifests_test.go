// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// emptyCluster starts an API server with only the source CRDs. The suite uses it until the test
// ends.
func emptyCluster(t *testing.T) {
	t.Helper()
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "source-crds")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	before := suite
	elsewhere, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	end, err := useServer(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		suite = before
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// apply is `kubectl apply --server-side` with retries while a CRD or namespace is missing.
func apply(t *testing.T, objects []*unstructured.Unstructured, options ...client.ApplyOption) {
	t.Helper()
	for _, object := range objects {
		// Definitions are served a moment after they are made, and namespaces are needed at once.
		var err error
		for {
			draft := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
			err = suite.client.Apply(t.Context(), draft, append(options, client.FieldOwner("kubectl"), client.ForceOwnership)...)
			if err == nil || !strings.Contains(err.Error(), "no matches for kind") && !strings.Contains(err.Error(), "could not find the requested resource") {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// build is `kustomize build` of a folder of config.
func build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := harness.Kustomize(filepath.Join("config", dir))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// deployed is the controller that a Deployment describes.
type deployed struct {
	*harness.Controller

	health, metrics string
}

// deploymentIn returns the only Deployment of some objects.
func deploymentIn(t *testing.T, objects []*unstructured.Unstructured) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("a Deployment of one container is needed, and there is %+v", d)
	}
	return d
}

// run starts the executable as the Deployment describes: with its arguments, environment and
// ServiceAccount. Further arguments move its addresses to the loopback interface, since other tests
// may run on this machine.
func (w *world) run(path string, d *appsv1.Deployment, further ...string) *deployed {
	w.t.Helper()
	c := d.Spec.Template.Spec.Containers[0]
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir(), "KUBECONFIG=" + w.kubeconfigOf(d.Namespace, d.Spec.Template.Spec.ServiceAccountName)}
	for _, e := range c.Env {
		value := e.Value
		switch {
		case e.ValueFrom == nil:
		case e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace":
			value = d.Namespace
		case e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory":
			value = strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
		default:
			w.t.Fatalf("the test does not support the source of %s", e.Name)
		}
		env = append(env, e.Name+"="+value)
	}
	health, err := harness.FreeAddress(w.t.Context())
	w.must(err)
	metrics, err := harness.FreeAddress(w.t.Context())
	w.must(err)
	args := append(slices.Clone(c.Args), append(further, "--health-addr="+health, "--metrics-addr="+metrics)...)
	log := filepath.Join(w.t.TempDir(), "controller.log")
	p := &deployed{Controller: harness.NewController(path, args, env, log), health: health, metrics: metrics}
	w.must(p.Start())
	w.t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("the controller's log ends:\n%s", p.LogTail(40))
		}
	})
	return p
}

// kubeconfigOf writes a kubeconfig of a ServiceAccount, with a token as its pod has.
func (w *world) kubeconfigOf(namespace, name string) string {
	w.t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.must(suite.client.SubResource("token").Create(w.t.Context(), account, request))
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	config := &rest.Config{Host: suite.config.Host, BearerToken: request.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: suite.config.CAData}}
	w.must(os.WriteFile(path, kubeconfig(w.t, config), 0o600))
	return path
}

// untilServes waits until a probe or the metrics are answered.
func (w *world) untilServes(p *deployed, url string) {
	w.t.Helper()
	untilTrue(w, url+" to answer", func() bool {
		request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, http.NoBody)
		w.must(err)
		answer, err := http.DefaultClient.Do(request)
		if p.Ended() != nil {
			w.t.Fatalf("%s does not answer: %v; %v", url, err, p.Ended())
		}
		if err != nil {
			return false
		}
		w.must(answer.Body.Close())
		return answer.StatusCode == http.StatusOK
	})
}

// untilLeads waits until the Lease has a holder.
func (w *world) untilLeads(namespace string) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: "helm-controller-leader-election"}
	untilTrue(w, "a holder of the Lease in "+namespace, func() bool {
		lease := &coordinationv1.Lease{}
		err := suite.client.Get(w.t.Context(), key, lease)
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	}, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
}

// executable builds the controller as the image has it.
func executable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manager")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir, cmd.Env = harness.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestManifests: the manifests of config work on an empty cluster. First with the permissions of
// config/default, then with helm-controller's arguments and all permissions.
func TestManifests(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it replaces the API server of the suite.
	operationsServed(t)
	emptyCluster(t)
	path := executable(t)
	least := build(t, "default")
	apply(t, least)

	for _, dir := range []string{"default", "cluster-admin", "samples", "samples/operations", "samples/policies", "samples/values"} {
		t.Run("DryRun/"+dir, func(t *testing.T) { apply(t, inNamespace(build(t, dir)), client.DryRunAll) })
	}
	t.Run("DryRun/rbac", func(t *testing.T) {
		people, err := harness.ReadObjects(filepath.Join(harness.Root(), "config", "rbac"))
		if err != nil {
			t.Fatal(err)
		}
		apply(t, inNamespace(people), client.DryRunAll)
	})
	t.Run("LeastPrivilege", func(t *testing.T) { liveWithLeastPrivilege(t, path, deploymentIn(t, least)) })
	t.Run("Page", func(t *testing.T) { pageWithLeastPrivilege(t, path) })
	t.Run("ReferenceArguments", func(t *testing.T) { liveWithReferenceArguments(t, path) })
}

// inNamespace lets objects be in a namespace that exists, unless they are in one already.
func inNamespace(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, object := range objects {
		cluster := strings.HasPrefix(object.GetKind(), "Cluster") || object.GetKind() == "Namespace" || object.GetKind() == "CustomResourceDefinition"
		if !cluster && (object.GetNamespace() == "" || object.GetNamespace() == "system") {
			object.SetNamespace("helm-system")
		}
	}
	return objects
}

// liveWithLeastPrivilege installs, upgrades and deletes a tenant's release with a controller that
// has only the permissions of config/default.
func liveWithLeastPrivilege(t *testing.T, path string, d *appsv1.Deployment) {
	w := newWorld(t)
	p := w.run(path, d)
	w.untilServes(p, "http://"+p.health+"/readyz")
	w.untilServes(p, "http://"+p.health+"/healthz")
	w.untilServes(p, "http://"+p.metrics+"/metrics")
	w.untilLeads(d.Namespace)

	w.account("tenant", "configmaps", "secrets", "services")
	tenant := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"}
	w.grant("jobs", tenant, rule("batch", []string{"jobs"}, []string{"*"}), rule(opsv1alpha1.Group, []string{"operations/finalizers"}, []string{"update"}))
	w.secret("words", map[string][]byte{"message": []byte("hello")}, map[string]string{watchLabel: "Enabled"})

	w.publish("web", "1.0.0", hooked(t, "1.0.0", "pre-rollback", service))
	hr := w.release("web", nil, as("tenant"), detecting(helmv2.DriftDetectionEnabled), func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "words", ValuesKey: "message", TargetPath: "message"}}
	})
	w.untilReady(hr)
	w.untilMessage("web", "hello")
	w.publish("web", "1.1.0", hooked(t, "1.1.0", "pre-rollback", service))
	w.until(hr, "revision 2", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	w.untilReady(hr)

	w.annotate(hr, v1alpha1.AnnotationPlan, "now")
	w.untilPlanned(hr, "the requested one", func(p *v1alpha1.ReleasePlan) bool {
		return planCondition(p, v1alpha1.ConditionReady) == "True/Computed"
	})
	w.annotate(hr, v1alpha1.AnnotationPlan, "")

	w.untilMended(hr)
	if log := readFile(t, p.LogPath); !bytes.Contains(log, []byte("Objects of a kind cannot be watched for now")) {
		t.Error("the log does not report that changes are not watched")
	}

	op := w.operate(hr, "migrate")
	w.succeed(op)
	w.tidy(op)
	if op.Status.Phase != opsv1alpha1.PhaseSucceeded {
		t.Errorf("status is %+v", op.Status)
	}
	w.ownHelmChart()
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if n := len(w.stored("web")); n != 0 {
		t.Errorf("%d revisions are left", n)
	}
	w.refused(d)
	w.lacksNoRight(p, d)
	var events corev1.EventList
	w.must(suite.client.List(t.Context(), &events, client.InNamespace(w.namespace)))
	if len(events.Items) == 0 {
		t.Error("there are no events")
	}
}

// lacksNoRight checks that no request of the controller itself was denied. It may not watch all kinds.
func (w *world) lacksNoRight(p *deployed, d *appsv1.Deployment) {
	w.t.Helper()
	user := "system:serviceaccount:" + d.Namespace + ":" + d.Spec.Template.Spec.ServiceAccountName
	for line := range bytes.Lines(readFile(w.t, p.LogPath)) {
		if bytes.Contains(line, []byte(user)) && bytes.Contains(line, []byte("forbidden")) && !bytes.Contains(line, []byte("cannot be watched for now")) {
			w.t.Errorf("it may not do something that it does: %s", line)
		}
	}
}

// service is an object that the controller itself has no permission to read.
const service = `---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {app: {{ .Release.Name }}}
  ports: [{port: 80}]
`

// untilMended changes objects of a release and waits for the correction. The controller has
// permission to watch ConfigMaps. It compares other kinds only at the interval or on request.
func (w *world) untilMended(hr *helmv2.HelmRelease) {
	w.t.Helper()
	changeAs(w, "editor", w.configMap(hr.Name), func(cm *corev1.ConfigMap) { cm.Data["message"] = "theirs" })
	w.untilMessage(hr.Name, "hello")
	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: hr.Name}}
	changeAs(w, "editor", live, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "theirs"} })
	// A comparison is cached for some seconds, also for requests, so the request is repeated.
	var asked time.Time
	untilTrue(w, "its Service to be as it was", func() bool {
		if time.Since(asked) > time.Second {
			asked = time.Now()
			w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), hr))
			w.edit(hr, func(hr *helmv2.HelmRelease) {
				hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: asked.String()}
			})
		}
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(live), live))
		return live.Spec.Selector["app"] == hr.Name
	})
}

// ownHelmChart has the controller make a HelmChart and take it away again, by its own rights.
func (w *world) ownHelmChart() {
	w.t.Helper()
	w.fetch(w.helmRepository("https://charts.example.com"))
	w.must(suite.client.Create(w.t.Context(), &v1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sources"},
		Spec: v1alpha1.ReleasePolicySpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"charted": "true"}}, Charts: &v1alpha1.ChartPolicy{Sources: []string{"https://charts.example.com/*"}},
		},
	}))
	hr := w.release("charted", nil, as("tenant"), templated(w.namespace), func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{"charted": "true"} })
	key := client.ObjectKey{Namespace: w.namespace, Name: w.namespace + "-charted"}
	w.until(hr, "its HelmChart", func(*helmv2.HelmRelease) bool {
		return suite.client.Get(w.t.Context(), key, &sourcev1.HelmChart{}) == nil
	})
	w.fill(key, "1.0.0")
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = ">=1.0.0" })
	w.until(hr, "another version", func(*helmv2.HelmRelease) bool {
		chart, found := w.helmChart(key)
		return found && chart.Spec.Version == ">=1.0.0"
	})
	w.fill(key, "1.0.1")
	w.untilReady(hr)
	w.must(suite.client.Delete(w.t.Context(), hr))
	w.untilGone(hr)
	if _, found := w.helmChart(key); found {
		w.t.Error("the HelmChart is left")
	}
}

// refused expects that a release without ServiceAccount is rejected with the name of the denied
// identity, and that its templates read nothing.
func (w *world) refused(d *appsv1.Deployment) {
	w.t.Helper()
	w.secret("theirs", map[string][]byte{"a": []byte("b")}, nil)
	w.publish("unprivileged", "1.0.0", pack(w.t, "note", "1.0.0", map[string]string{
		"templates/cm.yaml": `{{ fail (toString (lookup "v1" "Secret" "` + w.namespace + `" "theirs")) }}`,
	}))
	hr := w.release("unprivileged", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "acts as "+w.namespace+"/helm-release (--default-service-account)", "may not read Secrets")
	status, err := json.Marshal(hr.Status)
	w.must(err)
	if bytes.Contains(status, []byte("theirs")) || bytes.Contains(status, []byte(d.Spec.Template.Spec.ServiceAccountName)) {
		w.t.Errorf("a request had other permissions: %s", status)
	}
	w.must(suite.client.Delete(w.t.Context(), hr))
	w.untilGone(hr)
}

// liveWithReferenceArguments starts the executable with helm-controller's arguments, in its
// namespace, and with the rights that it has there.
func liveWithReferenceArguments(t *testing.T, path string) {
	w := newWorld(t)
	var object unstructured.Unstructured
	w.must(yaml.Unmarshal(readFile(t, filepath.Join("testdata", "reference-deployment.yaml")), &object.Object))
	theirs := deploymentIn(t, []*unstructured.Unstructured{&object})
	meta := metav1.ObjectMeta{Namespace: theirs.Namespace, Name: theirs.Spec.Template.Spec.ServiceAccountName}
	w.must(suite.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: theirs.Namespace}}))
	w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}))
	w.must(suite.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-reconciler"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}},
	}))
	p := w.run(path, theirs)
	w.untilServes(p, "http://"+p.health+"/readyz")
	w.untilServes(p, "http://"+p.metrics+"/metrics")
	w.untilLeads(theirs.Namespace)
	w.publish("plain", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("plain", nil)
	w.untilReady(hr)
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if tail := p.LogTail(1 << 20); strings.Contains(tail, "forbidden") || strings.Contains(tail, "panic") {
		t.Errorf("its log is\n%s", tail)
	}
}

func (w *world) untilMessage(name, want string) {
	w.t.Helper()
	untilTrue(w, "the message "+want, func() bool { return w.configMap(name).Data["message"] == want }, w.allConfigMaps())
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
