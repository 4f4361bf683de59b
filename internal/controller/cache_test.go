// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestClientIsNotWarned: no write asks for warnings, for which the API server decodes the object
// once more.
func TestClientIsNotWarned(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("fieldValidation"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	options := Client()
	options.Cache, options.Scheme = nil, Scheme()
	options.Mapper = meta.NewDefaultRESTMapper(nil)
	options.Mapper.(*meta.DefaultRESTMapper).Add(helmv2.GroupVersion.WithKind("HelmRelease"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app"}}
	patch := client.RawPatch(types.MergePatchType, []byte("{}"))
	if err := errors.Join(c.Patch(t.Context(), hr.DeepCopy(), patch), c.Status().Patch(t.Context(), hr.DeepCopy(), patch)); err != nil {
		t.Fatal(err)
	}
	const path = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/prod/helmreleases/app"
	want := []string{"PATCH " + path + " Ignore", "PATCH " + path + "/status Ignore"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// full returns the metadata of an object that kubectl has applied, with a copy of the object in an
// annotation.
func full() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "x", ResourceVersion: "1",
		Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "data"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
}

// TestCacheHoldsNoConfigs: data of ConfigMaps and Secrets are removed, from metadata and, if they
// are watched by mistake, from whole objects.
func TestCacheHoldsNoConfigs(t *testing.T) {
	options := Cache(labels.SelectorFromSet(labels.Set{"a": "b"}))
	bare := metav1.ObjectMeta{Name: "x", ResourceVersion: "1"}
	kinds := map[string]bool{}
	for kind, by := range options.ByObject {
		switch kind.(type) {
		case *batchv1.Job, *corev1.Pod:
			if by.Label.String() != opsv1alpha1.LabelOperation {
				t.Errorf("%T is selected by %q", kind, by.Label)
			}
			delete(options.ByObject, kind)
			continue
		}
		kinds[fmt.Sprintf("%T", kind)] = true
		if by.Label.String() != "a=b" {
			t.Errorf("%T is selected by %q", kind, by.Label)
		}
		for _, tc := range []struct{ whole, want any }{
			{&metav1.PartialObjectMetadata{ObjectMeta: full()}, &metav1.PartialObjectMetadata{ObjectMeta: bare}},
			{&corev1.Secret{ObjectMeta: full(), Data: map[string][]byte{"a": nil}, StringData: map[string]string{"a": ""}}, &corev1.Secret{ObjectMeta: bare}},
			{&corev1.ConfigMap{ObjectMeta: full(), Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"a": nil}}, &corev1.ConfigMap{ObjectMeta: bare}},
			{"gone", "gone"},
		} {
			kept, err := by.Transform(tc.whole)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, kept); diff != "" {
				t.Errorf("the cache keeps (-want +got):\n%s", diff)
			}
		}
	}
	if n := len(options.ByObject); n != 2 {
		t.Errorf("Jobs and pods of others are held: %d kinds are left", n)
	}
	uncached := map[string]bool{}
	for _, kind := range Client().Cache.DisableFor {
		uncached[fmt.Sprintf("%T", kind)] = true
	}
	want := map[string]bool{"*v1.ConfigMap": true, "*v1.Secret": true}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds that are stripped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, uncached); diff != "" {
		t.Errorf("kinds that are never read from the cache (-want +got):\n%s", diff)
	}
}

func TestCacheHoldsNoManagedFields(t *testing.T) {
	transform := Cache(labels.Everything()).DefaultTransform
	for _, o := range []client.Object{&helmv2.HelmRelease{ObjectMeta: full()}, &sourcev1.OCIRepository{ObjectMeta: full()}} {
		if _, err := transform(o); err != nil {
			t.Fatal(err)
		}
		if len(o.GetManagedFields()) > 0 || len(o.GetAnnotations()) == 0 {
			t.Errorf("of a %T is kept %v, %v", o, o.GetManagedFields(), o.GetAnnotations())
		}
	}
}
