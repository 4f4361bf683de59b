// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// shelf is a cluster with objects of any kind.
type shelf struct {
	t       *testing.T
	objects []*unstructured.Unstructured
	// err is what reads are answered with.
	err   error
	reads []string
	// asked counts who asks for namesakes.
	asked int
}

func (s *shelf) Namespaced(_ context.Context, kind schema.GroupVersionKind) (bool, error) {
	if kind.Kind == "Unheard" {
		return false, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return kind.Kind != "ClusterIssuer", nil
}

func (s *shelf) Get(_ context.Context, hr *helmv2.HelmRelease, object Object) (*unstructured.Unstructured, error) {
	if hr.Name != "app" {
		s.t.Errorf("read for %s", hr.Name)
	}
	s.reads = append(s.reads, object.Kind.Kind+" "+nameOf(object.Key))
	if s.err != nil {
		return nil, s.err
	}
	for _, o := range s.objects {
		if o.GroupVersionKind() == object.Kind && client.ObjectKeyFromObject(o) == object.Key {
			return o.DeepCopy(), nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: object.Kind.Group, Resource: "things"}, object.Key.Name)
}

func (s *shelf) Namesake(_ context.Context, _ *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	s.asked++
	for _, kind := range kinds {
		for _, o := range s.objects {
			if o.GroupVersionKind().GroupKind() == kind && client.ObjectKeyFromObject(o) == key {
				return kind, true
			}
		}
	}
	return schema.GroupKind{}, false
}

func thing(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	// As a server sends it: numbers are integers where they can be.
	raw, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, u); err != nil {
		t.Fatal(err)
	}
	return u
}

const (
	kustomizationOf = "kustomize.toolkit.fluxcd.io/v1"
	secretThing     = `{apiVersion: v1, kind: Secret, metadata: {name: vault, namespace: prod, labels: {ok: "yes"}, annotations: {copy: c2VjcmV0}}, data: {token: c2VjcmV0}}`
)

func TestObjectDependencies(t *testing.T) {
	t.Parallel()
	waiting := func(message string) *release.Blocked {
		return &release.Blocked{
			Reason: helmv2.ReasonDependencyNotReady, Normal: true, Retry: release.After(30 * time.Second), Message: message,
		}
	}
	refused := func(message string) *release.Blocked {
		return &release.Blocked{Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(), Message: message}
	}
	on := func(apiVersion, kind, name string, expression ...string) helmv2.DependencyReference {
		ref := helmv2.DependencyReference{APIVersion: apiVersion, Kind: kind, Name: name}
		ref.ReadyExpr = strings.Join(expression, "")
		return ref
	}
	in := func(namespace string, ref helmv2.DependencyReference) helmv2.DependencyReference {
		ref.Namespace = namespace
		return ref
	}
	const (
		ready   = `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: infra, namespace: prod, generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: Done}]}}`
		failing = `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: infra, namespace: prod, generation: 2}, status: {observedGeneration: 2, conditions: [{type: Reconciling, status: "True", reason: Retrying, message: "attempt 17"}, {type: Ready, status: "False", reason: BuildFailed, message: "the token is hunter2"}]}}`
		job     = `{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: prod}, status: {active: 1, startTime: "2026-01-01T00:00:00Z"}}`
		settled = `{apiVersion: v1, kind: ConfigMap, metadata: {name: flags, namespace: prod}, data: {ready: "yes", version: "1.2.3"}}`
		issuer  = `{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: le}, spec: {acme: x}, status: {conditions: [{type: Ready, status: "True"}]}}`
	)
	secretToken := "base64.decode(dep.data.token) == b'secret'"
	tooMuch := ": it may use no more than labels and status of what is not in its own namespace"
	for name, tc := range map[string]struct {
		reason   string
		refs     []helmv2.DependencyReference
		objects  []string
		releases []*helmv2.HelmRelease
		err      error
		settings Settings
		want     *release.Blocked
		reads    int
	}{
		"Ready":     {reason: "what is ready is not waited for", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, objects: []string{ready}, reads: 1},
		"Failing":   {reason: "its reason is told, and nothing else of it", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, objects: []string{failing}, reads: 1, want: waiting("dependency 'prod/infra' is not ready: Ready of the Kustomization is False with reason BuildFailed")},
		"Missing":   {reason: "what is missing may come", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, reads: 1, want: waiting("unable to get 'prod/infra' dependency: Kustomization 'prod/infra' not found")},
		"Unheard":   {reason: "and so may its kind", refs: []helmv2.DependencyReference{on("example.com/v1", "Unheard", "x")}, want: waiting("unable to get 'prod/x' dependency: no kind Unheard in example.com/v1 is served yet")},
		"Elsewhere": {reason: "the namespace may be another", refs: []helmv2.DependencyReference{in("data", on("v1", "ConfigMap", "flags"))}, objects: []string{settled}, reads: 1, want: waiting("unable to get 'data/flags' dependency: ConfigMap 'data/flags' not found")},
		"InOrder":   {reason: "the first that is not ready is named, and nothing after it is read", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags"), {Name: "db"}, on(kustomizationOf, "Kustomization", "infra")}, objects: []string{settled}, releases: []*helmv2.HelmRelease{unready(other("prod", "db"))}, reads: 1, want: waiting("dependency 'prod/db' is not ready: Ready is False with reason UpgradeFailed")},
		"Release":   {reason: "a HelmRelease is one, also if it is called so", refs: []helmv2.DependencyReference{on("helm.toolkit.fluxcd.io/v2", "HelmRelease", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}},

		"JobRuns":         {reason: "a Job has to be done, not begun", refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate")}, objects: []string{job}, reads: 1, want: waiting("dependency 'prod/migrate' is not ready: the Job is InProgress with reason JobNotComplete")},
		"Expression":      {reason: "an expression is asked instead", refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate", "dep.status.active == 1 && self.metadata.name == 'app'")}, objects: []string{job}, reads: 1},
		"ExpressionFalse": {reason: "false is no", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags", "dep.data.ready == 'no'")}, objects: []string{settled}, reads: 1, want: waiting("dependency 'prod/flags' is not ready according to readyExpr eval")},
		"ExpressionFails": {reason: "what goes wrong is not quoted", refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", "int(dep.data.token) == 1")}, objects: []string{secretThing}, reads: 1, want: waiting("dependency 'prod/vault' is not ready according to readyExpr eval: it cannot be evaluated with this object")},
		"Additive":        {reason: "with the gate both must agree", settings: Settings{AdditiveReadyExpr: true}, refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate", "true")}, objects: []string{job}, reads: 1, want: waiting("dependency 'prod/migrate' is not ready: the Job is InProgress with reason JobNotComplete")},
		"AdditiveFalse":   {reason: "the expression too", settings: Settings{AdditiveReadyExpr: true}, refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags", "false")}, objects: []string{settled}, reads: 1, want: waiting("dependency 'prod/flags' is not ready according to readyExpr eval")},
		"SecretHere":      {reason: "who may read a Secret may ask about it", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", secretToken)}, objects: []string{secretThing}, reads: 1},
		"SecretElsewhere": {reason: "but not in other namespaces, with the flag", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", secretToken))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1, want: waiting("dependency 'data/vault' is not ready according to readyExpr eval" + tooMuch)},
		"LabelsElsewhere": {reason: "where labels are all there is, and no copies of the data", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", "dep.metadata.labels.ok == 'yes' && !has(dep.data) && !has(dep.metadata.annotations)"))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1},
		"SecretOpen":      {reason: "without the flag, its identity alone decides", refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", secretToken))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1},
		"ClusterWide":     {reason: "what has no namespace is found without", refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le", "has(dep.spec.acme)")}, objects: []string{issuer}, reads: 1},
		"ClusterClosed":   {reason: "it is in no tenant's namespace", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le", "has(dep.spec.acme)")}, objects: []string{issuer}, reads: 1, want: waiting("dependency 'le' is not ready according to readyExpr eval" + tooMuch)},
		"ClusterMissing":  {reason: "it is called without", refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le")}, reads: 1, want: waiting("unable to get 'le' dependency: ClusterIssuer 'le' not found")},
		"ClusterPlaced":   {reason: "one that is given would mean something else", refs: []helmv2.DependencyReference{in("prod", on("cert-manager.io/v1", "ClusterIssuer", "le"))}, objects: []string{issuer}, want: waiting("unable to get 'le' dependency: objects of kind ClusterIssuer in cert-manager.io/v1 have no namespace: remove it")},

		"Forbidden":    {reason: "a refusal says who may not do what", err: apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "vault", errors.New("User \"system:serviceaccount:prod:app\" cannot get resource \"secrets\" in API group \"\" in the namespace \"prod\"\n: RBAC: no")), refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", secretToken)}, reads: 1, want: waiting(`unable to get 'prod/vault' dependency: secrets "vault" is forbidden: User "system:serviceaccount:prod:app" cannot get resource "secrets" in API group "" in the namespace "prod" : RBAC: no`)},
		"Answer":       {reason: "other answers are not quoted", err: apierrors.NewInternalError(errors.New("conversion webhook: hunter2 17")), refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags")}, reads: 1, want: waiting("unable to get 'prod/flags' dependency: the API server answers 500 InternalError")},
		"Silence":      {reason: "nor are addresses that change", err: errors.New("read tcp 127.0.0.1:34567: reset"), refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags")}, reads: 1, want: waiting("unable to get 'prod/flags' dependency: the API server does not answer")},
		"NoName":       {reason: "a name leads nowhere else", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "a/b")}, want: waiting("unable to get 'prod/a/b' dependency: no object can have that name")},
		"OnlyKind":     {reason: "kind and version belong together", refs: []helmv2.DependencyReference{on("", "Job", "migrate")}, want: refused("spec.dependsOn[0]: apiVersion and kind must be specified together")},
		"OnlyVersion":  {reason: "kind and version belong together", refs: []helmv2.DependencyReference{{Name: "db"}, on("v1", "", "migrate")}, want: refused("spec.dependsOn[1]: apiVersion and kind must be specified together")},
		"WrongVersion": {reason: "a version has one slash at most", refs: []helmv2.DependencyReference{on("a/b/c", "Job", "migrate")}, want: refused("spec.dependsOn[0].apiVersion: 'a/b/c' is no API version")},
		"NoVersion":    {reason: "and does not end with it", refs: []helmv2.DependencyReference{on("a/", "Job", "migrate")}, want: refused("spec.dependsOn[0].apiVersion: 'a/' is no API version")},

		"IsKustomization":  {reason: "whoever waits for ever is told for what", refs: []helmv2.DependencyReference{{Name: "infra"}}, objects: []string{ready}, want: waiting("unable to get 'prod/infra' dependency: HelmRelease 'prod/infra' not found, but a Kustomization of that name exists: set apiVersion and kind if that is meant")},
		"IsNothing":        {reason: "otherwise it is as ever", refs: []helmv2.DependencyReference{{Name: "db"}}, objects: []string{ready}, want: waiting(`unable to get 'prod/db' dependency: helmreleases.helm.toolkit.fluxcd.io "db" not found`)},
		"IsRelease":        {reason: "and the other way round", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}, reads: 1, want: waiting("unable to get 'prod/db' dependency: Kustomization 'prod/db' not found, but a HelmRelease of that name exists: remove apiVersion and kind if that is meant")},
		"IsPartOfARelease": {reason: "other kinds are named like the release that brings them", refs: []helmv2.DependencyReference{on("apps/v1", "Deployment", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}, reads: 1, want: waiting("unable to get 'prod/db' dependency: Deployment 'prod/db' not found")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			cached := []client.Object{repository(s)}
			for _, o := range tc.releases {
				cached = append(cached, o.DeepCopy())
			}
			on := &shelf{t: t, err: tc.err}
			for _, text := range tc.objects {
				on.objects = append(on.objects, thing(t, text))
			}
			all := reader(t, cached...)
			_, err := NewResolver(all, all, s.charts).WithSettings(tc.settings).WithObjects(on).
				Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = tc.refs }))
			if diff := cmp.Diff(tc.want, blocked(t, err), compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(on.reads) != tc.reads {
				t.Errorf("%s: %d reads, want %d: %v", tc.reason, len(on.reads), tc.reads, on.reads)
			}
		})
	}
}

// TestAwaitedBy: who hears of changes is told what to listen for.
func TestAwaitedBy(t *testing.T) {
	t.Parallel()
	resolve := func(objects Objects, refs ...helmv2.DependencyReference) *PendingDependency {
		none := reader(t)
		r := NewResolver(none, none, nil)
		if objects != nil {
			r = r.WithObjects(objects)
		}
		_, err := r.Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = refs }))
		if err == nil || strings.Contains(blocked(t, err).Message, "'prod/db' is not ready") {
			t.Error(err)
		}
		return PendingDependencyIn(err)
	}
	issuer := helmv2.DependencyReference{APIVersion: "cert-manager.io/v1", Kind: "ClusterIssuer", Name: "le"}
	if got := resolve(&shelf{t: t}, helmv2.DependencyReference{Name: "db"}); got != nil {
		t.Errorf("HelmReleases are watched anyway: %+v", got)
	}
	want := Object{Kind: schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer"}, Key: types.NamespacedName{Name: "le"}}
	if got := resolve(&shelf{t: t}, issuer); got == nil || got.Object != want || got.Unserved || !apierrors.IsNotFound(got) {
		t.Errorf("an object: %+v", got)
	}
	issuer.Kind = "Unheard"
	if got := resolve(&shelf{t: t}, issuer); got == nil || !got.Unserved {
		t.Errorf("a kind: %+v", got)
	}
	if got := resolve(nil, issuer); got == nil || got.Unserved {
		t.Errorf("nobody can read it: %+v", got)
	}
}

// TestOtherKindsAreNoReleases: they are no part of cycles and of the order of deletions.
func TestOtherKindsAreNoReleases(t *testing.T) {
	t.Parallel()
	hr := app(func(hr *helmv2.HelmRelease) {
		hr.Spec.DependsOn = []helmv2.DependencyReference{
			{Name: "a"}, {Name: "b", APIVersion: "v1", Kind: "ConfigMap"}, {Name: "c", APIVersion: "helm.toolkit.fluxcd.io/v2beta2", Kind: "HelmRelease"},
			{Name: "d", APIVersion: "helm.cattle.io/v1", Kind: "HelmRelease"},
		}
	})
	if diff := cmp.Diff([]types.NamespacedName{{Namespace: "prod", Name: "a"}, {Namespace: "prod", Name: "c"}}, DependsOn(hr)); diff != "" {
		t.Error(diff)
	}
}

func TestIsCurrent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, object, why string }{
		"Plain":       {"what has no status is ready by being there", `{kind: ConfigMap, apiVersion: v1}`, ""},
		"Bare":        {"nobody knows better of a kind that says nothing", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 3}}`, ""},
		"Lagging":     {"ready for an older spec is not ready", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`, "the latest generation of the Thing has not been observed"},
		"Fresh":       {"Flux's own kinds say that they were not seen yet", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 1}, status: {observedGeneration: -1}}`, "the latest generation of the Thing has not been observed"},
		"Unknown":     {"Ready may be unknown", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Ready, status: "Unknown", reason: Progressing, message: "3 of 7"}]}}`, "Ready of the Thing is Unknown with reason Progressing"},
		"Reconciling": {"what is worked on is not ready", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: Progressing, message: "3 of 7"}]}}`, "the Thing is InProgress with reason Progressing"},
		"Stalled":     {"nor is what has failed", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Stalled, status: "True", reason: "no reason: hunter2"}]}}`, "the Thing is Failed"},
		"Going":       {"nor what is going", `{kind: Thing, apiVersion: a/v1, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, "the Thing is being deleted"},
		"Nonsense":    {"a status can be anything", `{kind: Thing, apiVersion: a/v1, status: {conditions: hunter2}}`, "the status of the Thing cannot be understood"},
		"Rollout":     {"numbers would change all the time", `{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 1}, spec: {replicas: 7}, status: {observedGeneration: 1, replicas: 7, updatedReplicas: 7, readyReplicas: 3, availableReplicas: 3, conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}}`, "the Deployment is InProgress with reason LessAvailable"},
		"Paused":      {"nobody can make it go on", `{kind: Deployment, apiVersion: apps/v1, spec: {paused: true}}`, ""},
		"PausedGone":  {"but it can go", `{kind: Deployment, apiVersion: apps/v1, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {paused: true}}`, "the Deployment is being deleted"},
		"JobDone":     {"done is done", `{kind: Job, apiVersion: batch/v1, status: {startTime: "2026-01-01T00:00:00Z", conditions: [{type: Complete, status: "True"}]}}`, ""},
		"JobFailed":   {"failed is not", `{kind: Job, apiVersion: batch/v1, status: {startTime: "2026-01-01T00:00:00Z", failed: 3, conditions: [{type: Failed, status: "True"}]}}`, "the Job is Failed with reason JobFailed"},
		"JobOfOthers": {"other groups have Jobs too", `{kind: Job, apiVersion: batch.volcano.sh/v1, status: {startTime: "2026-01-01T00:00:00Z"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, ok := isCurrent(thing(t, tc.object))
			if why != tc.why || ok != (tc.why == "") {
				t.Errorf("%s: %t %q, want %q", tc.reason, ok, why, tc.why)
			}
		})
	}
}
