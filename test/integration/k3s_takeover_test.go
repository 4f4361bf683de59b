// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// installK3s installs a chart as the Job of k3s does: with the label of its controller.
func (w *world) installK3s(name, values string, labels map[string]string) {
	w.t.Helper()
	config := w.helmByHand()
	if c, is := config.KubeClient.(*kube.Client); is {
		c.Namespace = w.namespace
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.Labels = name, w.namespace, labels
	loaded, err := loader.LoadArchive(bytes.NewReader(configMapChart(w.t, "1.0.0")))
	w.must(err)
	given := map[string]any{}
	w.must(yaml.Unmarshal([]byte(values), &given))
	_, err = install.Run(loaded, given)
	w.must(err)
}

// k3sStatus changes the status of the newest revision of a release.
func (w *world) k3sStatus(name string, status helmrelease.Status) {
	w.t.Helper()
	storage := w.helmByHand().Releases
	last, err := storage.Last(name)
	w.must(err)
	last.Info.Status = status
	w.must(storage.Update(last))
}

func k3sHash() map[string]string { return map[string]string{cattlev1.LabelConfigHash: "ABCDEF"} }

// giveBack names k3s' controller in the annotation of a HelmChart.
func giveBack(c *cattlev1.HelmChart) { c.Annotations[cattlev1.AnnotationManagedBy] = "helm-controller" }

// TestK3sTakeover: a release that k3s' controller has made is taken over and handed back without a new
// revision, wherever its chart comes from. Another release of the same name is upgraded, and one whose
// newest revision has failed.
func TestK3sTakeover(t *testing.T) {
	t.Parallel()
	const registry = "chart: oci://registry.example/note\n"
	for name, tc := range map[string]struct {
		spec, installed string
		labels          map[string]string
		status          helmrelease.Status
		revision        int
	}{
		"repository": {repoSpec + "version: 1.0.0\nvaluesContent: \"message: hello\\na: {list: [1.5, true]}\"\nset: {a.b: 7, a.c: \"7\"}", `{message: hello, a: {b: 7, c: "7", list: [1.5, true]}}`, k3sHash(), "", 1},
		"range":      {repoSpec + "version: 1.x", "", k3sHash(), "", 1},
		"newest":     {repoSpec, "", k3sHash(), "", 1},
		"differs":    {repoSpec + "values: {message: b}", "message: a", k3sHash(), "", 2},
		"registry":   {registry + "version: 1.0.0\nvalues: {message: hello}", "message: hello", k3sHash(), "", 1},
		"latest":     {registry, "", k3sHash(), "", 1},
		"archive":    {"chart: ARCHIVE\nvalues: {message: hello}", "message: hello", k3sHash(), "", 1},
		"content":    {"chartContent: CONTENT", "", k3sHash(), "", 1},
		"other":      {repoSpec, "", nil, "", 2},
		"failed":     {registry, "", k3sHash(), helmrelease.StatusFailed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.account("helm-web", "configmaps", "secrets")
			w.installK3s("web", tc.installed, tc.labels)
			if tc.status != "" {
				w.k3sStatus("web", tc.status)
			}
			archive := configMapChart(t, "1.0.0")
			w.mu.Lock()
			w.artifacts["/archives/note.tgz"] = archive
			w.mu.Unlock()
			c := w.k3sChart("web", tc.spec, func(c *cattlev1.HelmChart) {
				c.Finalizers = []string{cattlev1.FinalizerK3s}
				if c.Spec.Chart == "ARCHIVE" {
					c.Spec.Chart = w.server.URL + "/archives/note.tgz"
				}
				if c.Spec.ChartContent != "" {
					c.Spec.ChartContent = base64.StdEncoding.EncodeToString(archive)
				}
			})
			hr := w.madeFor(c)
			switch {
			case hr.Spec.Chart != nil:
				w.fillFor(hr, "1.0.0")
			case hr.Spec.ChartRef.Kind == helmv2.KindOCIRepository:
				w.publish("web", "1.0.0", archive)
			}
			w.untilRevision(hr, tc.revision)
			if hr.Spec.Suspend || hr.Status.Inventory == nil {
				t.Errorf("spec %+v, inventory %+v", hr.Spec, hr.Status.Inventory)
			}
			await(w, c, "the finalizer to go", func(c *cattlev1.HelmChart) bool { return len(c.Finalizers) == 0 })
			before := w.stored("web")
			w.editChart(c, giveBack)
			w.untilGone(hr)
			after := w.stored("web")
			if len(before) != tc.revision || len(after) != len(before) {
				t.Fatalf("%d records became %d", len(before), len(after))
			}
			for i := range before {
				if before[i].ResourceVersion != after[i].ResourceVersion || after[i].Labels[cattlev1.LabelConfigHash] != tc.labels[cattlev1.LabelConfigHash] {
					t.Errorf("record %s has changed: %v", after[i].Name, after[i].Labels)
				}
			}
		})
	}
}

// TestK3sRecorded: what k3s' real controller has left is taken over and handed back, without a new
// revision. The ServiceAccount outlives the HelmChart: the HelmRelease is an owner of it.
func TestK3sRecorded(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, metav1.ObjectMeta{Name: "apps"})
	raw, err := os.ReadFile("testdata/k3s.yaml")
	w.must(err)
	c := &cattlev1.HelmChart{}
	left := &unstructured.UnstructuredList{}
	w.must(yaml.Unmarshal(raw, left))
	for _, item := range left.Items {
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
			unstructured.RemoveNestedField(item.Object, "metadata", field)
		}
		// The API server adds labels with the UID of the Job.
		unstructured.RemoveNestedField(item.Object, "spec", "selector")
		unstructured.RemoveNestedField(item.Object, "spec", "template", "metadata", "labels")
		for _, owner := range item.GetOwnerReferences() {
			owner.UID = c.UID
			item.SetOwnerReferences([]metav1.OwnerReference{owner})
		}
		w.must(suite.client.Create(t.Context(), &item))
		if item.GetKind() == cattlev1.HelmChartKind {
			w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, c))
		}
	}
	t.Cleanup(func() {
		w.must(suite.client.Delete(context.WithoutCancel(t.Context()), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "helm-apps-web"}}))
	})
	before := w.stored("web")
	w.editChart(c, takeBack)
	hr := w.madeFor(c)
	archive, err := harness.HelloChart("0.1.0")
	w.must(err)
	key := client.ObjectKey{Namespace: "apps", Name: "apps-web"}
	untilTrue(w, "the HelmChart of source-controller", func() bool { _, found := w.helmChart(key); return found }, &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	w.fillWith(key, "0.1.0", archive)
	w.untilRevision(hr, 1)
	await(w, c, "the finalizer to go", func(c *cattlev1.HelmChart) bool { return len(c.Finalizers) == 0 })
	account := &corev1.ServiceAccount{}
	w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "helm-web"}, account))
	if len(account.OwnerReferences) != 2 || account.OwnerReferences[1].UID != hr.UID {
		t.Errorf("owners of the ServiceAccount: %+v", account.OwnerReferences)
	}
	w.editChart(c, giveBack)
	w.untilGone(hr)
	after := w.stored("web")
	if len(before) != 1 || len(after) != 1 || before[0].ResourceVersion != after[0].ResourceVersion {
		t.Errorf("%d records became %d", len(before), len(after))
	}
}

// TestK3sTakeoverThenMoved: a chart from a registry that is taken over without its digest is upgraded
// when the tag moves, and only then.
func TestK3sTakeoverThenMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	w.installK3s("web", "", k3sHash())
	c := w.k3sChart("web", "chart: oci://registry.example/note\nversion: 1.0.0")
	hr := w.madeFor(c)
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	w.untilRevision(hr, 1)
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.ValuesContent = "message: hello" })
	w.untilRevision(hr, 2)
	if v := hr.Status.History[0].ChartVersion; v != "1.0.0" {
		t.Errorf("values changed, and the version became %s", v)
	}
	w.publish("web", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/moved.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\n"}))
	w.untilRevision(hr, 3)
	if v := hr.Status.History[0].ChartVersion; v == "1.0.0" {
		t.Errorf("the tag moved, and the version stays %s", v)
	}
}

// TestK3sTakeoverElsewhere: a release in another namespace is taken over with the rights of its account.
func TestK3sTakeoverElsewhere(t *testing.T) {
	t.Parallel()
	w, target := newWorld(t), newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	target.account("helm-web", "configmaps", "secrets")
	w.must(suite.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: target.namespace, Name: "k3s"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "helm-web"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "helm-web"}},
	}))
	w.untilReviewed(target.namespace, "system:serviceaccount:"+w.namespace+":helm-web", rule("", []string{"secrets"}, []string{"list"}), true)
	target.installK3s("web", "", k3sHash())
	hr := w.madeFor(w.k3sChart("web", repoSpec+"targetNamespace: "+target.namespace))
	w.fillFor(hr, "1.0.0")
	w.untilRevision(hr, 1)
	if len(target.stored("web")) != 1 {
		t.Errorf("%d records", len(target.stored("web")))
	}
}

// TestK3sTakeoverWaits: while the Job of k3s works on a release, nothing is made. The release is taken
// over afterwards, without a new revision.
func TestK3sTakeoverWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	w.installK3s("web", "", k3sHash())
	w.k3sStatus("web", helmrelease.StatusPendingUpgrade)
	c := w.k3sChart("web", repoSpec)
	// It is made before the records are read.
	source := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	untilTrue(w, "the source", func() bool { return suite.client.Get(t.Context(), client.ObjectKeyFromObject(source), source) == nil }, source)
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), &helmv2.HelmRelease{}); !apierrors.IsNotFound(err) {
		t.Errorf("the HelmRelease is made: %v", err)
	}
	w.k3sStatus("web", helmrelease.StatusDeployed)
	hr := w.madeFor(c)
	w.fillFor(hr, "1.0.0")
	w.untilRevision(hr, 1)
}

// deletedK3s creates a HelmChart of k3s' controller with a release, and deletes it: the finalizer keeps
// it.
func (w *world) deletedK3s(name string) *cattlev1.HelmChart {
	w.t.Helper()
	w.account("helm-"+name, "configmaps", "secrets")
	w.installK3s(name, "", k3sHash())
	c := w.k3sChart(name, repoSpec, giveBack, func(c *cattlev1.HelmChart) { c.Finalizers = []string{cattlev1.FinalizerK3s} })
	w.must(suite.client.Delete(w.t.Context(), c))
	return c
}

func takeBack(c *cattlev1.HelmChart) {
	c.Annotations[cattlev1.AnnotationManagedBy] = cattlev1.ManagedBy
}

// deletionJob creates the Job with which k3s' controller uninstalls a HelmChart.
func (w *world) deletionJob(c *cattlev1.HelmChart) *batchv1.Job {
	w.t.Helper()
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{{Name: "helm", Image: "klipper-helm"}}}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "helm-delete-" + c.Name}, Spec: batchv1.JobSpec{Template: pod}}
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: cattlev1.GroupVersion.String(), Kind: cattlev1.HelmChartKind, Name: c.Name, UID: c.UID}}
	w.must(suite.client.Create(w.t.Context(), job))
	return job
}

// finish completes a Job.
func (w *world) finish(job *batchv1.Job) {
	w.t.Helper()
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	w.must(suite.client.Status().Update(w.t.Context(), job))
}

// TestK3sFlipWhileDeleted: the annotation of a HelmChart that is being deleted becomes ours. Its release
// is uninstalled once: by the Job of k3s' controller if there is one, otherwise by the HelmRelease. A
// Job of an earlier HelmChart of that name does not count.
func TestK3sFlipWhileDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web := w.deletedK3s("web")
	w.finish(w.deletionJob(&cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "earlier"}}))
	w.editChart(web, takeBack)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	awaitGone(w, &cattlev1.HelmChart{ObjectMeta: hr.ObjectMeta})
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), hr))
	// There is no garbage collector here.
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if records := w.stored("web"); len(records) > 0 {
		t.Errorf("%d records are left", len(records))
	}

	c := w.deletedK3s("job")
	job := w.deletionJob(c)
	w.editChart(c, takeBack)
	w.finish(job)
	awaitGone(w, c)
	err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), &helmv2.HelmRelease{})
	if records := w.stored("job"); !apierrors.IsNotFound(err) || len(records) != 1 {
		t.Errorf("HelmRelease: %v, %d records", err, len(records))
	}
}

// TestK3sFlipBack: a HelmChart that is given back while k3s' controller deletes it is uninstalled by that
// controller only. One that is taken again in time is uninstalled by Pintle.
func TestK3sFlipBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	c := w.k3sChart("web", repoSpec)
	hr := w.madeFor(c)
	w.fillFor(hr, "1.0.0")
	w.untilRevision(hr, 1)
	w.must(suite.client.Patch(t.Context(), hr, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+helmv2.AnnotationOrphan+`":"handed-over"}}}`))))
	w.until(hr, "without the annotation", func(hr *helmv2.HelmRelease) bool { return hr.Annotations[helmv2.AnnotationOrphan] == "" })

	w.editChart(c, func(c *cattlev1.HelmChart) {
		c.Finalizers, c.Annotations[cattlev1.AnnotationUnmanaged] = []string{cattlev1.FinalizerK3s}, ""
	})
	w.untilGone(hr)
	if len(w.stored("web")) != 1 {
		t.Error("the release is gone")
	}
}
