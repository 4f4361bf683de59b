// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"k","cluster":{"server":"https://elsewhere"}}],"users":[{"name":"u","user":{"token":"hunter22"}}],
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}]}`

// TestOneConnection: a decision from reads of one identity must not be carried out by another.
func TestOneConnection(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	r.connections.DefaultServiceAccount = "tenant"
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
		t.Fatalf("nothing was begun: %v", err)
	}
	s.begun(t.Context(), nil)
	config, err := s.ran.ToRESTConfig()
	if err != nil || s.ran != s.read || config.Impersonate.UserName != "system:serviceaccount:apps:tenant" {
		t.Errorf("read by %p, done by %p, as %q, %v", s.read, s.ran, config.Impersonate.UserName, err)
	}
}

func TestGoneIsForgotten(t *testing.T) {
	r := testReconciler(t, &stub{})
	r.memory.With(types.NamespacedName{Namespace: "apps", Name: "gone"}, func(m *memory) { m.place.host = "https://a" })
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: "gone"}}); err != nil {
		t.Fatal(err)
	}
	if r.memory.Len() > 0 {
		t.Error("a HelmRelease that is gone is remembered")
	}
}

func TestObserveUnreachable(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
	hr.Spec.KubeConfig, hr.Status.StorageNamespace = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there"}}, "apps"
	rec, err := r.observer.observe(t.Context(), reconciliation{read: hr, hr: hr, in: release.Input{Desired: release.Desired{Deleted: true}, Recorded: hr.Status}})
	have := rec.in.Observed
	if err != nil || !strings.Contains(have.Unreachable, "apps/there") {
		t.Errorf("unreachable is %q, %v", have.Unreachable, err)
	}
	if s.read != nil {
		t.Error("something was read although there is no way")
	}
}

func TestLeftBehind(t *testing.T) {
	here := place{name: "the controller's own cluster", host: "http://local"}
	there := place{name: "the cluster of Secret 'apps/there'", host: "https://a"}
	moved := place{name: there.name, host: "https://b"}
	target := release.Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}
	recorded := func(status helmv2.ReleaseStatus) *helmv2.HelmReleaseStatus {
		return &helmv2.HelmReleaseStatus{StorageNamespace: "apps", History: helmv2.Snapshots{
			{Name: "web", Namespace: "apps", Version: 3, Status: status}, {Name: "web", Namespace: "apps", Version: 2, Status: helmv2.StatusSuperseded},
		}}
	}
	deployed := recorded(helmv2.StatusDeployed)
	cases := map[string]struct {
		reason      string
		status      *helmv2.HelmReleaseStatus
		target      release.Target
		before, now place
		remote      bool
		want        string
	}{
		"Added":   {"a kubeconfig was added", deployed, target, here, there, true, "Helm release apps/web.v3 stays behind in the controller's own cluster and will not be uninstalled: its HelmRelease leads to the cluster of Secret 'apps/there' now"},
		"Removed": {"a kubeconfig was removed", deployed, target, there, here, false, "Helm release apps/web.v3 stays behind in the cluster of Secret 'apps/there' and will not be uninstalled: its HelmRelease leads to the controller's own cluster now"},
		"Changed": {"the content of the Secret was changed", deployed, target, there, moved, true, "Helm release apps/web.v3 stays behind and will not be uninstalled: the cluster of Secret 'apps/there' is not the one it was"},
		"Restart": {"its cluster is not known", deployed, target, place{}, there, true, "Helm release apps/web.v3 is not in the cluster of Secret 'apps/there': if it was installed in another cluster, it stays behind there and will not be uninstalled"},
		"Failed":  {"what failed has left objects too", recorded(helmv2.StatusFailed), target, here, there, true, "Helm release apps/web.v3 stays behind in the controller's own cluster and will not be uninstalled: its HelmRelease leads to the cluster of Secret 'apps/there' now"},

		"RestartHere": {"most likely a user uninstalled it", deployed, target, place{}, here, false, ""},
		"SameCluster": {"a user uninstalled it", deployed, target, there, there, true, ""},
		"Uninstalled": {"nothing is left", recorded(helmv2.StatusUninstalled), target, here, there, true, ""},
		"Nothing":     {"nothing was installed", &helmv2.HelmReleaseStatus{}, target, here, there, true, ""},
		"OtherTarget": {"another release is wanted, which is not expected to be there", deployed, release.Target{Name: "web2", Namespace: "apps", StorageNamespace: "apps"}, here, there, true, ""},
		"Namespace":   {"the same", deployed, release.Target{Name: "web", Namespace: "b", StorageNamespace: "apps"}, here, there, true, ""},
		"Storage":     {"the same", deployed, release.Target{Name: "web", Namespace: "apps", StorageNamespace: "b"}, here, there, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := leftBehind(tc.status, tc.target, tc.remote, tc.before, tc.now); got != tc.want {
				t.Errorf("%s: says %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWarnsOfMoveOnce: each move is told once, and only if the release is not
// there.
func TestWarnsOfMoveOnce(t *testing.T) {
	events := make(controllertest.Events, 10)
	live := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "there"}, Data: map[string][]byte{"value": []byte(kubeconfig)}}).Build()
	s := &stub{}
	r := testReconciler(t, s)
	r.events, r.connections.Live = events, live
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	hr.Status.StorageNamespace = "apps"
	hr.Status.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 3, Status: helmv2.StatusDeployed}}
	want := release.Desired{Target: release.Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}}
	reconcile := func() {
		t.Helper()
		if _, err := r.observer.observe(t.Context(), reconciliation{read: hr, hr: hr, in: release.Input{Desired: want, Recorded: hr.Status}}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	if len(events) > 0 {
		t.Errorf("nothing moved: %s", <-events)
	}
	hr.Spec.KubeConfig, s.stored = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there"}}, []release.Revision{{Version: 3}}
	reconcile()
	if len(events) > 0 {
		t.Errorf("it is the same cluster under another address: %s", <-events)
	}
	hr.Spec.KubeConfig = nil
	reconcile()
	hr.Spec.KubeConfig, s.stored = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there"}}, nil
	reconcile()
	reconcile()
	if len(events) != 1 {
		t.Fatalf("%d events, want one", len(events))
	}
	if got := <-events; !strings.HasPrefix(got, "Warning ReleaseLeftBehind Helm release apps/web.v3 stays behind in the controller's own cluster") {
		t.Errorf("the event is %s", got)
	}
	hr.DeletionTimestamp, hr.Spec.KubeConfig = &metav1.Time{Time: time.Unix(1, 0)}, nil
	want.Deleted = true
	reconcile()
	if len(events) != 1 {
		t.Fatalf("%d events, want one: what is deleted where it was not stays behind too", len(events))
	}
	<-events
	if err := r.unread(key, apierrors.NewNotFound(schema.GroupResource{}, key.Name)); err != nil || r.memory.Len() > 0 {
		t.Errorf("a HelmRelease that is gone is remembered, %v", err)
	}
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "there"}}
	reconcile()
	if len(events) > 0 {
		t.Errorf("most likely the end of an uninstall was not recorded: %s", <-events)
	}
}
