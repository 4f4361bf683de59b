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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// other returns a ready HelmRelease that depends on the given ones in its namespace.
func other(namespace, name string, dependsOn ...string) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2}}
	hr.Status.ObservedGeneration = 2
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue, Reason: "InstallSucceeded"}}
	for _, d := range dependsOn {
		hr.Spec.DependsOn = append(hr.Spec.DependsOn, helmv2.DependencyReference{Name: d})
	}
	return hr
}

func unready(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
	hr.Status.Conditions[0].Status, hr.Status.Conditions[0].Reason = metav1.ConditionFalse, "UpgradeFailed"
	return hr
}

// TestDependencies: a HelmRelease waits until its dependencies are ready.
func TestDependencies(t *testing.T) {
	t.Parallel()
	waiting := func(message string) *release.Blocked {
		return &release.Blocked{
			Reason: helmv2.ReasonDependencyNotReady, Normal: true, Retry: release.After(30 * time.Second), Message: message,
		}
	}
	invalid := func(message string) *release.Blocked {
		return &release.Blocked{
			Reason: helmv2.ReasonInvalidCELExpression, Terminal: true, Retry: release.Never(),
			Message: "Reconciliation failed terminally due to configuration error: " + message,
		}
	}
	on := func(refs ...helmv2.DependencyReference) []helmv2.DependencyReference { return refs }
	lagging, fresh := other("prod", "db"), other("prod", "db")
	lagging.Generation = 3
	fresh.Status.Conditions = nil
	versioned := other("prod", "db")
	versioned.Status.LastAttemptedRevision = "2.0.0"
	labelled := other("data", "db")
	labelled.Labels = map[string]string{"generation": "new"}
	labelled.Annotations = map[string]string{"copy": "of everything"}
	passing := unready(other("data", "db"))
	passing.Spec.DependsOn = []helmv2.DependencyReference{{Name: "hidden"}}
	back := unready(other("data", "hidden"))
	back.Spec.DependsOn = []helmv2.DependencyReference{{Namespace: "prod", Name: "app"}}
	elsewhere := func(expression string) []helmv2.DependencyReference {
		return on(helmv2.DependencyReference{Name: "db", Namespace: "data", ReadyExpr: expression})
	}
	const tooMuch = ": it may use only labels and status of objects in other namespaces"
	const notReady = "Ready is False with reason UpgradeFailed"
	cases := map[string]struct {
		reason   string
		refs     []helmv2.DependencyReference
		others   []*helmv2.HelmRelease
		additive bool
		closed   bool
		want     *release.Blocked
	}{
		"Ready":      {reason: "a ready dependency does not block", refs: on(helmv2.DependencyReference{Name: "db"}), others: []*helmv2.HelmRelease{other("prod", "db")}},
		"Missing":    {reason: "a missing dependency blocks", refs: on(helmv2.DependencyReference{Name: "db"}), want: waiting(`unable to get 'prod/db' dependency: helmreleases.helm.toolkit.fluxcd.io "db" not found`)},
		"NotReady":   {reason: "the message contains the reason of the condition", refs: on(helmv2.DependencyReference{Name: "db"}), others: []*helmv2.HelmRelease{unready(other("prod", "db"))}, want: waiting("dependency 'prod/db' is not ready: " + notReady)},
		"Lagging":    {reason: "a dependency that is ready with an older spec is not ready", refs: on(helmv2.DependencyReference{Name: "db"}), others: []*helmv2.HelmRelease{lagging}, want: waiting("dependency 'prod/db' is not ready: its latest generation has not been reconciled")},
		"Fresh":      {reason: "a dependency without conditions is not ready", refs: on(helmv2.DependencyReference{Name: "db"}), others: []*helmv2.HelmRelease{fresh}, want: waiting("dependency 'prod/db' is not ready: it has no Ready condition yet")},
		"Elsewhere":  {reason: "a dependency may be in another namespace", refs: on(helmv2.DependencyReference{Name: "db", Namespace: "data"}), others: []*helmv2.HelmRelease{unready(other("data", "db")), other("prod", "db")}, want: waiting("dependency 'data/db' is not ready: " + notReady)},
		"FirstFirst": {reason: "the message names the first in order", refs: on(helmv2.DependencyReference{Name: "b"}, helmv2.DependencyReference{Name: "a"}), others: []*helmv2.HelmRelease{unready(other("prod", "a")), unready(other("prod", "b"))}, want: waiting("dependency 'prod/b' is not ready: " + notReady)},
		"Second":     {reason: "all dependencies have to be ready", refs: on(helmv2.DependencyReference{Name: "b"}, helmv2.DependencyReference{Name: "a"}), others: []*helmv2.HelmRelease{unready(other("prod", "a")), other("prod", "b")}, want: waiting("dependency 'prod/a' is not ready: " + notReady)},
		"Itself":     {reason: "a dependency on itself is a cycle", refs: on(helmv2.DependencyReference{Name: "app"}), others: []*helmv2.HelmRelease{unready(other("prod", "app"))}, want: waiting("dependency 'prod/app' is not ready: dependency cycle prod/app -> prod/app")},
		"Cycle":      {reason: "a cycle may include others", refs: on(helmv2.DependencyReference{Name: "b"}), others: []*helmv2.HelmRelease{unready(other("prod", "b", "x", "c")), unready(other("prod", "c", "c", "b", "app"))}, want: waiting("dependency 'prod/b' is not ready: dependency cycle prod/app -> prod/b -> prod/c -> prod/app")},
		"OthersRun":  {reason: "a cycle among others ends the search", refs: on(helmv2.DependencyReference{Name: "b"}), others: []*helmv2.HelmRelease{unready(other("prod", "b", "c")), unready(other("prod", "c", "b"))}, want: waiting("dependency 'prod/b' is not ready: " + notReady)},
		"ReadyCycle": {reason: "a cycle of ready HelmReleases does not block", refs: on(helmv2.DependencyReference{Name: "b"}), others: []*helmv2.HelmRelease{other("prod", "b", "app")}},

		"Expression":      {reason: "an expression replaces the built-in check", refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "dep.status.lastAttemptedRevision == '2.0.0' && self.metadata.name == 'app' && dep.kind == 'HelmRelease'"}), others: []*helmv2.HelmRelease{unready(versioned.DeepCopy())}},
		"ExpressionFalse": {reason: "a dependency blocks if its expression is false", refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "dep.status.lastAttemptedRevision == '1.0.0'"}), others: []*helmv2.HelmRelease{versioned}, want: waiting("dependency 'prod/db' is not ready according to readyExpr eval")},
		"ExpressionFails": {reason: "a dependency blocks if its expression fails, and the message contains the error", refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "dep.spec.nonsense == 1"}), others: []*helmv2.HelmRelease{versioned}, want: waiting("dependency 'prod/db' is not ready according to readyExpr eval: expression 'dep.spec.nonsense == 1': no such key: nonsense")},
		"FailsElsewhere":  {reason: "the message does not quote objects in other namespaces", refs: on(helmv2.DependencyReference{Name: "db", Namespace: "data", ReadyExpr: "dep.spec.nonsense == 1"}), others: []*helmv2.HelmRelease{other("data", "db")}, want: waiting("dependency 'data/db' is not ready according to readyExpr eval")},
		"LabelsElsewhere": {reason: "labels and status may be used", closed: true, refs: elsewhere("dep.metadata.labels['generation'] == 'new' && dep.status.conditions.all(c, c.status == 'True')"), others: []*helmv2.HelmRelease{labelled}},
		"SpecElsewhere":   {reason: "values must not be extracted letter by letter", closed: true, refs: elsewhere("has(dep.spec.interval)"), others: []*helmv2.HelmRelease{labelled}, want: waiting("dependency 'data/db' is not ready according to readyExpr eval" + tooMuch)},
		"CopyElsewhere":   {reason: "annotations may contain copies of values", closed: true, refs: elsewhere("dep.metadata.annotations['copy'] == 'of everything'"), others: []*helmv2.HelmRelease{labelled}, want: waiting("dependency 'data/db' is not ready according to readyExpr eval" + tooMuch)},
		"SpecHere":        {reason: "the own namespace is not restricted", closed: true, refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "has(dep.spec.interval)"}), others: []*helmv2.HelmRelease{other("prod", "db")}},
		"SpecOpen":        {reason: "without the flag there is no restriction", refs: elsewhere("has(dep.spec.interval)"), others: []*helmv2.HelmRelease{labelled}},
		"CycleElsewhere":  {reason: "dependencies of objects in other namespaces are not disclosed", refs: elsewhere(""), others: []*helmv2.HelmRelease{passing, back}, want: waiting("dependency 'data/db' is not ready: dependency cycle prod/app -> data/db -> one in another namespace -> prod/app")},
		"Additive":        {reason: "with the gate both checks have to pass", additive: true, refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "true"}), others: []*helmv2.HelmRelease{unready(other("prod", "db"))}, want: waiting("dependency 'prod/db' is not ready: " + notReady)},
		"AdditiveFalse":   {reason: "the expression has to pass too", additive: true, refs: on(helmv2.DependencyReference{Name: "db", ReadyExpr: "false"}), others: []*helmv2.HelmRelease{other("prod", "db")}, want: waiting("dependency 'prod/db' is not ready according to readyExpr eval")},
		"NotBoolean":      {reason: "invalid expressions are reported before dependencies", refs: on(helmv2.DependencyReference{Name: "none"}, helmv2.DependencyReference{Name: "db", ReadyExpr: "1 + 1"}), want: invalid("spec.dependsOn[1].readyExpr: expression '1 + 1' yields int, not bool")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			objects := []client.Object{repository(s)}
			for _, o := range tc.others {
				objects = append(objects, o.DeepCopy())
			}
			hr := app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = tc.refs })
			all := reader(t, objects...)
			r := NewResolver(all, all, s.charts).WithSettings(Settings{AdditiveReadyExpr: tc.additive, NoCrossNamespaceRefs: tc.closed})
			_, err := r.Resolve(t.Context(), hr, release.Suspension{})
			if diff := cmp.Diff(tc.want, blocked(t, err), compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDependenciesComeFirst: dependencies are checked before the source, and not for a deletion.
func TestDependenciesComeFirst(t *testing.T) {
	t.Parallel()
	none := reader(t)
	hr := app(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "db"}} })
	r := NewResolver(none, none, nil).WithSettings(Settings{DependencyRetry: time.Hour})
	_, err := r.Resolve(t.Context(), hr, release.Suspension{})
	if b := blocked(t, err); b == nil || b.Reason != helmv2.ReasonDependencyNotReady || b.Retry != release.After(time.Hour) {
		t.Errorf("dependencies are not checked before the source: %+v", b)
	}
	hr.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if _, err := r.Resolve(t.Context(), hr, release.Suspension{}); err != nil {
		t.Errorf("a deletion does not wait for dependencies: %v", err)
	}
}

// TestUncachedDependency: a dependency that is not in the cache is read from the API server.
func TestUncachedDependency(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	reads := 0
	live := interceptor.NewClient(reader(t, other("data", "db")), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, opts...)
		},
	})
	hr := app(func(hr *helmv2.HelmRelease) {
		hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "db", Namespace: "data"}}
	})
	if _, err := NewResolver(reader(t, repository(s)), live, s.charts).Resolve(t.Context(), hr, release.Suspension{}); err != nil || reads != 1 {
		t.Errorf("a dependency outside of the cache: %v after %d reads, want one read", err, reads)
	}
	if _, err := NewResolver(reader(t, repository(s), other("data", "db")), live, s.charts).Resolve(t.Context(), hr, release.Suspension{}); err != nil || reads != 1 {
		t.Errorf("a cached dependency: %v after %d reads, want none", err, reads-1)
	}
	forbidden := errors.New("forbidden")
	failing := interceptor.NewClient(reader(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
	})
	_, err := NewResolver(failing, failing, s.charts).Resolve(t.Context(), hr, release.Suspension{})
	if b := blocked(t, err); b == nil || !strings.HasSuffix(b.Message, "unable to get 'data/db' dependency: forbidden") || !errors.Is(err, forbidden) {
		t.Errorf("the message lacks the error: %+v", b)
	}
}
