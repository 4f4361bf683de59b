// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const waitTemplate = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
---
apiVersion: v1
kind: Service
metadata:
  name: app
spec:
  clusterIP: None
  ports: [{name: http, port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: app
spec:
  defaultBackend: {service: {name: app, port: {name: http}}}
---
`

// rollOut makes a Deployment ready after a number of reads by those that wait for it.
func (b *bench) rollOut(ctx context.Context, reads int) error {
	for {
		d := &appsv1.Deployment{}
		err := suite.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: "app"}, d)
		if err == nil {
			for len(b.reads()) < reads && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
				Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
				},
			}
			err = suite.client.Status().Update(ctx, d)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// reads lists the reads of the release's objects, without random parts of names.
func (b *bench) reads() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.requests {
		path, query, _ := strings.Cut(strings.ReplaceAll(r, b.namespace, "NS"), "?")
		if !strings.HasPrefix(path, "GET ") || !strings.Contains(path, "/namespaces/NS/") || strings.Contains(path, "/secrets") {
			continue
		}
		if strings.Contains(query, "watch=true") {
			path = strings.Replace(path, "GET", "WATCH", 1)
		}
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

// TestWaitsAskLittle: an install reads no objects, a wait uses one watch, and a deletion only
// deletes.
func TestWaitsAskLittle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": waitTemplate + stageDeploy})
	waits := func(action release.HelmAction, want ...string) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- b.rollOut(t.Context(), 1) }()
		b.mustRun(action, archive, nil, helmv2.HelmReleaseSpec{})
		b.must(<-done)
		if got := b.reads(); !slices.Equal(got, want) {
			t.Errorf("%s sent %q, want %q", release.Name(action), got, want)
		}
	}
	const watch = "WATCH /apis/apps/v1/namespaces/NS/deployments"
	waits(release.Install{Timeout: patience}, watch)
	// All objects are ready, and the upgrade changes none.
	b.mustRun(release.Upgrade{Timeout: patience}, archive, nil, helmv2.HelmReleaseSpec{})
	if got := b.reads(); len(got) != 0 {
		t.Errorf("an upgrade without changes sent %q", got)
	}
	target := release.Target{Name: "app", Namespace: b.namespace, StorageNamespace: b.namespace}
	b.mustRun(release.Uninstall{Timeout: patience, Target: target}, archive, nil, helmv2.HelmReleaseSpec{})
	// Another release may own an object by now, so each is read once.
	if got := b.reads(); len(got) != 4 || slices.ContainsFunc(got, func(r string) bool { return !strings.HasPrefix(r, "GET ") }) {
		t.Errorf("a deletion sent %q", got)
	}
}

// TestWaitsWithoutWatching: an identity without permission to watch polls.
func TestWaitsWithoutWatching(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	b.must(suite.client.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "blind"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"},
		}},
	}))
	b.must(suite.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "blind"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "blind"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "blind-" + b.namespace}},
	}))
	config, err := b.conn.ToRESTConfig()
	b.must(err)
	config.Impersonate = rest.ImpersonationConfig{UserName: "blind-" + b.namespace}
	b.conn, err = cluster.Connect(config)
	b.must(err)
	blind, err := client.New(config, client.Options{})
	b.must(err)
	untilTrue(b.world, "the permissions", func() bool {
		return blind.List(t.Context(), &corev1.SecretList{}, client.InNamespace(b.namespace)) == nil
	})
	archive := pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": stageDeploy})
	done := make(chan error, 1)
	go func() { done <- b.rollOut(t.Context(), 3) }()
	b.mustRun(release.Install{Timeout: patience}, archive, nil, helmv2.HelmReleaseSpec{})
	b.must(<-done)
	watches, looks := 0, 0
	for _, r := range b.reads() {
		if strings.HasPrefix(r, "WATCH") {
			watches++
		} else {
			looks++
		}
	}
	if watches < 1 || looks < 2 {
		t.Errorf("watched %d times and looked %d times", watches, looks)
	}
}
