// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	configMapPath  = "/api/v1/namespaces/prod/configmaps/app"
	deploymentPath = "/apis/apps/v1/namespaces/prod/deployments/app"

	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  labels: {chart: {{ .Chart.Version | quote }}}\ndata:\n  message: {{ .Values.message | quote }}\n"
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  replicas: 1\n"
	testHook   = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: probe\n  annotations: {helm.sh/hook: test}\n"
	schema     = `{"type":"object","properties":{"message":{"type":"string"}}}`
)

func note() map[string]string {
	return map[string]string{
		"templates/cm.yaml": configMap, "values.yaml": "message: default\n", "values.schema.json": schema,
	}
}

// ignoringMoments compares revisions without times and digests.
func ignoringMoments() cmp.Options {
	return cmp.Options{cmpopts.IgnoreFields(release.Revision{},
		"FirstDeployed", "LastDeployed", "Deleted", "Modified", "Ended", "Digest", "DeployedDigest", "ConfigDigest")}
}

func TestInstallUpgradeUninstall(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0+abc", map[string]any{"message": "one"}))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	one := release.Revision{
		Name: "app", Namespace: "prod", Version: 1, Status: helmv2.StatusDeployed, Description: "Install complete",
		ChartName: "note", ChartVersion: "1.0.0+abc", AppVersion: "9", Sealed: true, Owner: "uid-1", Applied: true,
	}
	if diff := cmp.Diff([]release.Revision{one}, out.Revisions, ignoringMoments()); diff != "" {
		t.Errorf("revisions of the install (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]release.Object{{Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "app"}}, out.Inventory); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	cm := w.Object(configMapPath)
	if cm == nil {
		t.Fatal("nothing was installed")
	}
	if l := cm.GetLabels(); l[helmv2.LabelName] != "app" || l[helmv2.LabelNamespace] != "prod" || l["chart"] != "1.0.0+abc" {
		t.Errorf("labels %v", l)
	}
	if m := w.stored()[0].Manifest; strings.Contains(m, helmv2.LabelName) {
		t.Errorf("the stored manifest was changed:\n%s", m)
	}
	if out.Ended.Before(out.Started) || len(out.Logs) == 0 || out.Cancelled {
		t.Errorf("outcome %+v", out)
	}

	artifact = w.chart("1.1.0", note())
	out = w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.1.0", map[string]any{"message": "two"}))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	one.Status, one.Description = helmv2.StatusSuperseded, "Install complete"
	two := one
	two.Version, two.Status, two.Description, two.ChartVersion = 2, helmv2.StatusDeployed, "Upgrade complete", "1.1.0"
	want := []release.Revision{two, one}
	if diff := cmp.Diff(want, out.Revisions, ignoringMoments()); diff != "" {
		t.Errorf("revisions of the upgrade (-want +got):\n%s", diff)
	}
	read := w.history()
	if diff := cmp.Diff(want, read, ignoringMoments()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	// The states of the action equal those that are read later. Otherwise every reconciliation
	// would find the release changed.
	for i := range read {
		if read[i].Digest == "" || read[i].Digest != out.Revisions[i].Digest || read[i].ConfigDigest != out.Revisions[i].ConfigDigest {
			t.Errorf("revision %d: digests %s and %s, once read %s and %s", read[i].Version,
				out.Revisions[i].Digest, out.Revisions[i].ConfigDigest, read[i].Digest, read[i].ConfigDigest)
		}
		if read[i].Modified.IsZero() || !read[i].LastDeployed.Equal(out.Revisions[i].LastDeployed) {
			t.Errorf("revision %d: moments %+v", read[i].Version, read[i])
		}
	}
	if got, _, _ := nested(w, configMapPath, "data", "message"); got != "two" {
		t.Errorf("message is %q", got)
	}

	out = w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil))
	if out.Err != nil || w.Object(configMapPath) != nil || len(w.history()) != 0 {
		t.Errorf("uninstall: %v, %d revisions left", out.Err, len(w.history()))
	}
	out = w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil))
	if out.Err != nil {
		t.Errorf("what is gone needs no uninstall: %v", out.Err)
	}
}

func nested(w *world, path string, fields ...string) (string, bool, error) {
	object := w.Object(path)
	if object == nil {
		return "", false, nil
	}
	return unstructured.NestedString(object.Object, fields...)
}

func TestNothingIsStored(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		values map[string]any
		edit   func(w *world, j *Job)
		want   string
	}{
		"Schema": {
			reason: "values that the chart's schema refuses change nothing",
			values: map[string]any{"message": 7}, want: "values do not fit the schema of chart",
		},
		"Template": {
			reason: "a template that fails changes nothing",
			files:  map[string]string{"templates/bad.yaml": `{{ fail "no way" }}`}, want: "no way",
		},
		"UnknownKind": {
			reason: "an object of a kind that does not exist changes nothing",
			files:  map[string]string{"templates/bad.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n"}, want: "no matches for kind",
		},
		"Download": {
			reason: "a chart that cannot be downloaded changes nothing",
			edit:   func(_ *world, j *Job) { j.Artifact.Digest = "sha256:" + strings.Repeat("0", 64) }, want: "could not load chart: ",
		},
		"NoStorage": {
			reason: "an action whose record cannot be stored does nothing",
			edit: func(w *world, _ *Job) {
				w.Refuse = func(method, path string) int {
					if method == http.MethodPost && strings.HasSuffix(path, "/secrets") {
						return http.StatusForbidden
					}
					return 0
				}
			},
			want: "refused by the test",
		},
		"NoAction": {
			reason: "Helm corrects no drift",
			edit:   func(_ *world, j *Job) { j.Action = release.CorrectDrift{} }, want: "is no action of Helm's",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			files := note()
			for k, v := range tc.files {
				files[k] = v
			}
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", tc.values)
			if tc.edit != nil {
				tc.edit(w, &j)
			}
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err == nil || !strings.Contains(out.Err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %s", tc.reason, out.Err, tc.want)
			}
			if out.Stored() || len(w.stored()) > 0 || w.Object(configMapPath) != nil || out.Inventory != nil || out.Cancelled {
				t.Errorf("%s: revisions %+v, inventory %+v, cancelled %t", tc.reason, out.Revisions, out.Inventory, out.Cancelled)
			}
		})
	}
}

// neverReady is a chart whose Deployment does not become ready.
func neverReady() map[string]string {
	return map[string]string{"templates/cm.yaml": configMap, "templates/deployment.yaml": deployment, "values.yaml": "message: default\n"}
}

func TestFailingWaitIsRecorded(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", neverReady())
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
		if out.Err == nil || !strings.Contains(out.Err.Error(), "timeout waiting for: [Deployment/prod/app status: 'InProgress'") {
			t.Errorf("error %v", out.Err)
		}
		if waited := time.Since(begun); waited < time.Minute || waited > 61*time.Second {
			t.Errorf("gave up after %s", waited)
		}
		if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusFailed || out.Revisions[0].Interrupted || out.Cancelled {
			t.Errorf("revisions %+v, cancelled %t", out.Revisions, out.Cancelled)
		}
		if len(out.Inventory) != 2 {
			t.Errorf("a failed release has objects: %+v", out.Inventory)
		}
	})
	if h := w.history(); len(h) != 1 || h[0].Status != helmv2.StatusFailed || h[0].Interrupted || h[0].Owner != "uid-1" {
		t.Errorf("history %+v", h)
	}
}

// TestWaitOptions: the spec decides which objects an action waits for, for install and upgrade
// alike.
func TestWaitOptions(t *testing.T) {
	cases := map[string]struct {
		reason                     string
		disableWait, disableForJob bool
		want                       bool
	}{
		"Default": {reason: "a Job has to complete", want: false},
		"NoJobs":  {reason: "or only to start", disableForJob: true, want: true},
		"NoWait":  {reason: "or nothing at all", disableWait: true, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = func(object map[string]any) {
				if object["kind"] == "Job" && !tc.disableWait {
					object["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": 1}
				}
			}
			files := note()
			files["templates/job.yaml"] = jobYAML
			artifact := w.chart("1.0.0", files)
			synctest.Test(t, func(t *testing.T) {
				for _, action := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
					j := job(action, artifact, "1.0.0", nil)
					j.Spec.Install.DisableWait, j.Spec.Install.DisableWaitForJobs = tc.disableWait, tc.disableForJob
					j.Spec.Upgrade.DisableWait, j.Spec.Upgrade.DisableWaitForJobs = tc.disableWait, tc.disableForJob
					if out := w.runner.Run(t.Context(), w.conn, j); (out.Err == nil) != tc.want {
						t.Errorf("%s: %s ended with %v", tc.reason, release.Name(action), out.Err)
					}
				}
			})
		})
	}
}

// TestCancelledWaitIsMarked: a shutdown ends a wait at once. The revision gets a label, which the
// next revision does not have.
func TestCancelledWaitIsMarked(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", neverReady())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		idle := 0
		j := job(release.Install{Timeout: time.Hour}, artifact, "1.0.0", nil)
		j.Idle = func() func() { idle++; return func() { idle-- } }
		done := make(chan release.Outcome, 1)
		go func() { done <- w.runner.Run(ctx, w.conn, j) }()
		synctest.Wait()
		if idle != 1 {
			t.Errorf("idle %d times during the wait", idle)
		}
		cancel()
		synctest.Wait()
		out := <-done
		if !out.Cancelled || out.Err == nil || !strings.Contains(out.Err.Error(), wait.ErrCancelled.Error()) || idle != 0 {
			t.Errorf("cancelled %t, error %v, idle %d", out.Cancelled, out.Err, idle)
		}
	})
	if h := w.history(); len(h) != 1 || h[0].Status != helmv2.StatusFailed || !h[0].Interrupted {
		t.Fatalf("history %+v", h)
	}
	w.Mu.Lock()
	w.Objects[deploymentPath]["spec"].(map[string]any)["paused"] = true
	w.Mu.Unlock()
	out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if h := w.history(); len(h) != 2 || h[0].Status != helmv2.StatusDeployed || h[0].Interrupted || h[0].Owner != "uid-1" {
		t.Errorf("history %+v", h)
	}
}

func appTarget() release.Target {
	return release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}
}

func TestUnlock(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	unlock := job(release.Unlock{Version: 1, Status: helmv2.StatusPendingUpgrade, Target: appTarget()}, artifact, "", nil)
	if out := w.runner.Run(t.Context(), w.conn, unlock); out.Err != nil || out.Stored() {
		t.Errorf("a revision that has moved on is left alone: %v, %+v", out.Err, out.Revisions)
	}
	rls := w.stored()[0]
	rls.Info.Status = "pending-upgrade"
	writeSecret(t, w, rls)
	out := w.runner.Run(t.Context(), w.conn, unlock)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	h := w.history()
	if len(h) != 1 || h[0].Status != helmv2.StatusFailed || h[0].Description != "Release unlocked from stale 'pending-upgrade' state" || h[0].Owner != "uid-1" || !h[0].Interrupted {
		t.Errorf("history %+v", h)
	}
	missing := job(release.Unlock{Version: 7, Target: appTarget()}, artifact, "", nil)
	if out := w.runner.Run(t.Context(), w.conn, missing); out.Err == nil {
		t.Error("a revision that does not exist cannot be unlocked")
	}
}

func TestCreateNamespace(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)
	j.Spec.Install.CreateNamespace = true
	j.Spec.TargetNamespace = "prod"
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Fatal(out.Err)
	}
	ns := w.Object("/api/v1/namespaces/prod")
	if ns == nil {
		t.Fatal("the namespace is missing")
	}
	if diff := cmp.Diff(map[string]string{"name": "prod"}, ns.GetLabels()); diff != "" {
		t.Errorf("labels: the namespace is no object of the release (-want +got):\n%s", diff)
	}
}

// TestCreateNamespaceReadsFirst: an identity that may not create namespaces installs into an
// existing one, even if it may not read it.
func TestCreateNamespaceReadsFirst(t *testing.T) {
	const namespace = "/api/v1/namespaces/prod"
	for name, tc := range map[string]struct {
		reason string
		exists bool
		// get and create are the status codes of requests for the namespace, and dryRun of
		// one for an object in it; 0 is an answer without error.
		get, create, dryRun int
		// requests are those that write namespaces.
		requests []string
		err      string
	}{
		"Exists":        {reason: "one request tells", exists: true, create: http.StatusForbidden},
		"Missing":       {reason: "it is created", requests: []string{"POST /api/v1/namespaces"}},
		"MissingDenied": {reason: "it is missing, and may not be created", create: http.StatusForbidden, requests: []string{"POST /api/v1/namespaces"}, err: "create namespace prod: "},
		"Unreadable":    {reason: "that it exists is answered to the creation", exists: true, get: http.StatusForbidden, requests: []string{"POST /api/v1/namespaces"}},
		"Denied":        {reason: "that it exists is answered to a dry run of an object", exists: true, get: http.StatusForbidden, create: http.StatusForbidden, requests: []string{"POST /api/v1/namespaces"}},
		"DeniedMissing": {reason: "the dry run answers that it does not exist", get: http.StatusForbidden, create: http.StatusForbidden, dryRun: http.StatusNotFound, requests: []string{"POST /api/v1/namespaces"}, err: "create namespace prod: "},
		"Broken":        {reason: "no answer about the namespace", get: http.StatusInternalServerError, err: "read namespace prod: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				artifact := w.chart("1.0.0", note())
				j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)
				j.Spec.Install.CreateNamespace, j.Spec.TargetNamespace = true, "prod"
				if tc.exists {
					w.Objects[namespace] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "prod"}}
				}
				w.Refuse = func(method, path string) int {
					switch {
					case method == http.MethodGet && path == namespace:
						return tc.get
					case method == http.MethodPost && path == "/api/v1/namespaces":
						return tc.create
					case path == configMapPath:
						return tc.dryRun
					}
					return 0
				}
				out := w.runner.Run(t.Context(), w.conn, j)
				if tc.err == "" && out.Err != nil || tc.err != "" && (out.Err == nil || !strings.Contains(out.Err.Error(), tc.err)) {
					t.Errorf("%s: the install ends with %v, want %q", tc.reason, out.Err, tc.err)
				}
				if tc.err != "" && out.Stored() {
					t.Errorf("%s: a revision was stored", tc.reason)
				}
				var requests []string
				for _, r := range w.Requests {
					if strings.HasSuffix(r, "/namespaces") {
						requests = append(requests, r)
					}
				}
				if diff := cmp.Diff(tc.requests, requests); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func TestCRDs(t *testing.T) {
	const (
		path  = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
		crd   = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n"
		stray = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: stray\n"
	)
	established := func(object map[string]any) {
		if object["kind"] == "CustomResourceDefinition" {
			object["status"] = map[string]any{"conditions": []any{
				map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": "True"},
			}}
		}
	}
	cases := map[string]struct {
		reason string
		policy helmv2.CRDsPolicy
		exists bool
		want   bool
	}{
		"Default": {reason: "definitions are created", want: true},
		"Create":  {reason: "definitions are created", policy: helmv2.CRDsCreate, want: true},
		"Exists":  {reason: "one that exists is left as it is", policy: helmv2.CRDsCreate, exists: true},
		"Skip":    {reason: "or not, if the spec says so", policy: helmv2.CRDsSkip},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Created = established
			files := note()
			files["crds/things.yaml"], files["crds/stray.yaml"] = crd, stray
			if tc.exists {
				w.Put(path, map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"}})
			}
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
			j.Spec.Install.CRDs = tc.policy
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			object := w.Object(path)
			if created := object != nil && object.GetLabels()[helmv2.LabelName] == "app"; created != tc.want {
				t.Errorf("%s: created %t", tc.reason, created)
			}
			if w.Object("/api/v1/namespaces/prod/configmaps/stray") != nil {
				t.Error("what is no definition must be left out")
			}
		})
	}
}

// What is in no namespace is listed without one, whatever its manifest says.
func TestInventoryOfClusterObjects(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/ns.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra, namespace: stray}\n"
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	want := []release.Object{
		{Version: "v1", Kind: "Namespace", Name: "extra"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "app"},
	}
	if diff := cmp.Diff(want, out.Inventory); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

// Helm's uninstall says only that it failed; what failed must be in the error.
func TestUninstallNamesWhatFailed(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.Refuse = func(method, path string) int {
		if method == http.MethodDelete && path == configMapPath {
			return http.StatusForbidden
		}
		return 0
	}
	out := w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil))
	if out.Err == nil || !strings.Contains(out.Err.Error(), "failed to delete release: app") || !strings.Contains(out.Err.Error(), "refused by the test") {
		t.Errorf("error %v", out.Err)
	}
	if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusUninstalling {
		t.Errorf("revisions %+v", out.Revisions)
	}
}

// A panic ends the job, not the controller, and what was stored before it is
// reported. Helm installs and upgrades on goroutines of its own, so this takes an
// uninstall.
func TestPanicEndsTheJob(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	// There is no wait for objects that are deleted at once.
	w.Put(configMapPath, apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, finalizers: [example.com/slow]}\n").Object)
	j := job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil)
	j.Idle = func() func() { panic("boom") }
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "uninstall panicked: boom") {
		t.Errorf("error %v", out.Err)
	}
	if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusUninstalling || out.Ended.IsZero() {
		t.Errorf("what was stored before must be reported: %+v", out)
	}
}

func TestHistoryErrors(t *testing.T) {
	w := newWorld(t)
	if h := w.history(); h != nil {
		t.Errorf("nothing is stored, but history is %+v", h)
	}
	w.Refuse = func(string, string) int { return http.StatusForbidden }
	_, err := w.runner.History(t.Context(), w.conn, target(), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "history of release app in namespace prod: ") {
		t.Errorf("error %v", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Error("the job was not cancelled")
	}
}

func TestMaxHistory(t *testing.T) {
	three := 3
	for want, spec := range map[int]*int{helmv2.DefaultMaxHistory: nil, three: &three} {
		j := Job{Spec: helmv2.HelmReleaseSpec{MaxHistory: spec}}
		if got := j.Spec.GetMaxHistory(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// TestSecretsStayOut: Helm quotes values in its errors, and the outcome, the logs
// and what Helm stores must not.
func TestSecretsStayOut(t *testing.T) {
	const canary = "hunter22-canary"
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	cases := map[string]struct {
		reason string
		files  map[string]string
	}{
		"Template": {
			reason: "a template that fails says why",
			files:  map[string]string{"templates/cm.yaml": `{{ fail .Values.message }}`},
		},
		"Schema": {
			reason: "a schema quotes what it refuses",
			files: map[string]string{
				"templates/cm.yaml":  configMap,
				"values.schema.json": `{"properties":{"message":{"type":"string","pattern":"^[0-9]+$"}}}`,
			},
		},
		"Stored": {
			reason: "a wait names what it waited for, and Helm stores that with the revision",
			files: map[string]string{
				"templates/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Values.message }}\nspec:\n  replicas: 1\n",
			},
		},
		"Encoded": {
			reason: "Secrets are written in base64",
			files:  map[string]string{"templates/cm.yaml": `{{ fail (.Values.message | b64enc) }}`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", tc.files), "1.0.0", map[string]any{"message": canary})
				j.Secrets = []string{canary}
				out := w.runner.Run(t.Context(), w.conn, j)
				if out.Err == nil {
					t.Fatalf("%s: the install succeeded", tc.reason)
				}
				said := out.Err.Error() + strings.Join(out.Logs, "\n")
				for _, r := range w.history() {
					said += r.Description
				}
				if strings.Contains(said, canary) || strings.Contains(said, encoded) {
					t.Errorf("%s: a secret is told in %s", tc.reason, said)
				}
			})
		})
	}
}
