// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
	"github.com/pintle-dev/pintle/test/storagetest"
)

const (
	claimYAML = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
	claimPath = "/api/v1/namespaces/prod/persistentvolumeclaims/data"
	spacePath = "/api/v1/namespaces/team"
	spaceYAML = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
)

// chartWith returns chart note with one more template; empty for none.
func chartWith(template string) map[string]string {
	files := note()
	if template != "" {
		files["templates/more.yaml"] = template
	}
	return files
}

// grown installs chart note, and upgrades it to the chart with one more template.
func grown(t *testing.T, w *world, template string) {
	t.Helper()
	for i, files := range []map[string]string{note(), chartWith(template)} {
		var a release.HelmAction = release.Upgrade{Timeout: time.Minute}
		if i == 0 {
			a = release.Install{Timeout: time.Minute}
		}
		j := job(a, w.chart("1.0.0", files), "1.0.0", nil)
		// Claims are never bound.
		j.Spec.Upgrade.DisableWait = true
		if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
}

func protecting(kind string) policy.Demands {
	return policy.Demands{Protections: []policy.Protection{{Policy: "ReleasePolicy/p", Protection: v1alpha1.Protection{
		Kinds: []string{kind}, Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete}, Deny: true,
	}}}}
}

// TestRollbackKeepsProtected: a rollback, on request or as a remediation, keeps what a policy protects,
// names it, and carries out the rest. While the policies are not known, it keeps everything.
func TestRollbackKeepsProtected(t *testing.T) {
	const more = claimYAML + "---\n" + oneYAML
	for name, tc := range map[string]struct {
		demands    policy.Demands
		hold       bool
		claim, one bool
		kept       string
	}{
		"Unprotected": {hold: true},
		"Requested":   {demands: protecting("PersistentVolumeClaim"), hold: true, claim: true, kept: "PersistentVolumeClaim/prod/data: ReleasePolicy/p protects it"},
		"Remediation": {demands: protecting("PersistentVolumeClaim"), claim: true, kept: "PersistentVolumeClaim/prod/data: ReleasePolicy/p protects it"},
		"Unavailable": {demands: policy.Demands{Unavailable: "not listed"}, claim: true, one: true, kept: "a policy that cannot be read protects it"},
		"OtherGroup":  {demands: protecting("PersistentVolumeClaim.example.com"), hold: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			grown(t, w, more)
			j := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: tc.hold}, chart.Artifact{}, "", nil)
			j.Desired.Demands = tc.demands
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err != nil || out.Revisions[0].Status != helmv2.StatusDeployed {
				t.Fatalf("error %v, revisions %+v", out.Err, out.Revisions)
			}
			if claim, one := w.Object(claimPath) != nil, w.Object(onePath) != nil; claim != tc.claim || one != tc.one {
				t.Errorf("the claim stays: %t, the ConfigMap stays: %t", claim, one)
			}
			if kept := strings.Join(out.Kept, ", "); !strings.Contains(kept, tc.kept) || tc.kept == "" && kept != "" {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

// TestProtectedLeftover: a rollback keeps an object that only a failed revision has created, if a policy
// protects it, and an uninstall such a Namespace, if it has the records.
func TestProtectedLeftover(t *testing.T) {
	for name, tc := range map[string]struct {
		action  release.HelmAction
		demands policy.Demands
		more    string
		path    string
		kept    string
	}{
		"Rollback":    {action: release.Rollback{Timeout: time.Minute, Version: 1}, more: claimYAML, path: claimPath},
		"Protected":   {action: release.Rollback{Timeout: time.Minute, Version: 1}, demands: protecting("PersistentVolumeClaim"), more: claimYAML, path: claimPath, kept: "PersistentVolumeClaim/prod/data: ReleasePolicy/p protects it"},
		"Uninstall":   {action: release.Uninstall{Timeout: time.Minute, Target: target()}, more: spaceYAML, path: spacePath},
		"OfItsRecord": {action: release.Uninstall{Timeout: time.Minute, Target: target()}, more: strings.Replace(spaceYAML, "team", "prod", 1), path: "/api/v1/namespaces/prod", kept: "Namespace//prod: it has the records of the release"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = apitest.CreationTimes(time.Unix(1_000_000, 0))
			install(t, w, w.chart("1.0.0", note()), "one")
			for _, template := range []string{tc.more + "---\n" + oneYAML, oneYAML} {
				// The failed revision that contains the object is not the newest one.
				w.Refuse = func(method, path string) int {
					if method == http.MethodPatch && path == onePath {
						return http.StatusForbidden
					}
					return 0
				}
				j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.0", chartWith(template)), "1.0.0", nil)
				j.Spec.Upgrade.ServerSideApply = helmv2.ServerSideApplyEnabled
				if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil || !out.Stored() {
					t.Fatalf("error %v, stored %t", out.Err, out.Stored())
				}
			}
			w.Refuse = nil
			j := job(tc.action, chart.Artifact{}, "", nil)
			j.Desired.Demands = tc.demands
			out := w.runner.Run(t.Context(), w.conn, j)
			if kept := strings.Join(out.Kept, ", "); out.Err != nil || kept != tc.kept || (w.Object(tc.path) != nil) != (tc.kept != "") {
				t.Errorf("error %v, kept %q, the object is %v", out.Err, kept, w.Object(tc.path))
			}
		})
	}
}

// TestForcedRollback: a rollback with force does not replace what a policy protects against that.
func TestForcedRollback(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one", "two")
	j := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: true}, chart.Artifact{}, "", nil)
	j.Spec.Rollback = &helmv2.Rollback{Force: true, ServerSideApply: helmv2.ServerSideApplyDisabled}
	j.Desired.Demands = protecting("ConfigMap")
	j.Desired.Demands.Protections[0].Operations = []v1alpha1.ProtectedOperation{v1alpha1.ProtectReplace}
	if p := planOf(t, w, j, v1alpha1.PlanRollback); len(p.All) != 0 || len(p.Status.Warnings) != 1 {
		t.Errorf("changes %q, warnings %q", changesIn(p.All), p.Status.Warnings)
	}
	out := w.runner.Run(t.Context(), w.conn, j)
	message, _, _ := nested(w, configMapPath, "data", "message")
	if out.Err != nil || len(out.Kept) != 1 || message != "two" {
		t.Errorf("error %v, kept %q, the message is %q", out.Err, out.Kept, message)
	}
}

// TestKeptWithCRD: a CRD stays if its deletion would delete protected objects of its kind.
func TestKeptWithCRD(t *testing.T) {
	w := newWorld(t)
	grown(t, w, planThings)
	j := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: true}, chart.Artifact{}, "", nil)
	j.Desired.Demands = protecting("Thing.example.com")
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil || len(out.Kept) != 1 || w.Object(planThingsPath) == nil {
		t.Errorf("error %v, kept %q", out.Err, out.Kept)
	}
}

// TestRollbackPlan: the plan of a rollback states its deletions, and the rollback with its digest is
// carried out unless the cluster, the record or the plan has changed since.
func TestRollbackPlan(t *testing.T) {
	back := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: true}, chart.Artifact{}, "", nil)
	for name, tc := range map[string]struct {
		change func(t *testing.T, w *world)
		void   bool
	}{
		"Unchanged": {func(*testing.T, *world) {}, false},
		"Gone":      {func(_ *testing.T, w *world) { w.Mu.Lock(); w.Remove(onePath); w.Mu.Unlock() }, true},
		"Upgraded": {func(t *testing.T, w *world) {
			t.Helper()
			j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.0", chartWith(oneYAML)), "1.0.0", map[string]any{"message": "other"})
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
		}, true},
		"OtherPlan": {func(t *testing.T, w *world) {
			t.Helper()
			planOf(t, w, job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil), v1alpha1.PlanUninstall)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			grown(t, w, oneYAML)
			p := planOf(t, w, back, v1alpha1.PlanRollback)
			if diff := cmp.Diff([]string{"Delete ConfigMap/one destructive"}, changesIn(p.All)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if s := p.Status; s.From.Revision != 2 || s.To.Revision != 1 || s.Summary.Delete != 1 || s.Summary.Unchanged != 1 {
				t.Errorf("the plan is %+v", s)
			}
			tc.change(t, w)
			out := w.runner.Run(t.Context(), w.conn, withPlan(back, p.Status.Digest))
			if errors.Is(out.Err, release.ErrPlanVoid) != tc.void || out.PlanVoid != tc.void || out.Stored() == tc.void {
				t.Fatalf("error %v, void %t, stored %t", out.Err, out.PlanVoid, out.Stored())
			}
			if tc.void {
				return
			}
			if w.Object(onePath) != nil || out.Revisions[0].Plan != p.Status.Digest {
				t.Errorf("revision %+v", out.Revisions[0])
			}
		})
	}
}

// TestProtectedPlan: the plan of a rollback names what the rollback keeps.
func TestProtectedPlan(t *testing.T) {
	w := newWorld(t)
	grown(t, w, claimYAML)
	j := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: true}, chart.Artifact{}, "", nil)
	j.Desired.Demands = protecting("PersistentVolumeClaim")
	p := planOf(t, w, j, v1alpha1.PlanRollback)
	if len(p.All) != 0 || !slices.ContainsFunc(p.Status.Warnings, func(s string) bool { return strings.Contains(s, "data is not deleted: ReleasePolicy/p protects it") }) {
		t.Errorf("changes %q, warnings %q", changesIn(p.All), p.Status.Warnings)
	}
}

// TestSecretsHideNothing: what policies decide about a plan, and what the plan says about kinds and names
// of the chart, does not depend on Secrets.
func TestSecretsHideNothing(t *testing.T) {
	w := newWorld(t)
	grown(t, w, claimYAML)
	j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil)
	j.Secrets = []string{"PersistentVolumeClaim", "data", "prod", "v1beta1"}
	p := planOf(t, w, j, v1alpha1.PlanUpgrade)
	if diff := cmp.Diff([]string{"Delete PersistentVolumeClaim/data destructive"}, changesIn(p.All)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if a := protecting("PersistentVolumeClaim").Assess(p.Status.Action, p.Status.Removals, p.Status.Dangers); a.Denied == "" {
		t.Errorf("the plan is not denied: %+v", p.Status.Removals)
	}
}

// TestNamespaceIsKept: an upgrade keeps a Namespace that its revision no longer haves, unless
// the plan that names it needs an approval.
func TestNamespaceIsKept(t *testing.T) {
	approval := policy.Demands{Approvals: []policy.Approval{{Policy: "ReleasePolicy/p", Of: v1alpha1.ApprovalDestructive}}}
	for name, tc := range map[string]struct {
		demands policy.Demands
		planned bool
		deleted bool
	}{
		"NoPolicy": {}, "NoApproval": {planned: true}, "Unplanned": {demands: approval}, "Approved": {demands: approval, planned: true, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			grown(t, w, spaceYAML)
			j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil)
			j.Desired.Demands = tc.demands
			if tc.planned {
				p := planOf(t, w, j, v1alpha1.PlanUpgrade)
				if got := p.Status.Summary.Delete == 1; got != tc.deleted {
					t.Errorf("the plan deletes the Namespace: %t; warnings %q", got, p.Status.Warnings)
				}
				j = withPlan(j, p.Status.Digest)
			}
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			if stays := w.Object(spacePath) != nil; stays == tc.deleted || (len(out.Kept) == 1) == tc.deleted {
				t.Errorf("the Namespace stays: %t, kept %q", stays, out.Kept)
			}
		})
	}
}

// TestNamespaceOfUninstall: an uninstall deletes a Namespace of the release, unless it has the records.
// That one is kept even if it cannot be read.
func TestNamespaceOfUninstall(t *testing.T) {
	for name, stays := range map[string]bool{"team": false, "prod": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			grown(t, w, strings.Replace(spaceYAML, "team", name, 1))
			w.Refuse = func(method, path string) int {
				if stays && method == http.MethodGet && path == "/api/v1/namespaces/"+name {
					return http.StatusForbidden
				}
				return 0
			}
			j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
			p := planOf(t, w, j, v1alpha1.PlanUninstall)
			if out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest)); out.Err != nil || (len(out.Kept) == 1) != stays {
				t.Errorf("error %v, kept %q", out.Err, out.Kept)
			}
			if is := w.Object("/api/v1/namespaces/"+name) != nil; is != stays || (p.Status.Summary.Delete == 1) != stays {
				t.Errorf("it stays: %t; the plan has %d deletions", is, p.Status.Summary.Delete)
			}
		})
	}
}

// localConnection is a connection to the cluster of the controller.
type localConnection struct{ *cluster.Connection }

func (localConnection) Local() bool { return true }

func (c localConnection) WithRetrier(r *apiretry.Retrier) genericclioptions.RESTClientGetter {
	return localConnection{c.Connection.WithRetrier(r).(*cluster.Connection)}
}

// TestNamespaceOfHelmRelease: an uninstall keeps the Namespace of the HelmRelease, in its own cluster.
func TestNamespaceOfHelmRelease(t *testing.T) {
	for name, local := range map[string]bool{"Local": true, "Remote": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			grown(t, w, spaceYAML)
			j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
			j.Origin.Namespace = "team"
			var conn genericclioptions.RESTClientGetter = w.conn
			if local {
				conn = localConnection{w.conn}
			}
			out := w.runner.Run(t.Context(), conn, j)
			if stays := w.Object(spacePath) != nil; out.Err != nil || stays != local || (len(out.Kept) == 1) != local {
				t.Errorf("error %v, kept %q, the Namespace stays: %t", out.Err, out.Kept, stays)
			}
		})
	}
}

// replacing is a hook that replaces an object.
func replacing(manifest, events string) string {
	return strings.Replace(manifest, "metadata: {", "metadata: {annotations: {helm.sh/hook: \""+events+"\"}, ", 1)
}

// TestHooksThatReplace: a hook does not replace a live object of another release, or one that holds
// data, and nothing is changed before that is known. Another object that no hook has made is replaced,
// and the plan says so.
func TestHooksThatReplace(t *testing.T) {
	ours := "metadata: {labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: app, meta.helm.sh/release-namespace: prod}, "
	for name, tc := range map[string]struct {
		path, manifest, live string
		events               string
		refused              string
		want                 []string
	}{
		"Absent": {path: jobPath, manifest: jobYAML, events: "post-upgrade"},
		"OwnHook": {
			path: jobPath, manifest: jobYAML, live: "metadata: {annotations: {helm.sh/hook: post-upgrade}, ", events: "post-upgrade",
		},
		"Job": {
			path: jobPath, manifest: jobYAML, live: ours, events: "pre-upgrade", want: []string{"Replace Job/migrate destructive"},
		},
		"Claim": {
			path: claimPath, manifest: claimYAML, live: ours, events: "post-upgrade", refused: "a PersistentVolumeClaim holds data",
			want: []string{"Refused PersistentVolumeClaim/data"},
		},
		"ClaimWithForgedAnnotation": {
			path: claimPath, manifest: claimYAML, events: "pre-upgrade", refused: "a PersistentVolumeClaim holds data",
			live: strings.Replace(ours, "annotations: {", "annotations: {helm.sh/hook: pre-upgrade, ", 1), want: []string{"Refused PersistentVolumeClaim/data"},
		},
		"ClaimOfAnotherHook": {
			path: claimPath, manifest: claimYAML, events: "pre-upgrade", refused: "a PersistentVolumeClaim holds data",
			live: "metadata: {annotations: {helm.sh/hook: pre-install}, labels: {helm.toolkit.fluxcd.io/name: shop, helm.toolkit.fluxcd.io/namespace: shop}, ",
			want: []string{"Refused PersistentVolumeClaim/data"},
		},
		"OfAnother": {
			path: jobPath, manifest: jobYAML, events: "post-upgrade", refused: "is owned by Helm release prod/shop",
			live: strings.Replace(ours, "release-name: app", "release-name: shop", 1), want: []string{"Refused Job/migrate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = finished(true)
			install(t, w, w.chart("1.0.0", note()), "one")
			storagetest.Store(t, w.Server, "prod", storagetest.Revision(1, helmrelease.StatusDeployed, tc.manifest))
			if tc.live != "" {
				w.Put(tc.path, apitest.Parse(t, strings.Replace(tc.manifest, "metadata: {", tc.live+"uid: u1, ", 1)).Object)
			}
			artifact := w.chart("1.0.0", chartWith(replacing(tc.manifest, tc.events)))
			j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one"})
			if diff := cmp.Diff(tc.want, changesIn(planOf(t, w, j, v1alpha1.PlanUpgrade).All)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			w.Requests = nil
			out := w.runner.Run(t.Context(), w.conn, j)
			if tc.refused == "" {
				if out.Err != nil {
					t.Error(out.Err)
				}
				return
			}
			if out.Err == nil || !strings.Contains(out.Err.Error(), tc.refused) || !strings.Contains(out.Err.Error(), "templates/more.yaml") || out.Stored() {
				t.Errorf("error %v, stored %t", out.Err, out.Stored())
			}
			if len(w.Requests) > 0 || w.Object(tc.path) == nil {
				t.Errorf("requests %q", w.Requests)
			}
		})
	}
}

// TestHookTaken: an object that another client creates between the check and the hook is not deleted,
// and neither is one that another client creates in place of the object that was checked.
func TestHookTaken(t *testing.T) {
	claim := func(metadata string) map[string]any {
		return apitest.Parse(t, strings.Replace(claimYAML, "name: data", "name: data, "+metadata, 1)).Object
	}
	for name, checked := range map[string]map[string]any{
		"Absent": nil, "Replaced": claim("uid: hook, annotations: {helm.sh/hook: post-upgrade}"),
	} {
		// Conflicts are retried.
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				install(t, w, w.chart("1.0.0", note()), "one")
				if checked != nil {
					w.Put(claimPath, checked)
				}
				w.Created = func(object map[string]any) {
					if object["kind"] == "ConfigMap" {
						w.Store(claimPath, claim("uid: other"))
					}
				}
				artifact := w.chart("1.0.0", chartWith(oneYAML+"---\n"+replacing(claimYAML, "post-upgrade")))
				out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil))
				if out.Err == nil || !out.Stored() || w.Object(claimPath).GetUID() != "other" {
					t.Errorf("error %v, the claim is %v", out.Err, w.Object(claimPath))
				}
			})
		})
	}
}
