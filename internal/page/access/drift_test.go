// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
)

// infoOf returns an object of a revision.
func infoOf(group, kind, resourceName, namespace, name string) *resource.Info {
	of := corev1.SchemeGroupVersion
	if group != "" {
		of = rbacv1.SchemeGroupVersion
	}
	scope := apimeta.RESTScope(apimeta.RESTScopeNamespace)
	if namespace == "" {
		scope = apimeta.RESTScopeRoot
	}
	mapping := &apimeta.RESTMapping{Resource: of.WithResource(resourceName), GroupVersionKind: of.WithKind(kind), Scope: scope}
	return &resource.Info{Mapping: mapping, Namespace: namespace, Name: name}
}

// TestDrift: only objects that the user may get are compared, and their number is limited. Without
// the right to the stored revision, nothing is.
func TestDrift(t *testing.T) {
	objects := []*resource.Info{
		infoOf("", "ConfigMap", "configmaps", "apps", "one"), infoOf("", "ConfigMap", "configmaps", "apps", "two"),
		infoOf("", "Service", "services", "apps", "one"), infoOf(rbacv1.GroupName, "ClusterRole", "clusterroles", "", "one"),
	}
	many := slices.Repeat(objects[:1], maxCompared+3)
	for name, tc := range map[string]struct {
		rights   []string
		objects  []*resource.Info
		compared []string
		want     Drift
		denied   bool
	}{
		"NoContents": {rights: []string{"get configmaps apps", "list secrets apps", "get secrets other"}, objects: objects, denied: true},
		"NoObjects":  {rights: []string{"get secrets apps", "list configmaps apps", "get configmaps other"}, objects: objects, want: Drift{Hidden: 4}},
		"OneKind": {
			rights: []string{"get secrets apps", "get configmaps apps"}, objects: objects,
			compared: []string{"ConfigMap one", "ConfigMap two"}, want: Drift{Compared: 2, Hidden: 2},
		},
		"OneObject": {
			rights: []string{"get secrets apps", "get configmaps apps two"}, objects: objects,
			compared: []string{"ConfigMap two"}, want: Drift{Compared: 1, Hidden: 3},
		},
		"ClusterRole": {
			rights: []string{"get secrets apps", "get clusterroles"}, objects: objects,
			compared: []string{"ClusterRole one"}, want: Drift{Compared: 1, Hidden: 3},
		},
		"Many": {
			rights: []string{"get secrets apps", "get configmaps apps"}, objects: many,
			compared: slices.Repeat([]string{"ConfigMap one"}, maxCompared), want: Drift{Compared: maxCompared, More: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hr := newRelease("apps", "web")
			v, _ := newViewer(t, tc.rights, hr)
			var compared []string
			asked := false
			v.Compare = func(ctx context.Context, _ *helmv2.HelmRelease, choose Choose) (view.DiffFacts, error) {
				asked = true
				for _, o := range choose(ctx, tc.objects) {
					compared = append(compared, o.Mapping.GroupVersionKind.Kind+" "+o.Name)
				}
				return view.DiffFacts{}, nil
			}
			d, err := v.Drift(t.Context(), hr)
			if apierrors.IsForbidden(err) != tc.denied || asked == tc.denied || !slices.Equal(compared, tc.compared) {
				t.Errorf("error %v, compared %q", err, compared)
			}
			if d.Compared != tc.want.Compared || d.Hidden != tc.want.Hidden || d.More != tc.want.More {
				t.Errorf("%d compared, %d hidden, %d more", d.Compared, d.Hidden, d.More)
			}
		})
	}
}

// TestDriftTexts: texts of the API server and names of autoscalers are not shown.
func TestDriftTexts(t *testing.T) {
	hr := newRelease("apps", "web")
	v, _ := newViewer(t, []string{"get secrets apps"}, hr)
	const hidden = "hidden-text"
	one := release.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "one"}
	v.Compare = func(context.Context, *helmv2.HelmRelease, Choose) (view.DiffFacts, error) {
		return view.DiffFacts{Drift: &release.Drift{
			Errors: []release.ObjectError{{Object: one, Err: hidden}, {Err: hidden}},
			Ceded:  []release.DriftedObject{{Object: one, Autoscaler: hidden}},
		}}, nil
	}
	d, err := v.Drift(t.Context(), hr)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Problems) != 2 || !strings.HasPrefix(d.Problems[0], "ConfigMap apps/one: it could not be compared") || len(d.Warnings) != 1 {
		t.Errorf("problems %q, warnings %q", d.Problems, d.Warnings)
	}
	if text := fmt.Sprint(d); strings.Contains(text, hidden) {
		t.Errorf("the page shows %s", text)
	}
	v.Compare = func(context.Context, *helmv2.HelmRelease, Choose) (view.DiffFacts, error) {
		return view.DiffFacts{}, errors.New(hidden)
	}
	if _, err := v.Drift(t.Context(), hr); err == nil || strings.Contains(err.Error(), hidden) {
		t.Errorf("error %v", err)
	}
}

// TestComparisons: few comparisons run at the same time, and others give up.
func TestComparisons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		find := func(context.Context, *helmv2.HelmRelease) (*cluster.Connection, error) {
			<-held
			return nil, errors.New("the test ends it")
		}
		compare := CompareAsRelease(find, nil, nil, nil)
		results := make(chan error, maxComparisons)
		run := func() error {
			_, err := compare(t.Context(), newRelease("apps", "web"), nil)
			return err
		}
		for range maxComparisons {
			go func() { results <- run() }()
		}
		synctest.Wait()
		if err := run(); !errors.Is(err, errBusy) {
			t.Errorf("one more comparison: %v", err)
		}
		close(held)
		for range maxComparisons {
			if err := <-results; errors.Is(err, errBusy) {
				t.Error("a comparison within the limit is refused")
			}
		}
		if err := run(); errors.Is(err, errBusy) {
			t.Error("a comparison after the others is refused")
		}
	})
}
