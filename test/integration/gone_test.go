// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// deletedAtEnd deletes an object of the cluster when the test has ended, unless the test has. The
// context of the test is cancelled by then.
func (w *world) deletedAtEnd(object client.Object) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	w.t.Cleanup(func() {
		if err := client.IgnoreNotFound(suite.client.Delete(ctx, object)); err != nil {
			w.t.Error(err)
		}
	})
}

// createDefinition creates the CRD of a group's things, and waits until they are served.
func (w *world) createDefinition(group string, versions ...string) {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(definition(group, versions...)), &crd.Object))
	w.must(suite.client.Create(w.t.Context(), crd))
	w.deletedAtEnd(crd)
	for _, v := range versions {
		untilTrue(w, "things to be served", func() bool { return w.serves(group, v) })
	}
}

// serves reports whether the API server serves things of a version.
func (w *world) serves(group, version string) bool {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(apischema.GroupVersionKind{Group: group, Version: version, Kind: "ThingList"})
	err := suite.client.List(w.t.Context(), list, client.InNamespace(w.namespace))
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return false
	}
	return err == nil
}

// thing returns a thing, nil if it does not exist.
func (w *world) thing(group, version, name string) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(apischema.GroupVersionKind{Group: group, Version: version, Kind: "Thing"})
	err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return u
}

// noteWith is a chart with a ConfigMap and one more template.
func noteWith(t *testing.T, version, template string) []byte {
	files := map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.Version | quote }}}\n"}
	if template != "" {
		files["templates/thing.yaml"] = template
	}
	return pack(t, "note", version, files)
}

// TestDeletedCRD: an upgrade, a rollback and an uninstall of a release succeed after the CRD of one
// of its objects is deleted. An event names the object. A chart that still has it is an error.
func TestDeletedCRD(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.createDefinition(group, "v1")
	upgraded, removed := "upgraded", "removed"
	releases := map[string]*helmv2.HelmRelease{}
	for _, name := range []string{upgraded, removed} {
		w.publish(name, "1.0.0", noteWith(t, "1.0.0", thingTemplate(group, "v1")))
		releases[name] = w.release(name, nil)
	}
	for name, hr := range releases {
		w.untilReady(hr)
		if w.thing(group, "v1", name) == nil {
			t.Fatalf("%s has no thing", name)
		}
	}
	crd := &unstructured.Unstructured{}
	w.must(yaml.Unmarshal([]byte(definition(group, "v1")), &crd.Object))
	w.must(suite.client.Delete(t.Context(), crd))
	untilTrue(w, "the CRD to go", func() bool { return w.definition(group) == nil && !w.serves(group, "v1") })

	w.must(suite.client.Delete(t.Context(), releases[removed]))
	w.untilGone(releases[removed])
	if n := len(w.stored(removed)); n != 0 {
		t.Errorf("%d records are left of the uninstall", n)
	}
	// Events are sent after the status.
	untilTrue(w, "the event of the uninstall", func() bool { return w.events(releases[removed], helmv2.EventReasonObjectsSkipped) == 1 })

	hr := releases[upgraded]
	w.publish(upgraded, "1.1.0", noteWith(t, "1.1.0", thingTemplate(group, "v1")+"# changed\n"))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, `no matches for kind "Thing"`)
	w.publish(upgraded, "1.2.0", noteWith(t, "1.2.0", ""))
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 2 && condition(hr, "Ready").Status == metav1.ConditionTrue
	})
	if data := w.configMap(upgraded).Data; !strings.HasPrefix(data["version"], "1.2.0") {
		t.Errorf("ConfigMap %v", data)
	}
	untilTrue(w, "the event of the upgrade", func() bool { return w.events(hr, helmv2.EventReasonObjectsSkipped) == 1 })
}

// TestUnservedVersion: an object of a version that is no longer served stays the same object in an
// upgrade to the served version. An upgrade that drops it, and an uninstall, delete it.
func TestUnservedVersion(t *testing.T) {
	t.Parallel()
	for _, serverSide := range []bool{true, false} {
		t.Run(fmt.Sprintf("ServerSide=%t", serverSide), func(t *testing.T) {
			if testing.Short() && !serverSide {
				t.Skip("long")
			}
			t.Parallel()
			w := newWorld(t)
			group := w.namespace + ".example.com"
			w.createDefinition(group, "v1beta1", "v1")
			releases := map[string]*helmv2.HelmRelease{}
			for _, name := range []string{"kept", "dropped", "removed"} {
				w.publish(name, "1.0.0", noteWith(t, "1.0.0", thingTemplate(group, "v1beta1")))
				releases[name] = w.release(name, nil, func(hr *helmv2.HelmRelease) {
					hr.Spec.Install = &helmv2.Install{ServerSideApply: &serverSide}
				})
			}
			for _, hr := range releases {
				w.untilReady(hr)
			}
			uid := w.thing(group, "v1", "kept").GetUID()
			crd := w.definition(group)
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Name == "v1"
			}
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
			w.must(err)
			w.must(suite.client.Update(t.Context(), &unstructured.Unstructured{Object: raw}))
			untilTrue(w, "the old version to go", func() bool { return !w.serves(group, "v1beta1") })

			w.must(suite.client.Delete(t.Context(), releases["removed"]))
			w.publish("kept", "1.1.0", noteWith(t, "1.1.0", strings.Replace(thingTemplate(group, "v1"), "size: 1", "size: 2", 1)))
			w.publish("dropped", "1.1.0", noteWith(t, "1.1.0", ""))
			for _, name := range []string{"kept", "dropped"} {
				w.until(releases[name], "the upgrade", func(hr *helmv2.HelmRelease) bool {
					return newest(hr) == 2 && condition(hr, "Ready").Status == metav1.ConditionTrue
				})
			}
			w.untilGone(releases["removed"])
			kept := w.thing(group, "v1", "kept")
			if kept == nil || kept.GetUID() != uid {
				t.Errorf("the object was replaced: %v, was %s", kept, uid)
			}
			for _, name := range []string{"dropped", "removed"} {
				if left := w.thing(group, "v1", name); left != nil {
					t.Errorf("%s is left", left.GetName())
				}
				if n := w.events(releases[name], helmv2.EventReasonObjectsSkipped); n != 0 {
					t.Errorf("%d events about skipped objects of %s", n, name)
				}
			}
		})
	}
}
