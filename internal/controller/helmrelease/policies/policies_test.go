// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// list is a kind with objects.
type list[T client.Object] struct {
	objects []T
	unknown string
}

func (l *list[T]) Objects() []T    { return l.objects }
func (l *list[T]) Unknown() string { return l.unknown }

// cluster is the objects of a test. reads counts requests, and failing is their error.
type cluster struct {
	*Reader
	namespaced list[*v1alpha1.ReleasePolicy]
	clusterPol list[*v1alpha1.ClusterReleasePolicy]
	client     client.Client
	now        time.Time
	reads      int
	failing    error
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{now: time.Unix(1000, 0)}
	c.client = fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(objects...).Build()
	live := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			c.reads++
			if c.failing != nil {
				return c.failing
			}
			return c.client.Get(ctx, key, obj, opts...)
		},
	}).Build()
	c.Reader = &Reader{namespaced: &c.namespaced, cluster: &c.clusterPol, facts: &facts{cached: c.client, live: live, now: func() time.Time { return c.now }}}
	return c
}

func web() *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
}

func tenants() *v1alpha1.ClusterReleasePolicy {
	p := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: "tenants"}}
	p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	p.Spec.Freeze = "maintenance"
	return p
}

func exact(spec v1alpha1.ChartPolicy) *v1alpha1.ReleasePolicy {
	return &v1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "exact"}, Spec: v1alpha1.ReleasePolicySpec{Charts: &spec},
	}
}

// TestDemands: the policies of the namespace and of the cluster apply. What is not known is reported.
func TestDemands(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if d := c.Demands(t.Context(), web()); d.MayHold() || c.reads != 0 {
		t.Errorf("without policies: %+v, %d reads", d, c.reads)
	}
	c.namespaced.objects = []*v1alpha1.ReleasePolicy{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "a"}, Spec: v1alpha1.ReleasePolicySpec{Freeze: "a"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"}, Spec: v1alpha1.ReleasePolicySpec{Freeze: "b"}},
	}
	c.clusterPol.objects = []*v1alpha1.ClusterReleasePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}
	c.clusterPol.objects[0].Spec.Freeze = "c"
	if d := c.Demands(t.Context(), web()); len(d.Freezes) != 2 || d.Freezes[0].Why != "c" || d.Freezes[1].Why != "a" || c.reads != 0 {
		t.Errorf("%+v, %d reads", d, c.reads)
	}
	for _, unknown := range []*string{&c.namespaced.unknown, &c.clusterPol.unknown} {
		*unknown = "forbidden"
		if d := c.Demands(t.Context(), web()); d.Unavailable != "forbidden" || len(d.Freezes) != 2 {
			t.Errorf("%+v", d)
		}
		*unknown = ""
	}
}

// TestNamespaceLabels: they are read if a policy needs them, once a minute. A failure is reported.
func TestNamespaceLabels(t *testing.T) {
	t.Parallel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps", Labels: map[string]string{"team": "a"}}}
	c := newCluster(t, ns)
	c.clusterPol.objects = []*v1alpha1.ClusterReleasePolicy{tenants()}
	for range 3 {
		if d := c.Demands(t.Context(), web()); len(d.Freezes) != 1 || c.reads != 1 {
			t.Errorf("%+v, %d reads", d, c.reads)
		}
	}
	ns.Labels["team"] = "b"
	if err := c.client.Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(labelsAge)
	if d := c.Demands(t.Context(), web()); d.MayHold() || c.reads != 2 {
		t.Errorf("%+v, %d reads", d, c.reads)
	}
	c.now, c.failing = c.now.Add(labelsAge), errors.New("no such right")
	for range 3 {
		if d := c.Demands(t.Context(), web()); !strings.Contains(d.Unavailable, "labels of namespace apps are not known: no such right") || c.reads != 3 {
			t.Errorf("%+v, %d reads", d, c.reads)
		}
	}
	c.now, c.failing = c.now.Add(unreadAge), nil
	if d := c.Demands(t.Context(), web()); d.MayHold() || c.reads != 4 {
		t.Errorf("%+v, %d reads", d, c.reads)
	}
}

// TestAdmitRepository: the URL of a HelmRepository is read once for each version of the HelmChart.
func TestAdmitRepository(t *testing.T) {
	t.Parallel()
	repo := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "charts"}, Spec: sourcev1.HelmRepositorySpec{URL: "https://charts.example.com/stable/"}}
	repo.Status.Artifact = &fluxmeta.Artifact{Revision: "index"}
	chart := &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-web", UID: "1"},
		Spec: sourcev1.HelmChartSpec{
			Chart: "web", Version: "1.2.3", SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "charts"},
		},
		Status: sourcev1.HelmChartStatus{
			Artifact: &fluxmeta.Artifact{Revision: "1.2.3"}, ObservedSourceArtifactRevision: "index",
			Conditions: []metav1.Condition{{Type: sourcev1.ArtifactInStorageCondition, Status: metav1.ConditionTrue}},
		},
	}
	c := newCluster(t, repo, chart)
	template := chart.DeepCopy()
	template.UID, template.ResourceVersion = "", ""
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(chart), chart); err != nil {
		t.Fatal(err)
	}
	admit := func(source client.Object, refused string, reads int) {
		t.Helper()
		err := c.Admit(t.Context(), web(), source)
		var refusal *inputs.Refused
		if errors.As(err, &refusal) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%v, want %q", err, refused)
		}
		if c.reads != reads {
			t.Errorf("%d reads, want %d", c.reads, reads)
		}
	}
	admit(chart, "", 0)
	c.namespaced.objects = []*v1alpha1.ReleasePolicy{exact(v1alpha1.ChartPolicy{ExactVersions: true})}
	admit(chart, "", 0)
	c.namespaced.objects = []*v1alpha1.ReleasePolicy{exact(v1alpha1.ChartPolicy{Sources: []string{"https://charts.example.com/stable/*"}})}
	admit(chart, "", 1)
	admit(template, "", 1)
	admit(chart, "", 1)
	repo.Spec.URL = "https://charts.example.com/incubator"
	if err := c.client.Update(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	// The artifact is still that of the former URL.
	admit(chart, "", 1)
	chart.Labels = map[string]string{"fetched": "again"}
	if err := c.client.Update(t.Context(), chart); err != nil {
		t.Fatal(err)
	}
	admit(template, "https://charts.example.com/incubator/web is not one of the allowed sources", 2)
	admit(chart, "https://charts.example.com/incubator/web is not one of the allowed sources", 3)
	chart.Spec.SourceRef.Name = "missing"
	c.reads = 0
	var blocked *release.Blocked
	if err := c.Admit(t.Context(), web(), chart); !errors.As(err, &blocked) || blocked.Reason != helmv2.ReasonPolicyUnavailable {
		t.Errorf("%v", err)
	}
	c.failing = apierrors.NewForbidden(schema.GroupResource{Resource: "helmrepositories"}, "missing", nil)
	admit(chart, "the controller may not read HelmRepository 'apps/missing'", 2)
}

// TestAdmitOrigin: a HelmRepository whose index the HelmChart does not name is read until it does. One
// that says nothing about the chart is refused, and so are certificates of its own, which an installed
// release is warned of.
func TestAdmitOrigin(t *testing.T) {
	t.Parallel()
	repo := &sourcev1.HelmRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "charts"}, Spec: sourcev1.HelmRepositorySpec{URL: "https://charts.example.com"}}
	repo.Status.Artifact = &fluxmeta.Artifact{Revision: "new"}
	chart := &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-web", UID: "1", ResourceVersion: "7"},
		Spec:       sourcev1.HelmChartSpec{Chart: "web", SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "charts"}},
		Status: sourcev1.HelmChartStatus{
			Artifact: &fluxmeta.Artifact{Revision: "1.2.3"}, ObservedSourceArtifactRevision: "old",
			Conditions: []metav1.Condition{{Type: sourcev1.ArtifactInStorageCondition, Status: metav1.ConditionTrue}},
		},
	}
	c := newCluster(t, repo)
	c.namespaced.objects = []*v1alpha1.ReleasePolicy{exact(v1alpha1.ChartPolicy{Sources: []string{"https://charts.example.com/*"}})}
	edit := func(edit func(*sourcev1.HelmRepository)) {
		t.Helper()
		edit(repo)
		if err := c.client.Update(t.Context(), repo); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		var waits *release.Blocked
		if err := c.Admit(t.Context(), web(), chart); !errors.As(err, &waits) || waits.Reason != helmv2.ReasonSourceNotReady {
			t.Errorf("another index: %v", err)
		}
	}
	edit(func(o *sourcev1.HelmRepository) { o.Status.Artifact.Revision = "old" })
	for range 2 {
		if err := c.Admit(t.Context(), web(), chart); err != nil || c.reads != 3 {
			t.Errorf("%v, %d reads", err, c.reads)
		}
	}
	installed := web()
	installed.Status.History = helmv2.Snapshots{{Version: 1}}
	for why, tc := range map[string]struct {
		edit    func(*sourcev1.HelmRepository)
		changes bool
	}{
		"is suspended":         {func(o *sourcev1.HelmRepository) { o.Spec.Suspend = true }, false},
		"use an OCIRepository": {func(o *sourcev1.HelmRepository) { o.Spec.Suspend, o.Spec.Type = false, "oci" }, false},
		"has spec.certSecretRef": {func(o *sourcev1.HelmRepository) {
			o.Spec.Type, o.Spec.CertSecretRef = "", &fluxmeta.LocalObjectReference{Name: "own"}
		}, true},
	} {
		chart.ResourceVersion += "1"
		edit(tc.edit)
		for _, hr := range []*helmv2.HelmRelease{web(), installed} {
			var refused *inputs.Refused
			err := c.Admit(t.Context(), hr, chart)
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, why) || refused.ChangesOnly != (tc.changes && hr == installed) {
				t.Errorf("%s: %+v", why, err)
			}
		}
		repo.Spec.Suspend, repo.Spec.Type, repo.Spec.CertSecretRef = false, "", nil
	}
}

// TestAdmitValues: values are read again only if a policy that selects the release judges them.
func TestAdmitValues(t *testing.T) {
	t.Parallel()
	places, read := []policy.Place{{Field: "spec.values", Kind: "HelmRelease", Namespace: "apps", Name: "web", Values: map[string]any{"password": "hunter2"}}}, 0
	for name, tc := range map[string]struct {
		values          *v1alpha1.ValuesPolicy
		namespace       string
		sources, judged string
		read            int
	}{
		"None":           {nil, "apps", "", "", 0},
		"OtherNamespace": {&v1alpha1.ValuesPolicy{Sources: []string{"Secret"}, PlaintextSecrets: v1alpha1.PlaintextSecretsDeny}, "other", "", "", 0},
		"Sources":        {&v1alpha1.ValuesPolicy{Sources: []string{"Secret"}}, "apps", "ReleasePolicy/p refuses spec.values: values may come from Secret", "", 0},
		"Plaintext": {
			&v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny}, "apps", "", "ReleasePolicy/p refuses spec.values: password looks like", 1,
		},
		"Allowed": {&v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny, Allow: []string{"password"}}, "apps", "", "", 1},
	} {
		c := newCluster(t)
		c.namespaced.objects = []*v1alpha1.ReleasePolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "p"}, Spec: v1alpha1.ReleasePolicySpec{Values: tc.values}}}
		read = 0
		sources := c.AdmitSources(t.Context(), web(), places)
		judged := c.AdmitValues(t.Context(), web(), func() []policy.Place { read++; return places })
		for want, err := range map[string]error{"s" + tc.sources: sources, "j" + tc.judged: judged} {
			refused, is := errors.AsType[*inputs.Refused](err)
			if is != (want[1:] != "") || is && !strings.HasPrefix(refused.Error(), want[1:]) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if read != tc.read {
			t.Errorf("%s: read %d times", name, read)
		}
	}
}

// TestNotify: changes are never lost, and none blocks.
func TestNotify(t *testing.T) {
	t.Parallel()
	var keys [][]types.NamespacedName
	w := &Watch{
		changed: make(chan string, 2), enqueue: func(k []types.NamespacedName) { keys = append(keys, k) },
		releases: fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(web(), &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "web"}}).Build(),
	}
	for _, namespace := range []string{"a", "b", "c", "d"} {
		w.notify(namespace)
	}
	all := false
	for len(w.changed) > 0 {
		all = <-w.changed == "" || all
	}
	if !all {
		t.Error("changes are lost")
	}
	w.enqueueAll(t.Context(), "apps")
	w.enqueueAll(t.Context(), "")
	if len(keys) != 2 || len(keys[0]) != 1 || len(keys[1]) != 2 {
		t.Errorf("enqueued %v", keys)
	}
}

// TestFactsAreForgotten: namespaces and HelmCharts that nothing asks for any more are forgotten.
func TestFactsAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	f := c.facts
	f.namespace(t.Context(), "gone")
	f.remember(types.NamespacedName{Name: "gone"}, repositoryRead{})
	for range 3 {
		c.now = c.now.Add(repositoryAge)
		f.namespace(t.Context(), "used")
		f.remember(types.NamespacedName{Name: "used"}, repositoryRead{})
	}
	if len(f.namespaces) != 1 || len(f.repositories) != 1 {
		t.Errorf("%d namespaces and %d HelmCharts are known, want 1 each", len(f.namespaces), len(f.repositories))
	}
}
