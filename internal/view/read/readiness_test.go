// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// TestReadiness: nodes have a name and a status, and nothing else. Objects that cannot be read are
// Unknown, and the end of the context is an error.
func TestReadiness(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "apps", Name: name, Generation: 1, UID: "uid"}
	}
	failing := &appsv1.Deployment{ObjectMeta: in("failing"), Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "hidden"},
	}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.ConfigMap{ObjectMeta: in("one")}, failing).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			switch key.Name {
			case "refused":
				return errors.New("the test refuses it")
			case "broken":
				panic("the test panics")
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	hr.Status.Inventory = &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{
		{ID: "apps_failing_apps_Deployment", Version: "v1"},
		{ID: "apps_gone__ConfigMap", Version: "v1"},
		{ID: "apps_one__ConfigMap", Version: "v1"},
		{ID: "apps_refused__Secret", Version: "v1"},
		{ID: "apps_broken__Secret", Version: "v1"},
		{ID: "apps_more__ConfigMap", Version: "v1"},
	}}
	r := &Reader{Client: c, Limits: Limits{Objects: 5}}
	tree, err := r.Readiness(t.Context(), hr)
	if err != nil {
		t.Fatal(err)
	}
	node := func(group, kind, name, status string) view.Node {
		return view.Node{Object: view.Object{Group: group, Version: "v1", Kind: kind, Namespace: "apps", Name: name}, Status: status}
	}
	want := []view.Node{node("", "ConfigMap", "gone", "Missing"), node("", "ConfigMap", "one", "Ready"), node("apps", "Deployment", "failing", "Failed"), node("", "Secret", "broken", "Unknown"), node("", "Secret", "refused", "Unknown")}
	if diff := cmp.Diff(want, tree.Nodes); diff != "" || len(tree.Unread) != 1 {
		t.Errorf("nodes (-want +got):\n%s, unread %q", diff, tree.Unread)
	}
	tree, err = r.Tree(t.Context(), hr)
	if read := strings.Join(tree.Unread, "; "); err != nil || len(tree.Nodes) != len(want) || !strings.Contains(read, "Secret apps/broken: panic: string; Secret apps/refused: the test refuses it") {
		t.Errorf("%d nodes, unread %q, error %v", len(tree.Nodes), tree.Unread, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Readiness(ended, hr); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
