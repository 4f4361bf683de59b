// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// TestTreePaths: paths of fields that differ have no values of Secrets: of those in spec.valuesFrom,
// of their former values, and of the Secrets of the revision. If spec.valuesFrom cannot be read, there
// are no paths.
func TestTreePaths(t *testing.T) {
	const path = `.metadata.annotations["example.com/plain"]`
	for name, tc := range map[string]struct {
		refused bool
		fields  int
		unread  string
	}{
		"Read":    {fields: 4},
		"Refused": {refused: true, unread: "paths of fields that differ, because of spec.valuesFrom: "},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, err := Scheme()
			if err != nil {
				t.Fatal(err)
			}
			in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "apps", Name: name} }
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Annotations: map[string]string{"a": "b"}}, Data: map[string]string{"a": "b"}},
				&corev1.Secret{ObjectMeta: in("values"), Data: map[string][]byte{"values.yaml": []byte("token: value-of-valuesfrom\n")}},
			).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if tc.refused && key.Name == "values" {
						return errors.New("the test refuses it")
					}
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			hr := &helmv2.HelmRelease{ObjectMeta: in("web")}
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindSecret, Name: "values"}}
			hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionDrifted, Status: metav1.ConditionTrue}}
			hr.Status.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 2}}
			hr.Status.Inventory = &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{{ID: "apps_web__ConfigMap", Version: "v1"}}}
			r := &Reader{Client: c, Stored: func(context.Context, release.Target, int) (*Record, error) {
				return &Record{Side: manifest.Side{
					Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {example.com/plain: x, value-of-valuesfrom: x}}\ndata: {former-of-valuesfrom: x, value-of-revision: x}\n",
					Values:   map[string]any{"token": "former-of-valuesfrom"}, Secrets: []string{"value-of-revision"},
				}}, nil
			}}
			tree, err := r.Tree(t.Context(), hr)
			if err != nil || len(tree.Nodes) != 1 || tree.Nodes[0].Drifted != "yes" {
				t.Fatalf("%+v, error %v", tree, err)
			}
			fields := strings.Join(tree.Nodes[0].Fields, " ")
			if len(tree.Nodes[0].Fields) != tc.fields || strings.Contains(fields, "valuesfrom") || strings.Contains(fields, "of-revision") || tc.fields > 0 && !strings.Contains(fields, path) {
				t.Errorf("paths %s", fields)
			}
			if unread := strings.Join(tree.Unread, "; "); !strings.HasPrefix(unread, tc.unread) || (unread == "") != (tc.unread == "") {
				t.Errorf("unread %q", unread)
			}
		})
	}
}

// TestTreeExpiredJob: a Job that the cluster deletes after its end is no drift if it is missing. Another one
// is.
func TestTreeExpiredJob(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionDrifted, Status: metav1.ConditionTrue}}
	hr.Status.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 2}}
	hr.Status.Inventory = &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{{ID: "apps_expires_batch_Job", Version: "v1"}, {ID: "apps_stays_batch_Job", Version: "v1"}}}
	r := &Reader{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Stored: func(context.Context, release.Target, int) (*Record, error) {
		const job = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: "
		return &Record{Side: manifest.Side{Manifest: job + "expires}\nspec: {ttlSecondsAfterFinished: 60}\n" + job + "stays}\nspec: {}\n"}}, nil
	}}
	tree, err := r.Tree(t.Context(), hr)
	if err != nil || len(tree.Nodes) != 2 || tree.Nodes[0].Drifted != "no" || tree.Nodes[1].Drifted != "yes" {
		t.Errorf("%+v, error %v", tree.Nodes, err)
	}
}
