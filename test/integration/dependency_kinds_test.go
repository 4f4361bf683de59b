// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// onKind is a dependency of another kind.
func onKind(apiVersion, kind, name string, readyExpr ...string) helmv2.DependencyReference {
	return helmv2.DependencyReference{APIVersion: apiVersion, Kind: kind, Name: name, ReadyExpr: strings.Join(readyExpr, "")}
}

// newKindsWorld skips a test if the HelmRelease CRD lacks the fields of this project.
func newKindsWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("apiVersion and kind are not a part of the definitions in PINTLE_CRDS")
	}
	return newWorld(t)
}

// kindOf is a definition of a namespaced kind with a status, which the server keeps
// apart.
const kindOf = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  scope: %[4]s
  names: {plural: %[1]ss, singular: %[1]s, kind: %[3]s}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// serveKind defines a kind, until the test ends.
func (w *world) serveKind(kind, group, scope string) {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(fmt.Sprintf(kindOf, strings.ToLower(kind), group, kind, scope)), crd))
	err := suite.client.Create(w.t.Context(), crd)
	if apierrors.IsAlreadyExists(err) {
		w.t.Fatalf("%s of %s is another test's", kind, group)
	}
	w.must(err)
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), crd) })
}

// put creates an object as soon as its kind is served.
func (w *world) put(o *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	untilTrue(w, "the kind of "+o.GetName(), func() bool { return suite.client.Create(w.t.Context(), o) == nil })
	return o
}

func (w *world) bare(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(w.namespace)
	o.SetName(name)
	return o
}

// setReady writes the status of an object: one condition Ready.
func (w *world) setReady(o *unstructured.Unstructured, status, reason, message string) {
	w.t.Helper()
	o.Object["status"] = map[string]any{
		"observedGeneration": o.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}},
	}
	w.must(suite.client.Status().Update(w.t.Context(), o))
}

// waits waits until a HelmRelease reports its unready dependencies.
func (w *world) waits(hr *helmv2.HelmRelease, texts ...string) {
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady, texts...)
}

// TestDependencyOfALaterKind: a dependency may refer to a kind without CRD. The controller polls
// only once an hour, so every step must be detected by a watch.
func TestDependencyOfALaterKind(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newKindsWorld(t)
	group := w.namespace + ".example.com"
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", nil, needs(onKind(group+"/v1", "Engine", "main")))
	w.waits(hr, "unable to get '"+w.namespace+"/main' dependency: no kind Engine in "+group+"/v1 is served yet")
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonDependencyNotReady, "is served yet")
	// A new dependency is polled a few times within eight seconds. After that only the watch of the
	// CRD detects it.
	untilTrue(w, "the last poll", func() bool { _, requeue := w.reconciled(hr); return requeue > time.Minute })

	w.serveKind("Engine", group, "Namespaced")
	w.waits(hr, "dependency: Engine '"+w.namespace+"/main' not found")
	engine := w.bare(group+"/v1", "Engine", "main")
	// An object without status counts as ready, so the status sets it to not ready.
	engine.Object["spec"] = map[string]any{"fuel": "diesel"}
	hr2 := w.release("picky", nil, needs(onKind(group+"/v1", "Engine", "main", "dep.spec.fuel == 'electric'")), func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" })
	w.waits(hr2, "not found")
	w.put(engine)
	w.waits(hr2, "is not ready according to readyExpr eval")
	w.untilAtRest(hr)

	// The next one is not ready at first.
	hr3 := w.release("late", nil, needs(onKind(group+"/v1", "Engine", "main")), func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" })
	w.untilAtRest(hr3)
	w.setReady(engine, "False", "Starting", "3 of 7 cylinders")
	w.edit(hr3, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
	w.waits(hr3, "dependency '"+w.namespace+"/main' is not ready: Ready of the Engine is False with reason Starting")
	if strings.Contains(condition(hr3, helmv2.ConditionReady).Message, "cylinders") {
		t.Error("it is quoted")
	}
	said := condition(hr3, helmv2.ConditionReady).Message
	w.setReady(engine, "False", "Starting", "4 of 7 cylinders")
	w.quiet(hr3)
	if got := condition(hr3, helmv2.ConditionReady).Message; got != said {
		t.Errorf("it says %q, and said %q", got, said)
	}
	w.setReady(engine, "True", "Running", "all of them")
	w.untilAtRest(hr3)
	if newest(hr3) != 2 {
		t.Errorf("revision %d", newest(hr3))
	}
	// A change of the spec triggers a reconciliation too.
	before := engine.DeepCopy()
	engine.Object["spec"] = map[string]any{"fuel": "electric"}
	w.must(suite.client.Patch(t.Context(), engine, client.MergeFrom(before)))
	w.untilAtRest(hr2)
}

// TestDependencyOfBuiltInKinds: dependencies on a Deployment, a Job, and a ConfigMap with
// readyExpr.
func TestDependencyOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", nil, needs(
		onKind("apps/v1", "Deployment", "web"), onKind("batch/v1", "Job", "migrate"), onKind("v1", "ConfigMap", "flags", "dep.data.open == 'yes'"),
	))
	w.waits(hr, "Deployment '"+w.namespace+"/web' not found")
	labels := map[string]string{"app": "web"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod},
	}
	w.must(suite.client.Create(t.Context(), web))
	w.waits(hr, "dependency '"+w.namespace+"/web' is not ready: the Deployment is InProgress with reason ")
	web.Status = appsv1.DeploymentStatus{
		ObservedGeneration: web.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
		},
	}
	w.must(suite.client.Status().Update(t.Context(), web))

	w.waits(hr, "Job '"+w.namespace+"/migrate' not found")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Labels = nil
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "migrate"}, Spec: batchv1.JobSpec{Template: pod}}
	w.must(suite.client.Create(t.Context(), job))
	w.waits(hr, "the Job is InProgress with reason JobNotStarted")
	now := metav1.Now()
	job.Status.StartTime = &now
	w.must(suite.client.Status().Update(t.Context(), job))
	w.waits(hr, "the Job is InProgress with reason JobNotComplete")
	job.Status.CompletionTime = &now
	job.Status.Succeeded = 1
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	w.must(suite.client.Status().Update(t.Context(), job))

	w.waits(hr, "ConfigMap '"+w.namespace+"/flags' not found")
	flags := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "flags"}}
	w.must(suite.client.Create(t.Context(), flags))
	w.waits(hr, "dependency '"+w.namespace+"/flags' is not ready according to readyExpr eval: it cannot be evaluated with this object")
	flags.Data = map[string]string{"open": "no"}
	w.must(suite.client.Update(t.Context(), flags))
	w.until(hr, "false", func(hr *helmv2.HelmRelease) bool {
		return strings.Contains(condition(hr, helmv2.ConditionReady).Message, "readyExpr eval. ")
	})
	flags.Data["open"] = "yes"
	w.must(suite.client.Update(t.Context(), flags))
	w.untilAtRest(hr)
}

// TestDependencyNeedsBoth: kind and version are given together, or the API server does
// not take them.
func TestDependencyNeedsBoth(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	for _, ref := range []helmv2.DependencyReference{onKind("", "Job", "x"), onKind("batch/v1", "", "x")} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "x"}}
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "x"}
		hr.Spec.DependsOn = []helmv2.DependencyReference{ref}
		if err := suite.client.Create(t.Context(), hr); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "apiVersion and kind must be specified together") {
			t.Errorf("%+v: %v", ref, err)
		}
	}
}

// TestDependencyIsReadAsTheRelease: a dependency is read with the permissions of the HelmRelease's
// ServiceAccount in this cluster, even if the release is installed elsewhere.
func TestDependencyIsReadAsTheRelease(t *testing.T) {
	t.Parallel()
	w := newKindsWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	vault := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "vault"}, StringData: map[string]string{"token": "hunter22"}}
	w.must(suite.client.Create(t.Context(), vault))
	for _, name := range []string{"app", "remote"} {
		w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}))
	}
	ask := needs(onKind("v1", "Secret", "vault", "base64.decode(dep.data.token).size() == 8"))
	hr := w.release("app", nil, ask, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "app" })
	remote := w.release("remote", nil, ask, func(hr *helmv2.HelmRelease) {
		hr.Spec.ServiceAccountName, hr.Spec.ChartRef.Name = "remote", "app"
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "no-matter"}}
	})
	for _, hr := range []*helmv2.HelmRelease{hr, remote} {
		w.waits(hr, "unable to get '"+w.namespace+"/vault' dependency: ", `"vault" is forbidden: User "system:serviceaccount:`+w.namespace+":"+hr.Name+`" cannot get resource "secrets"`, `namespace "`+w.namespace+`"`)
	}
	w.grant("app", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "app"}, everything())
	w.untilAllowed("system:serviceaccount:"+w.namespace+":app", everything())
	// Changes of permissions cause no event. Any change of the dependency triggers a
	// reconciliation.
	vault.Labels = map[string]string{"touched": "yes"}
	w.must(suite.client.Update(t.Context(), vault))
	w.untilAtRest(hr)
	w.quiet(remote)
	w.waits(remote, "is forbidden")
	w.edit(hr, needs(onKind("v1", "Secret", "vault", "int(dep.data.token) == 1")))
	w.waits(hr, "readyExpr eval: it cannot be evaluated with this object")
	if text := condition(hr, helmv2.ConditionReady).Message; strings.Contains(text, "aHVudGVy") || strings.Contains(text, "hunter") {
		t.Errorf("the Secret is quoted: %s", text)
	}
	w.edit(hr, needs(onKind("rbac.authorization.k8s.io/v1", "ClusterRole", "cluster-admin")))
	w.waits(hr, "unable to get 'cluster-admin' dependency: ", `"cluster-admin" is forbidden: User "system:serviceaccount:`+w.namespace+`:app" cannot get resource "clusterroles"`, "at the cluster scope")
}

// TestDependencyInAnotherNamespace: with --no-cross-namespace-refs, expressions see only the labels
// of a Secret in another namespace.
func TestDependencyInAnotherNamespace(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w, there := newKindsWorld(t), newWorld(t)
	strict := w.ownController(config{settings: inputs.Settings{DependencyRetry: time.Hour, NoCrossNamespaceRefs: true}})
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	vault := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: there.namespace, Name: "vault"}, StringData: map[string]string{"token": "hunter22"}}
	w.must(suite.client.Create(t.Context(), vault))
	ref := onKind("v1", "Secret", "vault", "has(dep.data.token) || has(dep.metadata.managedFields)")
	ref.Namespace = there.namespace
	hr := w.release("app", nil, strict, needs(ref))
	w.waits(hr, "'"+there.namespace+"/vault' is not ready according to readyExpr eval: it may use only labels and status of objects outside its own namespace")
	ref.ReadyExpr = "dep.metadata.labels.open == 'yes' && !has(dep.data)"
	w.edit(hr, needs(ref))
	w.waits(hr, "is not ready according to readyExpr eval")
	vault.Labels = map[string]string{"open": "yes"}
	w.must(suite.client.Update(t.Context(), vault))
	w.untilAtRest(hr)
}

// TestDependencyOfAnotherKindAtRest: a ready dependency is neither watched nor read until the next
// reconciliation.
func TestDependencyOfAnotherKindAtRest(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newKindsWorld(t)
	var mu sync.Mutex
	var requests []string
	mine := w.ownController(config{settings: inputs.Settings{DependencyRetry: time.Hour}, wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/configmaps/flags") || strings.Contains(r.URL.RawQuery, "metadata.name%3Dflags") {
				mu.Lock()
				requests = append(requests, r.Method+" "+r.URL.String())
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	}})
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "flags"}}))
	hr := w.release("app", nil, mine, needs(onKind("v1", "ConfigMap", "flags")))
	w.untilAtRest(hr)
	mu.Lock()
	for _, r := range requests {
		if strings.Contains(r, "watch=") {
			t.Errorf("no release waits: %s", r)
		}
	}
	mu.Unlock()
	read := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(requests)
	}
	// A ClusterReleasePolicy of a parallel test reconciles all releases.
	before, after := 0, -1
	for try := 0; try < 3 && after != before; try++ {
		before = read()
		w.quiet(hr)
		after = read()
	}
	mu.Lock()
	defer mu.Unlock()
	if before == 0 || after != before {
		t.Errorf("the dependency of a release in sync was read: %v", requests)
	}
}
