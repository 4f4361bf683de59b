// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"slices"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// enqueued returns the names of the HelmReleases that something enqueues.
func enqueued(t *testing.T, hrs []*helmv2.HelmRelease, happens func(h *Handlers, q queue)) []string {
	t.Helper()
	b := controllertest.NewClient()
	for _, hr := range hrs {
		b = b.WithObjects(hr.DeepCopy())
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	h := &Handlers{
		Client: b.Build(), ArtifactChanged: func(types.NamespacedName) {}, FilesChanged: func(context.Context, inputs.FileSource, client.Object) {},
	}
	happens(h, q)
	var names []string
	for q.Len() > 0 {
		request, _ := q.Get()
		names = append(names, request.String())
	}
	slices.Sort(names)
	return names
}

func readyAt(generation int64) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Status.ObservedGeneration = generation
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue}}
	}
}

func version(v string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.ResourceVersion = v }
}

func needing(refs ...helmv2.DependencyReference) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = refs }
}

func TestDependentsAreEnqueued(t *testing.T) {
	onDB := needing(helmv2.DependencyReference{Name: "x"}, helmv2.DependencyReference{Name: "db"})
	onExpression := needing(helmv2.DependencyReference{Name: "db", ReadyExpr: "true"})
	hrs := []*helmv2.HelmRelease{
		controllertest.HelmRelease("prod", "waiting", onDB), controllertest.HelmRelease("prod", "settled", onDB, readyAt(1)),
		controllertest.HelmRelease("prod", "asking", onExpression), controllertest.HelmRelease("prod", "answered", onExpression, readyAt(1)),
		controllertest.HelmRelease("prod", "stranger"), controllertest.HelmRelease("test", "namesake", onDB),
		controllertest.HelmRelease("test", "far", needing(helmv2.DependencyReference{Name: "db", Namespace: "prod"})),
		// Its expression is about an object of another kind.
		controllertest.HelmRelease("prod", "mixed", needing(helmv2.DependencyReference{Name: "db"}, helmv2.DependencyReference{APIVersion: "v1", Kind: "ConfigMap", Name: "flags", ReadyExpr: "true"})),
		controllertest.HelmRelease("prod", "other-kind", needing(helmv2.DependencyReference{APIVersion: "v1", Kind: "ConfigMap", Name: "db", ReadyExpr: "true"})),
	}
	all := []string{"prod/answered", "prod/asking", "prod/mixed", "prod/settled", "prod/waiting", "test/far"}
	db := func(edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
		return controllertest.HelmRelease("prod", "db", edit...)
	}
	unready := func(hr *helmv2.HelmRelease) { hr.Status.ObservedGeneration = 1 }
	update := func(before, after *helmv2.HelmRelease) func(*Handlers, queue) {
		return func(h *Handlers, q queue) {
			h.Dependencies().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	create := func(hr *helmv2.HelmRelease, initial bool) func(*Handlers, queue) {
		return func(h *Handlers, q queue) {
			h.Dependencies().Create(t.Context(), event.CreateEvent{Object: hr, IsInInitialList: initial}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*Handlers, queue)
		want    []string
	}{
		"BecameReady": {"all who depend on it", update(db(unready), db(readyAt(1), version("6"))), all},
		"CaughtUp":    {"ready for its present spec", update(db(readyAt(0)), db(readyAt(1), version("6"))), all},
		"Changed":     {"an expression may ask for anything, as long as it was not answered", update(db(unready), db(unready, version("6"))), []string{"prod/asking"}},
		"StaysReady":  {"nothing new for the others", update(db(readyAt(1)), db(readyAt(1), version("6"))), []string{"prod/asking"}},
		"FellBehind":  {"its upgrade is no concern of those who have what they needed", update(db(readyAt(1)), db(readyAt(0), version("6"))), []string{"prod/asking"}},
		"Resync":      {"nothing happened", update(db(unready), db(readyAt(1))), nil},
		"Created":     {"restored from a backup, say", create(db(readyAt(1)), false), all},
		"CreatedNew":  {"not ready yet", create(db(), false), []string{"prod/asking"}},
		"AtStart":     {"all are reconciled then", create(db(readyAt(1)), true), nil},
		"Uninvolved":  {"no HelmRelease depends on it", update(controllertest.HelmRelease("prod", "web"), controllertest.HelmRelease("prod", "web", readyAt(1), version("6"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := enqueued(t, hrs, tc.happens); !slices.Equal(got, tc.want) {
				t.Errorf("%s: enqueued are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// using makes a HelmRelease one of the OCIRepository prod/charts that was
// attempted with an artifact.
func using(revision, digest string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "charts"}
		hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest = revision, digest
	}
}

func reconciling(reason string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason}}
	}
}

func TestUsersAreEnqueued(t *testing.T) {
	repository := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "charts"}}
	repository.Status.Artifact = &fluxmeta.Artifact{Revision: "1.0.0@sha256:new"}
	untagged := repository.DeepCopy()
	untagged.Status.Artifact.Revision = "latest@sha256:new"
	hrs := []*helmv2.HelmRelease{
		controllertest.HelmRelease("prod", "has", using("1.0.0+new", "sha256:new"), readyAt(1)),
		controllertest.HelmRelease("prod", "has-latest", using("1.0.0+new", "latest@sha256:new"), readyAt(1)),
		controllertest.HelmRelease("prod", "acting", using("1.0.0+new", "sha256:new"), reconciling(helmv2.ReasonProgressing)),
		controllertest.HelmRelease("prod", "waiting", using("1.0.0+new", "sha256:new"), reconciling(helmv2.ReasonProgressingWithRetry)),
		controllertest.HelmRelease("prod", "old", using("1.0.0+old", "sha256:old"), readyAt(1)),
		controllertest.HelmRelease("prod", "behind", using("1.0.0+new", "sha256:new"), readyAt(0)),
		controllertest.HelmRelease("prod", "new", using("", "")),
	}
	update := func(o client.Object) func(*Handlers, queue) {
		return func(h *Handlers, q queue) {
			h.Sources(helmv2.KindOCIRepository).Update(t.Context(), event.UpdateEvent{ObjectNew: o}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*Handlers, queue)
		want    []string
	}{
		"Update": {"who has it needs no reconciliation", update(repository), []string{"prod/behind", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
		"Latest": {"a tag that is no version is recorded with its digest", update(untagged), []string{"prod/behind", "prod/new", "prod/old", "prod/waiting"}},
		"Create": {"nor does a source that came back with what it had", func(h *Handlers, q queue) {
			h.Sources(helmv2.KindOCIRepository).Create(t.Context(), event.CreateEvent{Object: repository}, q)
		}, []string{"prod/behind", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
		"Delete": {"the status of all is to name the obstacle", func(h *Handlers, q queue) {
			h.Sources(helmv2.KindOCIRepository).Delete(t.Context(), event.DeleteEvent{Object: repository}, q)
		}, []string{"prod/acting", "prod/behind", "prod/has", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := enqueued(t, hrs, tc.happens); !slices.Equal(got, tc.want) {
				t.Errorf("%s: enqueued are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func had(snapshots ...*helmv2.Snapshot) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Status.History = snapshots }
}

func called(release, namespace string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.TargetNamespace = release, namespace }
}

// TestObjectOwners: a HelmRelease that waits for objects of a release is enqueued only when that
// release may no longer own them.
func TestObjectOwners(t *testing.T) {
	at := func(version int, status helmv2.ReleaseStatus) *helmv2.Snapshot {
		return &helmv2.Snapshot{Namespace: "apps", Name: "shop", Version: version, Status: status}
	}
	before := controllertest.HelmRelease("prod", "shop", called("shop", "apps"), had(at(1, helmv2.StatusDeployed)))
	after := func(edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
		hr := before.DeepCopy()
		for _, e := range edit {
			e(hr)
		}
		return hr
	}
	update := func(after *helmv2.HelmRelease) func(*Handlers, queue) {
		return func(h *Handlers, q queue) {
			h.ObjectOwners().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*Handlers, queue)
		want    []string
	}{
		"Gone": {"it is deleted", func(h *Handlers, q queue) {
			h.ObjectOwners().Delete(t.Context(), event.DeleteEvent{Object: before}, q)
		}, []string{"prod/late"}},
		"Upgraded":    {"its objects may be others", update(after(had(at(2, helmv2.StatusDeployed), at(1, helmv2.StatusSuperseded)))), []string{"prod/late"}},
		"Uninstalled": {"it was moved", update(after(had(), called("else", "apps"))), []string{"prod/late"}},
		"Failed":      {"nothing of it was deployed, but its status changed", update(after(had(at(1, helmv2.StatusFailed)))), []string{"prod/late"}},
		"Announced":   {"nothing has changed yet", update(after(readyAt(1))), nil},
		"Other": {"no HelmRelease waits for that one", func(h *Handlers, q queue) {
			h.ObjectOwners().Delete(t.Context(), event.DeleteEvent{Object: controllertest.HelmRelease("prod", "web")}, q)
		}, nil},
		"Foreign": {"the spec of another namespace triggers nothing", func(h *Handlers, q queue) {
			h.ObjectOwners().Delete(t.Context(), event.DeleteEvent{Object: controllertest.HelmRelease("team-b", "shop", called("shop", "apps"))}, q)
		}, nil},
		"ForeignHistory": {"a history does", func(h *Handlers, q queue) {
			h.ObjectOwners().Delete(t.Context(), event.DeleteEvent{Object: controllertest.HelmRelease("team-b", "shop", had(at(1, helmv2.StatusDeployed)))}, q)
		}, []string{"prod/late"}},
		"ForeignInstall": {"of another release it does not", func(h *Handlers, q queue) {
			was := controllertest.HelmRelease("team-b", "shop", called("shop", "apps"))
			h.ObjectOwners().Update(t.Context(), event.UpdateEvent{ObjectOld: was, ObjectNew: controllertest.HelmRelease("team-b", "shop", had(&helmv2.Snapshot{Namespace: "team-b", Name: "shop", Version: 1}))}, q)
		}, nil},
		"Itself": {"who waits is not enqueued by itself", func(h *Handlers, q queue) {
			h.ObjectOwners().Delete(t.Context(), event.DeleteEvent{Object: controllertest.HelmRelease("prod", "late", called("shop", "apps"))}, q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var reset []string
			got := enqueued(t, nil, func(h *Handlers, q queue) {
				h.ResetBackoff = func(key types.NamespacedName) { reset = append(reset, key.String()) }
				h.Waiting = func(releases []string) []types.NamespacedName {
					if slices.Contains(releases, "|apps|shop") {
						return []types.NamespacedName{{Namespace: "prod", Name: "late"}}
					}
					return nil
				}
				tc.happens(h, q)
			})
			if !slices.Equal(got, tc.want) || !slices.Equal(reset, tc.want) {
				t.Errorf("%s: enqueued are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReleaseOwners: those that wait for a release are enqueued when a HelmRelease gives it up that
// may have been its owner.
func TestReleaseOwners(t *testing.T) {
	requests := func(namespace, name, release, storage string, recorded bool) *helmv2.HelmRelease {
		return controllertest.HelmRelease(namespace, name, func(hr *helmv2.HelmRelease) {
			hr.UID = types.UID(namespace + name)
			hr.Spec.ReleaseName, hr.Spec.StorageNamespace = release, storage
			if recorded {
				hr.Status.StorageNamespace, hr.Status.History = storage, helmv2.Snapshots{{Namespace: namespace, Name: release, Version: 1}}
			}
		})
	}
	waiting := []*helmv2.HelmRelease{requests("prod", "late", "shop", "vault", false), requests("vault", "home", "shop", "vault", false)}
	for name, tc := range map[string]struct {
		reason string
		was    *helmv2.HelmRelease
		want   []string
	}{
		"Near":     {"it is in the same namespace", requests("prod", "first", "shop", "vault", false), []string{"prod/late"}},
		"Storage":  {"it is in the storage namespace", requests("vault", "first", "shop", "vault", false), []string{"prod/late", "vault/home"}},
		"Foreign":  {"no HelmRelease waited for its spec", requests("team-b", "first", "shop", "vault", false), nil},
		"Recorded": {"it had the release", requests("team-b", "first", "shop", "vault", true), []string{"prod/late", "vault/home"}},
		"Other":    {"it requested another one", requests("prod", "first", "web", "vault", true), nil},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := enqueued(t, waiting, func(h *Handlers, q queue) {
				h.ReleaseOwners().Delete(t.Context(), event.DeleteEvent{Object: tc.was}, q)
			})
			renamed := requests(tc.was.Namespace, tc.was.Name, "renamed", "vault", false)
			updated := enqueued(t, waiting, func(h *Handlers, q queue) {
				h.ReleaseOwners().Update(t.Context(), event.UpdateEvent{ObjectOld: tc.was, ObjectNew: renamed}, q)
			})
			if !slices.Equal(deleted, tc.want) || !slices.Equal(updated, tc.want) {
				t.Errorf("%s: enqueued are %v and %v, want %v", tc.reason, deleted, updated, tc.want)
			}
		})
	}
}

// TestStartYields: objects of the initial list enqueue releases with low priority.
func TestStartYields(t *testing.T) {
	waiting := controllertest.HelmRelease("prod", "waiting", func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.OCIRepositoryKind, Name: "web"}
	})
	h := &Handlers{
		Client:       controllertest.NewClient().WithObjects(waiting).Build(),
		FilesChanged: func(context.Context, inputs.FileSource, client.Object) {},
	}
	web := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}}
	for initial, want := range map[bool]int{true: handler.LowPriority, false: 0} {
		q := priorityqueue.New[reconcile.Request]("test", func(o *priorityqueue.Opts[reconcile.Request]) {
			o.RateLimiter = workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
		})
		h.Sources(sourcev1.OCIRepositoryKind).Create(t.Context(), event.CreateEvent{Object: web, IsInInitialList: initial}, q)
		if request, got, _ := q.GetWithPriority(); got != want || request.Name != "waiting" {
			t.Errorf("in the initial list %t: %s is enqueued with priority %d, want %d", initial, request, got, want)
		}
		q.ShutDown()
	}
}

// TestValuesDebounce: updates of an object with values are reported, after which its users are
// enqueued with a delay. Creations and deletions are no part of a commit that is still arriving.
func TestValuesDebounce(t *testing.T) {
	user := controllertest.HelmRelease("prod", "web", func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: "values"}}
	})
	var changed []string
	h := &Handlers{
		Client: controllertest.NewClient().WithObjects(user).Build(),
		Changed: func(hr *helmv2.HelmRelease, obj client.Object) {
			changed = append(changed, hr.Name+" by "+obj.GetName())
		},
	}
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "values"}}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	on := h.Values(controller.IndexConfigMap)
	on.Create(t.Context(), event.CreateEvent{Object: values}, q)
	on.Delete(t.Context(), event.DeleteEvent{Object: values}, q)
	if len(changed) > 0 {
		t.Errorf("changed are %v", changed)
	}
	on.Update(t.Context(), event.UpdateEvent{ObjectOld: values, ObjectNew: values}, q)
	if !slices.Equal(changed, []string{"web by values"}) || q.Len() > 0 {
		t.Errorf("changed are %v, %d are enqueued at once", changed, q.Len())
	}
}
