// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// fakeDiffer returns fixed diffs, and records the queries.
type fakeDiffer struct {
	desired view.Diff
	err     error
	queries []string
	lookups diff.Lookups
	// proposed replaces the diffs of HelmReleases in files.
	proposed func(hr string) (view.Diff, error)
}

func (f *fakeDiffer) record(kind string, q diff.Query) {
	line := kind + " " + client.ObjectKeyFromObject(q.Release).String()
	if q.Release.Spec.Values != nil {
		line += " " + string(q.Release.Spec.Values.Raw)
	}
	if q.Release.UID != "" {
		line += " uid " + string(q.Release.UID)
	}
	if q.Artifact.Digest != "" {
		line += " chart " + q.Artifact.URL
	}
	for key := range q.Checkouts {
		line += " source " + key.String()
	}
	f.queries, f.lookups = append(f.queries, line), q.Lookups
}

func (f *fakeDiffer) Desired(_ context.Context, q diff.Query) (view.Diff, error) {
	f.record("desired", q)
	return f.desired, f.err
}

func (f *fakeDiffer) Proposed(_ context.Context, q diff.Query) (view.Diff, error) {
	f.record("proposed", q)
	if f.proposed != nil {
		return f.proposed(client.ObjectKeyFromObject(q.Release).String())
	}
	d := upgraded()
	d.Namespace, d.Name = q.Release.Namespace, q.Release.Name
	return d, f.err
}

func (f *fakeDiffer) Revision(_ context.Context, q diff.Query, version int) (view.Diff, error) {
	f.record(fmt.Sprint("revision ", version), q)
	return view.Diff{
		Namespace: "apps", Name: "web", Action: "Rollback", Why: "live objects differ from revision 3", Unchanged: 2,
		From: &v1alpha1.PlanRevision{Revision: 5, Chart: "web@1.3.0"}, To: &v1alpha1.PlanRevision{Revision: 3, Chart: "web@1.2.0"},
		Objects: []view.ObjectDiff{{Object: deployment(), Change: view.DiffChanged, Fields: []view.FieldDiff{{Path: ".spec.replicas", From: "5", To: "3"}}}},
	}, f.err
}

func (f *fakeDiffer) Rollback(_ context.Context, q diff.Query, version int) (view.Diff, error) {
	f.record(fmt.Sprint("rollback ", version), q)
	d := view.Diff{
		Namespace: "apps", Name: "web", Action: "Rollback", Why: fmt.Sprint("to revision ", version),
		From: &v1alpha1.PlanRevision{Revision: 5, Chart: "web@1.3.0"}, To: &v1alpha1.PlanRevision{Revision: 3, Chart: "web@1.2.0"},
		Objects: []view.ObjectDiff{{Object: deployment(), Change: view.DiffChanged, Fields: []view.FieldDiff{{Path: ".spec.replicas", From: "5", To: "3"}}}},
	}
	if version == 3 {
		claim := view.Object{Version: "v1", Kind: "PersistentVolumeClaim", Namespace: "apps", Name: "cache"}
		d.Objects = append(d.Objects, view.ObjectDiff{Object: claim, Change: view.DiffDeleted, Destructive: true})
	}
	return d, f.err
}

func (f *fakeDiffer) Drift(_ context.Context, q diff.Query) (view.Diff, error) {
	f.record("drift", q)
	return view.Diff{
		Namespace: "apps", Name: "web",
		Drifted:  []view.ObjectDiff{{Object: deployment(), Change: view.DiffChanged, Fields: []view.FieldDiff{{Path: ".spec.replicas", From: "9", To: "3", By: "kubectl-scale"}}}},
		Warnings: []string{"Deployment apps/worker: fields are left to the autoscaler apps/worker"},
	}, f.err
}

func deployment() view.Object {
	return view.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "apps", Name: "web"}
}

// upgraded is a diff with all its parts.
func upgraded() view.Diff {
	return view.Diff{
		Namespace: "apps", Name: "web", Action: "Upgrade", Why: "release config values changed", Unchanged: 4,
		From: &v1alpha1.PlanRevision{Revision: 5, Chart: "web@1.3.0"}, To: &v1alpha1.PlanRevision{Chart: "web@1.4.0", Source: "main@sha1:0123abcd"},
		Objects: []view.ObjectDiff{
			{Object: view.Object{Version: "v1", Kind: "PersistentVolumeClaim", Namespace: "apps", Name: "cache"}, Change: view.DiffDeleted},
			{Object: deployment(), Change: view.DiffChanged, Fields: []view.FieldDiff{
				{Path: ".spec.replicas", From: "9", To: "5", By: "kubectl-scale"},
				{Path: ".spec.template.spec.containers[name=web].image", From: `"web:1.3.0"`, To: `"web:1.4.0"`},
			}},
			{Object: view.Object{Version: "v1", Kind: "Secret", Namespace: "apps", Name: "token"}, Change: view.DiffReplaced, Fields: []view.FieldDiff{{Path: ".data.token", From: "***", To: "***"}}},
			{Object: view.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "rates"}, Change: view.DiffCreated, Lines: []string{"@@ -0,0 +1,6 @@", "+apiVersion: v1", "+data:", "+  euro: \"1.08\"", "+kind: ConfigMap", "+metadata:", "+  name: rates"}},
		},
		Drifted:  []view.ObjectDiff{{Object: view.Object{Version: "v1", Kind: "Service", Namespace: "apps", Name: "web"}, Change: view.DiffCreated}},
		Hooks:    []manifest.Difference{{Object: "Job migrate (batch/v1)", Change: "changed", Lines: []string{"@@ -1,2 +1,2 @@", " spec:", "-  image: web:1.3.0", "+  image: web:1.4.0"}}},
		Notes:    []string{"@@ -1 +1 @@", "-Version 1.3.0", "+Version 1.4.0"},
		Values:   []v1alpha1.PlanValue{{Key: "image.tag", Layer: "inline"}, {Key: "token", Layer: "Secret/web-values"}},
		Warnings: []string{"the webhook of example.com does not support dry runs"},
	}
}

func diffWorld(t *testing.T, d view.Diff) (*world, *fakeDiffer) {
	t.Helper()
	w, f := newWorld(t, "cluster.yaml"), &fakeDiffer{desired: d}
	w.differ = f
	return w, f
}

// expectQueries checks what diffs were computed of, and forgets it.
func (f *fakeDiffer) expectQueries(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(f.queries, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("queries:\n%s", got)
	}
	f.queries = nil
}

func TestDiff(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	w.golden("diff", "diff web", "diff web -o wide", "diff web -o json", "diff web -o yaml", "diff web --revision 3", "diff web --drift")
	f.expectQueries(t, "desired apps/web uid web-uid", "desired apps/web uid web-uid", "desired apps/web uid web-uid", "desired apps/web uid web-uid",
		"revision 3 apps/web uid web-uid", "drift apps/web uid web-uid")
}

// TestDiffDanger: what a change may harm comes first, has an exit code of its own, and is a table in the
// comment of a pull request, where no text of the cluster is markup. A refusal matters more.
func TestDiffDanger(t *testing.T) {
	d := upgraded()
	d.Dangers = []v1alpha1.PlanDanger{
		{Class: v1alpha1.DataLoss, Kind: "PersistentVolumeClaim", Namespace: "apps", Name: "cache", Reason: "it is deleted, and its data may be lost"},
		{Class: v1alpha1.Supply, Kind: "Deployment", Namespace: "apps", Name: "web", Reason: "container web runs <b>|@all*, which may be another image tomorrow"},
	}
	d.Notes = []string{"+```", "+</details>"}
	w, f := diffWorld(t, d)
	w.golden("diff-danger", "diff web", "diff web --format=markdown", "get -o markdown")
	d.Problems = []string{"Deployment apps/web: it is refused"}
	f.desired = d
	w.golden("diff-danger-refused", "diff web -o markdown")
	f.desired = view.Diff{Namespace: "apps", Name: "web"}
	w.golden("diff-danger-none", "diff web -o markdown")
}

// TestDiffLong: only -o wide shows all fields of an object, and no escape sequence is printed.
func TestDiffLong(t *testing.T) {
	d := view.Diff{Namespace: "apps", Name: "web", Action: "Upgrade", Why: "release config values changed"}
	changed := view.ObjectDiff{Object: deployment(), Change: view.DiffChanged}
	for i := range 12 {
		changed.Fields = append(changed.Fields, view.FieldDiff{Path: fmt.Sprintf(".metadata.labels.l%d", i), To: `"x"`})
	}
	d.Objects = []view.ObjectDiff{changed, {Object: deployment(), Change: view.DiffCreated, Lines: []string{"+data: \x1b[2J"}}}
	w, _ := diffWorld(t, d)
	w.golden("diff-long", "diff web", "diff web -o wide")
}

// TestDiffCodes: the exit code is 0 without a difference, 1 with one, and 2 if an object would be
// refused, not all could be compared, or nothing is known.
func TestDiffCodes(t *testing.T) {
	w, f := diffWorld(t, view.Diff{Namespace: "apps", Name: "web", Unchanged: 4})
	w.golden("diff-none", "diff web")
	f.desired = view.Diff{Namespace: "apps", Name: "web", Action: "Upgrade", Why: "chart version changed", Unchanged: 4}
	w.golden("diff-without-objects", "diff web")
	f.desired = view.Diff{
		Namespace: "apps", Name: "web", Action: "Upgrade", Why: "release config values changed",
		Objects:  []view.ObjectDiff{{Object: deployment(), Change: view.DiffRefused, Reason: "spec.selector: field is immutable"}},
		Problems: []string{"Deployment apps/web: spec.selector: field is immutable"},
	}
	w.golden("diff-refused", "diff web", "diff web -o json")
	f.desired = view.Diff{Namespace: "apps", Name: "web", Problems: []string{"Deployment apps/web: forbidden"}}
	w.golden("diff-uncompared", "diff web")
	f.err = errors.New("stored revisions: secrets is forbidden")
	w.golden("diff-failed", "diff web")
}

// TestDiffFile: a HelmRelease of a file is compared with its status, or without one if it is new. The
// cluster does not change.
func TestDiffFile(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	w.golden("diff-file", "diff -f testdata/diff/release.yaml", "diff fresh -f testdata/diff/two.yaml --chart testdata/diff/web-1.4.0.tgz")
	w.in = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: piped}\nspec: {interval: 1m}\n"
	if code := w.run("diff", "-f", "-", "-n", "finance"); code != 1 {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
	f.expectQueries(t, `proposed apps/web {"replicas":5} uid web-uid`, "proposed other/fresh chart http://given.invalid/web-1.4.0.tgz", "proposed finance/piped")
	all := &helmv2.HelmReleaseList{}
	if err := w.client.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, hr := range all.Items {
		if hr.Name == "fresh" || hr.Name == "piped" || hr.Name == "web" && hr.Spec.Values != nil {
			t.Errorf("the diff has written %s/%s", hr.Namespace, hr.Name)
		}
	}
}

// TestDiffFiles: all HelmReleases of a file are compared. The exit code is the worst one.
func TestDiffFiles(t *testing.T) {
	w, f := diffWorld(t, view.Diff{})
	f.proposed = func(hr string) (view.Diff, error) {
		switch hr {
		case "apps/web":
			return view.Diff{Namespace: "apps", Name: "web", Unchanged: 4}, nil
		case "other/fresh":
			return view.Diff{Namespace: "other", Name: "fresh", Action: "Install", Why: "no release", Unchanged: 1}, nil
		}
		return view.Diff{}, errors.New("unexpected " + hr)
	}
	w.golden("diff-files", "diff -f testdata/diff/two.yaml", "diff -f testdata/diff/two.yaml -o json", "diff hr/web -f testdata/diff/two.yaml")
	f.expectQueries(t, "proposed apps/web uid web-uid", "proposed other/fresh", "proposed apps/web uid web-uid", "proposed other/fresh", "proposed apps/web uid web-uid")
	f.proposed = func(hr string) (view.Diff, error) {
		if hr == "other/fresh" {
			return view.Diff{}, errors.New("the chart cannot be fetched")
		}
		return view.Diff{Namespace: "apps", Name: "web", Unchanged: 4}, nil
	}
	w.golden("diff-files-failed", "diff -f testdata/diff/two.yaml")
}

// TestDiffSources: directories are in place of sources that values come from.
func TestDiffSources(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	const file = "diff -f testdata/diff/sources.yaml --source "
	if code := w.run(strings.Fields(file + "apps/config=testdata/diff/checkout")...); code != 1 {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
	f.expectQueries(t, "proposed apps/web uid web-uid source apps/config")
	w.golden("diff-sources-errors",
		file+"config=testdata/diff/checkout", file+"apps/config", file+"apps/config=", file+"/config=x", file+"a/b/c=x", file+"other/config=testdata/diff/checkout",
		file+"apps/config=testdata/diff/missing", file+"apps/config=testdata/diff/sources.yaml", file+"apps/config=testdata/diff/checkout --source apps/config=testdata/diff/checkout",
		"diff web --source apps/config=testdata/diff/checkout", "diff web --drift --source apps/config=testdata/diff/checkout")
	f.expectQueries(t)
}

// TestDiffChartSource: a directory is in place of the repository with the chart, unless source-controller
// would not package it again.
func TestDiffChartSource(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	const command = "diff web -f testdata/diff/folder.yaml --source apps/charts=testdata/diff/charts"
	w.run(strings.Fields(command)...)
	f.expectQueries(t, "proposed apps/web uid web-uid chart http://given.invalid/apps/web/web-1.4.0.tgz source apps/charts")

	w, f = diffWorld(t, upgraded())
	w.objects = append(w.objects, &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "apps-web", Generation: 1},
		Spec: sourcev1.HelmChartSpec{
			Chart: "./web", Version: "*", ReconcileStrategy: sourcev1.ReconcileStrategyChartVersion,
			SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "charts"},
		},
		Status: sourcev1.HelmChartStatus{ObservedGeneration: 1, ObservedChartName: "web", Artifact: &fluxmeta.Artifact{Revision: "1.4.0"}},
	})
	f.proposed = func(string) (view.Diff, error) { return view.Diff{Namespace: "apps", Name: "web", Unchanged: 4}, nil }
	w.golden("diff-chart-source", command, strings.Replace(command, "web", "shop", 1), command+" --source apps/other=testdata/diff/charts")
	f.expectQueries(t, "proposed apps/web uid web-uid source apps/charts")
}

// TestDiffErrors: nothing is compared if it is not clear what.
func TestDiffErrors(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	w.golden("diff-errors",
		"diff", "diff web shop", "diff web --drift --revision 3", "diff web --revision 3 -f testdata/diff/release.yaml", "diff web --drift --chart web.tgz",
		"diff web --unknown", "diff web --revision x", "diff web --revision -1", "diff web -o xml", "diff missing", "diff web --chart testdata/diff/missing.tgz",
		"diff -f testdata/diff/missing.yaml", "diff -f testdata/diff/two.yaml --chart testdata/diff/web-1.4.0.tgz", "diff other -f testdata/diff/two.yaml", "diff -f testdata/diff/unknown.yaml", "diff -f -")
	f.expectQueries(t)
}

// TestDiffColors: colours mark changes, on a terminal only.
func TestDiffColors(t *testing.T) {
	w, _ := diffWorld(t, upgraded())
	w.env["TERM"] = "xterm"
	w.run("diff", "web")
	for _, want := range []string{"\x1b[31mdeleted   PersistentVolumeClaim apps/cache\x1b[0m", "\x1b[33mchanged ", "\x1b[32mcreated ", "\x1b[32m+  image: web:1.4.0\x1b[0m", "\x1b[31m-Version 1.3.0\x1b[0m"} {
		if !strings.Contains(w.out.String(), want) {
			t.Errorf("%q is not in\n%q", want, w.out.String())
		}
	}
	w.env["NO_COLOR"] = "1"
	if w.run("diff", "web"); strings.Contains(w.out.String(), "\x1b") {
		t.Errorf("colours in %q", w.out.String())
	}
}

// TestDiffLookups: templates read as the ServiceAccount of the release, and not as the user, unless the
// user asks for that. Without the right to impersonate it, they read nothing.
func TestDiffLookups(t *testing.T) {
	w, f := diffWorld(t, upgraded())
	const shop = "system:serviceaccount:apps:helm"
	for name, tc := range map[string]struct {
		args   string
		denied bool
		user   string
		why    string
	}{
		"Release":   {"shop", false, shop, ""},
		"Default":   {"web --default-service-account=helm", false, shop, ""},
		"Named":     {"shop --default-service-account=other", false, shop, ""},
		"None":      {"web", false, "", "the release names no ServiceAccount"},
		"Forbidden": {"shop", true, "", "you may not impersonate ServiceAccount apps/helm"},
		"AsOther":   {"shop --as=alice", false, "", "by --as"},
		"AsMe":      {"shop --as-me", true, "", ""},
		"File":      {"-f testdata/diff/release.yaml --default-service-account=helm", false, shop, ""},
		"FileNone":  {"-f testdata/diff/release.yaml", false, "", "the release names no ServiceAccount"},
	} {
		f.lookups = diff.Lookups{}
		w.denied = func(_ string, right authorizationv1.ResourceAttributes) bool {
			return tc.denied && right.Verb == "impersonate" && right.Resource == "serviceaccounts" && right.Namespace == "apps" && right.Name == "helm"
		}
		w.run(append([]string{"diff", "-n", "apps"}, strings.Fields(tc.args)...)...)
		if f.lookups.User != tc.user || !strings.Contains(f.lookups.Denied, tc.why) || (tc.why == "") != (f.lookups.Denied == "") {
			t.Errorf("%s: %+v, %s", name, f.lookups, w.err.String())
		}
	}
}
