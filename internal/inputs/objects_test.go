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

// fakeObjects implements Objects with a list of objects.
type fakeObjects struct {
	t       *testing.T
	objects []*unstructured.Unstructured
	// err is the result of each read; nil reads from objects.
	err   error
	reads []string
	// namesakes counts the calls of Namesake.
	namesakes int
}

func (s *fakeObjects) Namespaced(_ context.Context, kind schema.GroupVersionKind) (bool, error) {
	if kind.Kind == "Unserved" {
		return false, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return kind.Kind != "ClusterIssuer", nil
}

func (s *fakeObjects) Get(_ context.Context, hr *helmv2.HelmRelease, object Object) (*unstructured.Unstructured, error) {
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

func (s *fakeObjects) Namesake(_ context.Context, _ *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	s.namesakes++
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
	// The API server's JSON is decoded to integers where possible.
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

// TestObjectDependencies: a HelmRelease waits until objects of other kinds are ready.
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
	tooMuch := ": it may use only labels and status of objects outside its own namespace"
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
		"Ready":     {reason: "a ready object does not block", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, objects: []string{ready}, reads: 1},
		"Failing":   {reason: "the message contains the reason and no other text of the object", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, objects: []string{failing}, reads: 1, want: waiting("dependency 'prod/infra' is not ready: Ready of the Kustomization is False with reason BuildFailed")},
		"Missing":   {reason: "a missing object blocks", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "infra")}, reads: 1, want: waiting("unable to get 'prod/infra' dependency: Kustomization 'prod/infra' not found")},
		"Unserved":  {reason: "an object of a kind that is not served blocks", refs: []helmv2.DependencyReference{on("example.com/v1", "Unserved", "x")}, want: waiting("unable to get 'prod/x' dependency: no kind Unserved in example.com/v1 is served yet")},
		"Elsewhere": {reason: "an object may be in another namespace", refs: []helmv2.DependencyReference{in("data", on("v1", "ConfigMap", "flags"))}, objects: []string{settled}, reads: 1, want: waiting("unable to get 'data/flags' dependency: ConfigMap 'data/flags' not found")},
		"InOrder":   {reason: "the message names the first that is not ready, and later ones are not read", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags"), {Name: "db"}, on(kustomizationOf, "Kustomization", "infra")}, objects: []string{settled}, releases: []*helmv2.HelmRelease{unready(other("prod", "db"))}, reads: 1, want: waiting("dependency 'prod/db' is not ready: Ready is False with reason UpgradeFailed")},
		"Release":   {reason: "kind HelmRelease may be given explicitly", refs: []helmv2.DependencyReference{on("helm.toolkit.fluxcd.io/v2", "HelmRelease", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}},

		"JobRuns":         {reason: "a Job has to be complete", refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate")}, objects: []string{job}, reads: 1, want: waiting("dependency 'prod/migrate' is not ready: the Job is InProgress with reason JobNotComplete")},
		"Expression":      {reason: "an expression replaces the built-in check", refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate", "dep.status.active == 1 && self.metadata.name == 'app'")}, objects: []string{job}, reads: 1},
		"ExpressionFalse": {reason: "an object blocks if its expression is false", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags", "dep.data.ready == 'no'")}, objects: []string{settled}, reads: 1, want: waiting("dependency 'prod/flags' is not ready according to readyExpr eval")},
		"ExpressionFails": {reason: "errors of expressions are not quoted", refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", "int(dep.data.token) == 1")}, objects: []string{secretThing}, reads: 1, want: waiting("dependency 'prod/vault' is not ready according to readyExpr eval: it cannot be evaluated with this object")},
		"Additive":        {reason: "with the gate both checks have to pass", settings: Settings{AdditiveReadyExpr: true}, refs: []helmv2.DependencyReference{on("batch/v1", "Job", "migrate", "true")}, objects: []string{job}, reads: 1, want: waiting("dependency 'prod/migrate' is not ready: the Job is InProgress with reason JobNotComplete")},
		"AdditiveFalse":   {reason: "the expression has to pass too", settings: Settings{AdditiveReadyExpr: true}, refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags", "false")}, objects: []string{settled}, reads: 1, want: waiting("dependency 'prod/flags' is not ready according to readyExpr eval")},
		"SecretHere":      {reason: "a Secret in the own namespace is not restricted", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", secretToken)}, objects: []string{secretThing}, reads: 1},
		"SecretElsewhere": {reason: "with the flag, a Secret in another namespace is restricted", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", secretToken))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1, want: waiting("dependency 'data/vault' is not ready according to readyExpr eval" + tooMuch)},
		"LabelsElsewhere": {reason: "labels may be used, data and annotations may not", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", "dep.metadata.labels.ok == 'yes' && !has(dep.data) && !has(dep.metadata.annotations)"))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1},
		"SecretOpen":      {reason: "without the flag the rights of the identity are sufficient", refs: []helmv2.DependencyReference{in("data", on("v1", "Secret", "vault", secretToken))}, objects: []string{strings.Replace(secretThing, "prod", "data", 1)}, reads: 1},
		"ClusterWide":     {reason: "a cluster-scoped object has no namespace", refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le", "has(dep.spec.acme)")}, objects: []string{issuer}, reads: 1},
		"ClusterClosed":   {reason: "with the flag, a cluster-scoped object is restricted", settings: Settings{NoCrossNamespaceRefs: true}, refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le", "has(dep.spec.acme)")}, objects: []string{issuer}, reads: 1, want: waiting("dependency 'le' is not ready according to readyExpr eval" + tooMuch)},
		"ClusterMissing":  {reason: "the message names a cluster-scoped object without a namespace", refs: []helmv2.DependencyReference{on("cert-manager.io/v1", "ClusterIssuer", "le")}, reads: 1, want: waiting("unable to get 'le' dependency: ClusterIssuer 'le' not found")},
		"ClusterPlaced":   {reason: "a namespace for a cluster-scoped kind is an error", refs: []helmv2.DependencyReference{in("prod", on("cert-manager.io/v1", "ClusterIssuer", "le"))}, objects: []string{issuer}, want: waiting("unable to get 'le' dependency: objects of kind ClusterIssuer in cert-manager.io/v1 have no namespace: remove it")},

		"Forbidden":    {reason: "the error of RBAC is quoted", err: apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "vault", errors.New("User \"system:serviceaccount:prod:app\" cannot get resource \"secrets\" in API group \"\" in the namespace \"prod\"\n: RBAC: no")), refs: []helmv2.DependencyReference{on("v1", "Secret", "vault", secretToken)}, reads: 1, want: waiting(`unable to get 'prod/vault' dependency: secrets "vault" is forbidden: User "system:serviceaccount:prod:app" cannot get resource "secrets" in API group "" in the namespace "prod" : RBAC: no`)},
		"Answer":       {reason: "messages of other errors are not quoted", err: apierrors.NewInternalError(errors.New("conversion webhook: hunter2 17")), refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags")}, reads: 1, want: waiting("unable to get 'prod/flags' dependency: the API server returned 500 InternalError")},
		"Silence":      {reason: "addresses of connections are not quoted", err: errors.New("read tcp 127.0.0.1:34567: reset"), refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "flags")}, reads: 1, want: waiting("unable to get 'prod/flags' dependency: the API server does not answer")},
		"NoName":       {reason: "a name must not change the path of the request", refs: []helmv2.DependencyReference{on("v1", "ConfigMap", "a/b")}, want: waiting("unable to get 'prod/a/b' dependency: no object can have that name")},
		"OnlyKind":     {reason: "kind and version have to be given together", refs: []helmv2.DependencyReference{on("", "Job", "migrate")}, want: refused("spec.dependsOn[0]: apiVersion and kind must be specified together")},
		"OnlyVersion":  {reason: "kind and version have to be given together", refs: []helmv2.DependencyReference{{Name: "db"}, on("v1", "", "migrate")}, want: refused("spec.dependsOn[1]: apiVersion and kind must be specified together")},
		"WrongVersion": {reason: "an API version has at most one slash", refs: []helmv2.DependencyReference{on("a/b/c", "Job", "migrate")}, want: refused("spec.dependsOn[0].apiVersion: 'a/b/c' is not an API version")},
		"NoVersion":    {reason: "an API version does not end with a slash", refs: []helmv2.DependencyReference{on("a/", "Job", "migrate")}, want: refused("spec.dependsOn[0].apiVersion: 'a/' is not an API version")},

		"IsKustomization":  {reason: "the message hints at a Kustomization of that name", refs: []helmv2.DependencyReference{{Name: "infra"}}, objects: []string{ready}, want: waiting("unable to get 'prod/infra' dependency: HelmRelease 'prod/infra' not found, but a Kustomization of that name exists: set apiVersion and kind to depend on it")},
		"IsNothing":        {reason: "without one there is no hint", refs: []helmv2.DependencyReference{{Name: "db"}}, objects: []string{ready}, want: waiting(`unable to get 'prod/db' dependency: helmreleases.helm.toolkit.fluxcd.io "db" not found`)},
		"IsRelease":        {reason: "the message hints at a HelmRelease of that name", refs: []helmv2.DependencyReference{on(kustomizationOf, "Kustomization", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}, reads: 1, want: waiting("unable to get 'prod/db' dependency: Kustomization 'prod/db' not found, but a HelmRelease of that name exists: remove apiVersion and kind to depend on it")},
		"IsPartOfARelease": {reason: "there is no hint for kinds that releases usually contain", refs: []helmv2.DependencyReference{on("apps/v1", "Deployment", "db")}, releases: []*helmv2.HelmRelease{other("prod", "db")}, reads: 1, want: waiting("unable to get 'prod/db' dependency: Deployment 'prod/db' not found")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			cached := []client.Object{repository(s)}
			for _, o := range tc.releases {
				cached = append(cached, o.DeepCopy())
			}
			on := &fakeObjects{t: t, err: tc.err}
			for _, text := range tc.objects {
				on.objects = append(on.objects, thing(t, text))
			}
			all := reader(t, cached...)
			_, err := NewResolver(all, all, s.charts).WithSettings(tc.settings).WithObjects(on).
				Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = tc.refs }), release.Suspension{})
			if diff := cmp.Diff(tc.want, blocked(t, err), compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(on.reads) != tc.reads {
				t.Errorf("%s: %d reads, want %d: %v", tc.reason, len(on.reads), tc.reads, on.reads)
			}
		})
	}
}

// TestPendingDependencyIn: the error contains the object whose changes have to be watched.
func TestPendingDependencyIn(t *testing.T) {
	t.Parallel()
	resolve := func(objects Objects, refs ...helmv2.DependencyReference) *PendingDependency {
		none := reader(t)
		r := NewResolver(none, none, nil)
		if objects != nil {
			r = r.WithObjects(objects)
		}
		_, err := r.Resolve(t.Context(), app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = refs }), release.Suspension{})
		if err == nil || strings.Contains(blocked(t, err).Message, "'prod/db' is not ready") {
			t.Error(err)
		}
		return PendingDependencyIn(err)
	}
	issuer := helmv2.DependencyReference{APIVersion: "cert-manager.io/v1", Kind: "ClusterIssuer", Name: "le"}
	if got := resolve(&fakeObjects{t: t}, helmv2.DependencyReference{Name: "db"}); got != nil {
		t.Errorf("HelmReleases are watched already, but the error contains %+v", got)
	}
	want := Object{Kind: schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer"}, Key: types.NamespacedName{Name: "le"}}
	if got := resolve(&fakeObjects{t: t}, issuer); got == nil || got.Object != want || got.Unserved || !apierrors.IsNotFound(got) {
		t.Errorf("an object: %+v", got)
	}
	issuer.Kind = "Unserved"
	if got := resolve(&fakeObjects{t: t}, issuer); got == nil || !got.Unserved {
		t.Errorf("a kind: %+v", got)
	}
	if got := resolve(nil, issuer); got == nil || got.Unserved {
		t.Errorf("without Objects: %+v", got)
	}
}

// TestOtherKindsAreNoReleases: DependsOn leaves out objects of other kinds.
func TestOtherKindsAreNoReleases(t *testing.T) {
	t.Parallel()
	hr := app(func(hr *helmv2.HelmRelease) {
		hr.Spec.DependsOn = []helmv2.DependencyReference{
			{Name: "a"},
			{Name: "b", APIVersion: "v1", Kind: "ConfigMap"},
			{Name: "c", APIVersion: "helm.toolkit.fluxcd.io/v2beta2", Kind: "HelmRelease"},
			{Name: "d", APIVersion: "helm.cattle.io/v1", Kind: "HelmRelease"},
		}
	})
	if diff := cmp.Diff([]types.NamespacedName{{Namespace: "prod", Name: "a"}, {Namespace: "prod", Name: "c"}}, DependsOn(hr)); diff != "" {
		t.Error(diff)
	}
}

// TestObjectReady: readiness follows kstatus, and the reason contains no counts and no messages.
func TestObjectReady(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, object, why string }{
		"Plain":       {"an object without a status is ready once it exists", `{kind: ConfigMap, apiVersion: v1}`, ""},
		"Bare":        {"a generation without a status says nothing about readiness", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 3}}`, ""},
		"Lagging":     {"an object that is ready with an older spec is not ready", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`, "the latest generation of the Thing has not been observed"},
		"Fresh":       {"Flux's own kinds start with an observed generation of -1", `{kind: Thing, apiVersion: a/v1, metadata: {generation: 1}, status: {observedGeneration: -1}}`, "the latest generation of the Thing has not been observed"},
		"Unknown":     {"Ready may be unknown", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Ready, status: "Unknown", reason: Progressing, message: "3 of 7"}]}}`, "Ready of the Thing is Unknown with reason Progressing"},
		"Reconciling": {"an object that is being reconciled is not ready", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: Progressing, message: "3 of 7"}]}}`, "the Thing is InProgress with reason Progressing"},
		"Stalled":     {"a stalled object is not ready", `{kind: Thing, apiVersion: a/v1, status: {conditions: [{type: Stalled, status: "True", reason: "no reason: hunter2"}]}}`, "the Thing is Failed"},
		"Terminating": {"an object that is being deleted is not ready", `{kind: Thing, apiVersion: a/v1, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, "the Thing is being deleted"},
		"Invalid":     {"a status may have any form", `{kind: Thing, apiVersion: a/v1, status: {conditions: hunter2}}`, "the status of the Thing cannot be evaluated"},
		"Rollout":     {"counts are left out, since they change often", `{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 1}, spec: {replicas: 7}, status: {observedGeneration: 1, replicas: 7, updatedReplicas: 7, readyReplicas: 3, availableReplicas: 3, conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}}`, "the Deployment is InProgress with reason LessAvailable"},
		"Paused":      {"a paused rollout does not continue on its own", `{kind: Deployment, apiVersion: apps/v1, spec: {paused: true}}`, ""},
		"PausedGone":  {"a paused Deployment that is being deleted is not ready", `{kind: Deployment, apiVersion: apps/v1, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {paused: true}}`, "the Deployment is being deleted"},
		"JobDone":     {"a complete Job is ready", `{kind: Job, apiVersion: batch/v1, status: {startTime: "2026-01-01T00:00:00Z", conditions: [{type: Complete, status: "True"}]}}`, ""},
		"JobFailed":   {"a failed Job is not ready", `{kind: Job, apiVersion: batch/v1, status: {startTime: "2026-01-01T00:00:00Z", failed: 3, conditions: [{type: Failed, status: "True"}]}}`, "the Job is Failed with reason JobFailed"},
		"JobOfOthers": {"the exception for Jobs applies to one API group only", `{kind: Job, apiVersion: batch.volcano.sh/v1, status: {startTime: "2026-01-01T00:00:00Z"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, ok := objectReady(thing(t, tc.object))
			if why != tc.why || ok != (tc.why == "") {
				t.Errorf("%s: %t %q, want %q", tc.reason, ok, why, tc.why)
			}
		})
	}
}
