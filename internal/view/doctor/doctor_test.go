// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

var now = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// healthy are the facts of an installation without findings.
func healthy() Facts {
	hr := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", Generation: 1}}
	hr.Status = helmv2.HelmReleaseStatus{
		ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue, Reason: helmv2.ReasonUpgradeSucceeded}},
		History: helmv2.Snapshots{{APIVersion: helmv2.SnapshotAPIVersionV2, Name: "web", Namespace: "apps", Version: 1}},
	}
	f := Facts{
		Now:           now,
		Controllers:   []Controller{{Namespace: "flux-system", Name: "helm-controller", Image: "pintle", Replicas: 1, Ready: 1, Parsed: true, AllNamespaces: true, LeaderElection: true, EventsAddr: "http://n"}},
		Leases:        []Lease{{Namespace: "flux-system", Name: "helm-controller-leader-election", Holder: "a", Renewed: now, Duration: 35 * time.Second}},
		Notifications: "flux-system",
		Releases:      []helmv2.HelmRelease{hr},
		Rights:        []Rights{{Namespace: "apps", ServiceAccount: "helm", Releases: []string{"apps/web"}}},
	}
	for name, version := range RequiredCRDs() {
		f.CRDs = append(f.CRDs, CRD{Name: name, Found: true, Served: []string{version}, Declared: []string{version}, Stored: []string{version}})
	}
	for _, name := range OptionalCRDs() {
		f.CRDs = append(f.CRDs, CRD{Name: name, Found: true, Served: []string{"v1alpha1"}})
	}
	slices.SortFunc(f.CRDs, func(a, b CRD) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// second adds a controller in another namespace.
func second(f *Facts, edit func(c *Controller)) {
	c := f.Controllers[0]
	c.Namespace = "helm-system"
	edit(&c)
	f.Controllers = append(f.Controllers, c)
}

// ofHelmChart makes a HelmRelease one of a HelmChart of k3s.
func ofHelmChart(hr *helmv2.HelmRelease, account string) {
	hr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "helm.cattle.io/v1", Kind: "HelmChart", Name: hr.Name, Controller: new(true)}}
	hr.Spec.ServiceAccountName = account
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(f *Facts)
		// want is the level and a part of the only finding that is not OK; empty for none.
		level Level
		want  string
	}{
		{"healthy", func(*Facts) {}, "", ""},
		{"a HelmChart", func(f *Facts) { ofHelmChart(&f.Releases[0], "helm-web") }, Note, "releases of HelmCharts act as 1 ServiceAccount helm-*"},
		{"a packaged HelmChart", func(f *Facts) {
			ofHelmChart(&f.Releases[0], "")
			f.Releases[0].Namespace, f.Releases[0].Name = "kube-system", "traefik"
		}, Warning, "Pintle manages 1 chart that k3s packages"},
		{"two controllers", func(f *Facts) { second(f, func(*Controller) {}) }, Failed, "reconcile the same HelmReleases"},
		{"the second one is scaled down", func(f *Facts) { second(f, func(c *Controller) { c.Replicas = 0 }) }, "", ""},
		{"shards", func(f *Facts) { second(f, func(c *Controller) { c.Selector = "sharding.fluxcd.io/key=pintle" }) }, "", ""},
		{"one namespace each", func(f *Facts) {
			second(f, func(c *Controller) { c.AllNamespaces = false })
			f.Controllers[0].AllNamespaces = false
		}, "", ""},
		{"unknown flags count as all namespaces", func(f *Facts) {
			second(f, func(c *Controller) { c.AllNamespaces, c.Parsed = false, false })
			f.Controllers[0].AllNamespaces = false
		}, Failed, "reconcile the same HelmReleases"},
		{"two Leases", func(f *Facts) {
			l := f.Leases[0]
			l.Namespace, l.Holder = "helm-system", "b"
			f.Leases = append(f.Leases, l)
		}, Failed, "two processes lead at once: Lease helm-controller-leader-election in flux-system by a and helm-system by b"},
		{"an old Lease", func(f *Facts) {
			l := f.Leases[0]
			l.Namespace, l.Renewed = "helm-system", now.Add(-time.Hour)
			f.Leases = append(f.Leases, l)
		}, "", ""},
		{"a released Lease", func(f *Facts) { f.Leases[0].Holder = "" }, Warning, "no Lease of a controller is renewed"},
		{"only a Lease", func(f *Facts) { f.Controllers = nil }, Note, "the flags of the controller are not checked, because no Deployment of it was found"},
		{"no controller", func(f *Facts) { f.Controllers, f.Leases = nil, nil }, Failed, "no controller of HelmReleases runs"},
		{"no events", func(f *Facts) { f.Controllers[0].EventsAddr = "" }, Warning, "does not set --events-addr"},
		{"no events, and no receiver", func(f *Facts) { f.Controllers[0].EventsAddr, f.Notifications = "", "" }, "", ""},
		{"unknown flag", func(f *Facts) { f.Controllers[0].Refused = "unknown flag: --x" }, Failed, "unknown flag: --x"},
		{"another cluster, default account", func(f *Facts) {
			f.Releases[0].Spec.KubeConfig = &helmv2.KubeConfigReference{}
			f.Controllers[0].DefaultServiceAccount = "default"
		}, Warning, "1 release acts in other clusters as the default ServiceAccount there"},
		{"another cluster, own account", func(f *Facts) {
			f.Releases[0].Spec.KubeConfig, f.Releases[0].Spec.ServiceAccountName = &helmv2.KubeConfigReference{}, "helm"
			f.Controllers[0].DefaultServiceAccount = "default"
		}, "", ""},
		{"missing account", func(f *Facts) { f.Rights[0].Missing = true }, Failed, "ServiceAccount apps/helm does not exist, and 1 release acts as it"},
		{"missing right", func(f *Facts) { f.Rights[0].Denied = []string{"list secrets in apps"} }, Failed, "may not list secrets in apps"},
		{"stored version", func(f *Facts) {
			i := slices.IndexFunc(f.CRDs, func(c CRD) bool { return c.Name == helmReleases })
			f.CRDs[i].Stored = []string{"v2beta2", "v2"}
		}, Failed, "may be stored as v2beta2"},
		{"CRD without files", func(f *Facts) { f.CRDs[0].NoFileValues = true }, Note, "takes no values from files of sources"},
		{"CRD of helm-controller 1.6", func(f *Facts) { f.CRDs[0].NoTemplateKind = true }, Note, "does not have spec.chart.kind"},
		{"unread", func(f *Facts) {
			f.Unread = []Unread{{ResourceDeployments, "forbidden"}}
			f.Controllers = nil
		}, Unknown, "Deployments could not be read: forbidden"},
	} {
		f := healthy()
		tc.edit(&f)
		r := Check(f)
		var found []Finding
		for _, finding := range r.Findings {
			if finding.Level != OK {
				found = append(found, finding)
				if finding.What == "" || finding.Meaning == "" || finding.Do == "" {
					t.Errorf("%s: a finding without its three parts: %+v", tc.name, finding)
				}
			}
		}
		switch {
		case tc.want == "" && len(found) == 0:
		case len(found) != 1 || found[0].Level != tc.level || !strings.Contains(found[0].What, tc.want):
			t.Errorf("%s: the findings are %+v", tc.name, found)
		}
		if (tc.level == Failed) != (r.Failed == 1) {
			t.Errorf("%s: %d failed", tc.name, r.Failed)
		}
	}
}

// TestWithoutDeployment: the rights of releases that name no ServiceAccount are checked only if the flags
// of the controller are known, and the report says so.
func TestWithoutDeployment(t *testing.T) {
	t.Parallel()
	const want = "the rights of 1 release without spec.serviceAccountName are not checked"
	for name, tc := range map[string]struct {
		edit func(*Facts)
		want bool
	}{
		"Left out":   {func(f *Facts) { f.Controllers, f.Rights = nil, nil }, true},
		"Checked":    {func(f *Facts) { f.Controllers = nil }, false},
		"Deployment": {func(f *Facts) { f.Rights = nil }, false},
		"Unread": {func(f *Facts) {
			f.Controllers, f.Rights, f.Unread = nil, nil, []Unread{{ResourceDeployments, "forbidden"}}
		}, false},
		"No controller": {func(f *Facts) { f.Controllers, f.Rights, f.Leases = nil, nil, nil }, false},
	} {
		f := healthy()
		tc.edit(&f)
		got := rights(f)
		if said := len(got) > 0 && strings.HasPrefix(got[0].What, want); said != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestBindings: a ServiceAccount is bound in each namespace in which it lacks rights, and not only in
// its own.
func TestBindings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*Rights)
		want string
	}{
		"Own": {
			func(r *Rights) { r.Denied, r.Namespaces = []string{"x"}, []string{"apps"} },
			"Bind it a role with these rights, such as: kubectl create rolebinding helm --namespace apps --clusterrole=admin --serviceaccount=apps:helm",
		},
		"Target": {
			func(r *Rights) { r.Denied, r.Namespaces = []string{"x"}, []string{"web"} },
			"Bind it a role with these rights, such as: kubectl create rolebinding helm-apps --namespace web --clusterrole=admin --serviceaccount=apps:helm",
		},
		"Cluster": {
			func(r *Rights) { r.Denied, r.Cluster = []string{"x"}, true },
			"Bind it a role with these rights, such as: kubectl create clusterrolebinding helm-apps --clusterrole=ROLE --serviceaccount=apps:helm",
		},
		"Missing": {
			func(r *Rights) { r.Missing, r.Namespaces = true, []string{"apps", "web"} },
			"kubectl create serviceaccount helm --namespace apps && kubectl create rolebinding helm --namespace apps --clusterrole=admin --serviceaccount=apps:helm && " +
				"kubectl create rolebinding helm-apps --namespace web --clusterrole=admin --serviceaccount=apps:helm",
		},
	} {
		r := Rights{Namespace: "apps", ServiceAccount: "helm", Releases: []string{"apps/web"}}
		tc.edit(&r)
		if got := rights(Facts{Rights: []Rights{r}}); len(got) != 1 || got[0].Do != tc.want {
			t.Errorf("%s: %+v, want %s", name, got, tc.want)
		}
	}
}
