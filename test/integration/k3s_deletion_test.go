// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// k3sObjects returns one object of each kind that is made for HelmCharts, by name.
func (w *world) k3sObjects(c *cattlev1.HelmChart) map[string]client.Object {
	meta := metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}
	return map[string]client.Object{
		"HelmRelease":      &helmv2.HelmRelease{ObjectMeta: meta},
		"HelmRepository":   &sourcev1.HelmRepository{ObjectMeta: meta},
		"OCIRepository":    &sourcev1.OCIRepository{ObjectMeta: meta},
		"ExternalArtifact": &sourcev1.ExternalArtifact{ObjectMeta: meta},
		"Secret":           &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: helmchart.SecretName(c)}},
	}
}

// dependents calls act for each existing object that a HelmChart owns. No garbage collector runs here:
// the tests do its work.
func (w *world) dependents(c *cattlev1.HelmChart, act func(client.Object) error) (n int) {
	w.t.Helper()
	for _, object := range w.k3sObjects(c) {
		if w.present(object) == "" || !metav1.IsControlledBy(object, c) {
			continue
		}
		n++
		w.must(client.IgnoreNotFound(act(object)))
	}
	return n
}

func (w *world) collect(c *cattlev1.HelmChart) {
	w.t.Helper()
	if w.dependents(c, func(o client.Object) error { return suite.client.Delete(w.t.Context(), o) }) < 3 {
		w.t.Error("HelmRelease, source and Secret are not owned by the HelmChart")
	}
}

// stays checks that a release is still installed, and removes it.
func (w *world) stays(name string) {
	w.t.Helper()
	records := w.stored(name)
	if len(records) != 1 {
		w.t.Errorf("%d records are stored", len(records))
	}
	for i := range records {
		w.must(suite.client.Delete(w.t.Context(), &records[i]))
	}
	w.must(suite.client.Delete(w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}))
}

// deleteChart deletes a HelmChart, as kubectl does with a --cascade.
func (w *world) deleteChart(c *cattlev1.HelmChart, cascade metav1.DeletionPropagation) {
	w.t.Helper()
	w.must(suite.client.Delete(w.t.Context(), c, client.PropagationPolicy(cascade)))
}

// released ends a foreground deletion or an orphaning, as the garbage collector does.
func (w *world) released(c *cattlev1.HelmChart) {
	w.t.Helper()
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Finalizers = nil })
	awaitGone(w, c)
}

// TestK3sDeletion: in whatever order objects are deleted, nothing is left in the end.
func TestK3sDeletion(t *testing.T) {
	t.Parallel()
	type made struct {
		*world
		c      *cattlev1.HelmChart
		config *cattlev1.HelmChartConfig
		hr     *helmv2.HelmRelease
	}
	background := func(m made) {
		m.deleteChart(m.c, metav1.DeletePropagationBackground)
		m.collect(m.c)
	}
	installedAnew := func(m made) {
		uid := m.hr.UID
		untilTrue(m.world, "another HelmRelease", func() bool { return m.present(m.hr) != "" && m.hr.UID != uid }, m.hr)
		m.fillFor(m.hr, "1.0.0")
		m.untilRevision(m.hr, 1)
		m.untilChart(m.c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
	}
	for name, act := range map[string]func(made){
		"Background": background,
		"Foreground": func(m made) {
			m.deleteChart(m.c, metav1.DeletePropagationForeground)
			m.collect(m.c)
			m.untilGone(m.hr)
			// Nothing is made again meanwhile.
			m.released(m.c)
		},
		"Orphan": func(m made) {
			m.deleteChart(m.c, metav1.DeletePropagationOrphan)
			m.dependents(m.c, func(o client.Object) error {
				o.SetOwnerReferences(nil)
				return suite.client.Update(m.t.Context(), o)
			})
			m.released(m.c)
			// The release is one of an ordinary HelmRelease now.
			m.quiet(m.hr)
			if !m.hr.DeletionTimestamp.IsZero() || len(m.stored("web")) != 1 {
				m.t.Errorf("HelmRelease %+v", m.hr.ObjectMeta)
			}
			m.edit(m.hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(m.t, map[string]any{"message": "mine"}) })
			m.untilObserved(m.hr)
			for _, o := range m.k3sObjects(m.c) {
				m.must(client.IgnoreNotFound(suite.client.Delete(m.t.Context(), o)))
			}
		},
		"HelmReleaseByHand": func(m made) {
			m.must(suite.client.Delete(m.t.Context(), m.hr))
			installedAnew(m)
			background(m)
		},
		"AllByHand": func(m made) {
			m.collect(m.c)
			installedAnew(m)
			background(m)
		},
		"ConfigFirst": func(m made) {
			m.must(suite.client.Delete(m.t.Context(), m.config))
			m.untilRevision(m.hr, 2)
			background(m)
		},
		"ConfigLast": func(m made) {
			background(m)
			m.untilGone(m.hr)
			m.must(suite.client.Delete(m.t.Context(), m.config))
		},
		"HelmChartAgain": func(m made) {
			background(m)
			m.c = m.k3sChart("web", repoSpec+"values: {message: hello}")
			installedAnew(m)
			background(m)
		},
		"FinalizerOfK3s": func(m made) {
			m.editChart(m.c, func(c *cattlev1.HelmChart) { c.Finalizers = []string{cattlev1.FinalizerK3s} })
			m.deleteChart(m.c, metav1.DeletePropagationBackground)
			awaitGone(m.world, m.c)
			m.collect(m.c)
		},
		"GivenBackAndDeleted": func(m made) {
			m.editChart(m.c, func(c *cattlev1.HelmChart) { c.Annotations[cattlev1.AnnotationManagedBy] = "helm-controller" })
			m.untilGone(m.hr)
			m.deleteChart(m.c, metav1.DeletePropagationBackground)
			if n := m.dependents(m.c, func(client.Object) error { return nil }); n > 0 {
				m.t.Errorf("%d objects are left", n)
			}
			// k3s uninstalls the release.
			m.stays("web")
		},
		"ControllerDead": func(m made) {
			// A controller that does not run yet, and has the gate switched off, is responsible.
			m.edit(m.hr, func(hr *helmv2.HelmRelease) { hr.Labels[labelController] = m.namespace })
			m.received(m.hr)
			background(m)
			if m.present(m.hr) == "" || m.hr.DeletionTimestamp.IsZero() {
				m.t.Errorf("HelmRelease %+v", m.hr.ObjectMeta)
			}
			m.ownController(config{})
		},
		"Namespace": func(m made) {
			m.must(suite.client.Delete(m.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}))
			// No namespace controller runs here. The order of kinds is not defined.
			m.must(suite.client.Delete(m.t.Context(), m.hr))
			m.untilGone(m.hr)
			m.dependents(m.c, func(o client.Object) error { return suite.client.Delete(m.t.Context(), o) })
			m.deleteChart(m.c, metav1.DeletePropagationBackground)
		},
		"NamespaceWithoutAccount": func(m made) {
			m.must(suite.client.Delete(m.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}))
			meta := metav1.ObjectMeta{Namespace: m.namespace, Name: "helm-web"}
			for _, o := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta}, &corev1.ServiceAccount{ObjectMeta: meta}} {
				m.must(suite.client.Delete(m.t.Context(), o))
			}
			background(m)
			m.untilGone(m.hr)
			// Nothing may read the release. Its objects are deleted with the namespace.
			m.stays("web")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := made{world: newWorld(t)}
			m.account("helm-web", "configmaps", "secrets")
			m.config = m.k3sConfig("web", "valuesContent: \"b: 1\"")
			m.c = m.k3sChart("web", repoSpec+"values: {message: hello}")
			m.hr = m.madeFor(m.c)
			m.fillFor(m.hr, "1.0.0")
			m.untilRevision(m.hr, 1)
			m.untilChart(m.c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
			act(m)
			awaitGone(m.world, m.c)
			for _, object := range m.k3sObjects(m.c) {
				untilTrue(m.world, object.GetName()+" to go", func() bool {
					if m.present(object) != "" && object.GetDeletionTimestamp().IsZero() && len(object.GetOwnerReferences()) > 0 {
						// It was made while the HelmChart was being deleted.
						m.must(client.IgnoreNotFound(suite.client.Delete(t.Context(), object)))
					}
					return m.present(object) == ""
				}, object)
			}
			if records := m.stored("web"); len(records) > 0 {
				t.Errorf("%d records are left", len(records))
			}
			if err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: "web"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("the ConfigMap is left: %v", err)
			}
			if _, found := m.helmChart(client.ObjectKey{Namespace: m.namespace, Name: m.namespace + "-web"}); found {
				t.Error("the HelmChart of source-controller is left")
			}
		})
	}
}

// TestK3sNameTaken: an object of the same name that was not made for the HelmChart is not touched, and is
// named in condition Failed. The HelmChart goes on when the object is gone.
func TestK3sNameTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	for kind, spec := range map[string]string{
		"HelmRelease": repoSpec, "HelmRepository": repoSpec, "Secret": repoSpec + "values: {a: b}",
		"OCIRepository": "chart: oci://registry.example/note", "ExternalArtifact": "chart: " + w.server.URL + "/note.tgz",
	} {
		name := strings.ToLower(kind)
		w.account("helm-"+name, "configmaps", "secrets")
		w.mu.Lock()
		w.artifacts["/note.tgz"] = configMapChart(t, "1.0.0")
		w.mu.Unlock()
		object := w.k3sObjects(&cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})[kind]
		switch o := object.(type) {
		case *helmv2.HelmRelease:
			o.Spec.Interval.Duration, o.Spec.Suspend = actionTimeout, true
			o.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "none"}
		case *sourcev1.HelmRepository:
			o.Spec.URL = "https://other.example"
		case *sourcev1.OCIRepository:
			o.Spec.URL, o.Spec.Interval.Duration = "oci://other.example/note", actionTimeout
		}
		w.must(suite.client.Create(t.Context(), object))
		before := object.GetGeneration()
		c := w.k3sChart(name, spec)
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, cattlev1.ReasonNameTaken+" "+kind+" '"+w.namespace+"/"+object.GetName()+"' exists, and was not made for this HelmChart")
		w.eventAbout(c, cattlev1.ReasonNameTaken)
		w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		if len(object.GetOwnerReferences()) > 0 || object.GetGeneration() != before || object.GetLabels()[cattlev1.LabelHelmChart] != "" {
			t.Errorf("the %s was taken: %+v", kind, object)
		}
		w.must(suite.client.Delete(t.Context(), object))
		w.untilChart(c, cattlev1.ConditionJobCreated, metav1.ConditionTrue, "")
		w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionFalse, "")
	}
}
