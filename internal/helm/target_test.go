// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/storagetest"
)

// oldTarget is where the release of these tests is installed before it moves.
func oldTarget() release.Target {
	return release.Target{Name: "old", Namespace: "prod", StorageNamespace: "prod"}
}

// owned is a ConfigMap of a release.
func owned(by string, annotations map[string]any) map[string]any {
	all := map[string]any{"meta.helm.sh/release-name": by, "meta.helm.sh/release-namespace": "prod"}
	for key, value := range annotations {
		all[key] = value
	}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "app", "namespace": "prod", "annotations": all}}
}

// TestCheckTarget moves release old to app, with a chart of one ConfigMap.
func TestCheckTarget(t *testing.T) {
	const (
		things  = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n"
		aThing  = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\n"
		aHook   = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: mend, annotations: {helm.sh/hook: pre-install}}\n"
		ownHome = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n"
	)
	const (
		namespace, secrets = "/api/v1/namespaces/prod", "/api/v1/namespaces/prod/secrets"
		thingsPath         = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
	)
	refuse := func(method, path string, code int) func(*world, *Job) {
		return func(w *world, _ *Job) {
			w.Refuse = func(m, p string) int {
				if m == method && p == path {
					return code
				}
				return 0
			}
		}
	}
	cases := map[string]struct {
		reason  string
		files   map[string]string
		arrange func(w *world, j *Job)
		// sends is a dry run that must be sent.
		sends   string
		refused string
		fails   string
		stored  helmv2.ReleaseStatus
	}{
		"Free":          {reason: "nothing is in the way", sends: "PATCH " + configMapPath},
		"NotRendered":   {reason: "a template fails", files: map[string]string{"templates/cm.yaml": `{{ fail "no" }}`}, refused: "execution error"},
		"WrongValues":   {reason: "values do not fit the schema", arrange: func(_ *world, j *Job) { j.Values = map[string]any{"message": 1} }, refused: "values do not fit the schema of chart"},
		"UnknownKind":   {reason: "no definition comes with the chart", files: map[string]string{"templates/thing.yaml": aThing}, refused: "no matches for kind"},
		"ShippedKind":   {reason: "its definition comes with the chart", files: map[string]string{"templates/thing.yaml": aThing, "crds/thing.yaml": things}, sends: "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
		"SkippedKind":   {reason: "its definition is not created", files: map[string]string{"templates/thing.yaml": aThing, "crds/thing.yaml": things}, arrange: func(_ *world, j *Job) { j.Spec.Install.CRDs = helmv2.CRDsSkip }, refused: "no matches for kind"},
		"MissingHome":   {reason: "nothing creates the namespace", arrange: func(w *world, _ *Job) { w.Remove(namespace) }, refused: "namespace prod does not exist"},
		"OwnHome":       {reason: "the chart creates the namespace", files: map[string]string{"templates/ns.yaml": ownHome}, arrange: func(w *world, _ *Job) { w.Remove(namespace) }, sends: "PATCH " + namespace},
		"TerminatingNS": {reason: "it is about to go", arrange: func(w *world, _ *Job) { w.Put(namespace, home("Terminating")) }, refused: "namespace prod is being deleted"},
		"CreatesHome": {
			reason: "the install creates it", sends: "POST /api/v1/namespaces",
			arrange: func(w *world, j *Job) {
				w.Remove(namespace)
				j.Spec.TargetNamespace, j.Spec.Install.CreateNamespace = "prod", true
				w.Refuse = func(method, path string) int {
					// Nothing can be tried out in a namespace that is not there.
					if strings.HasPrefix(path, namespace+"/") && method != http.MethodGet {
						return http.StatusNotFound
					}
					return 0
				}
			},
		},
		"MayNotCreateHome": {
			reason: "the install could not create it", refused: "create namespace prod",
			arrange: func(w *world, j *Job) {
				w.Remove(namespace)
				j.Spec.TargetNamespace, j.Spec.Install.CreateNamespace = "prod", true
				refuse(http.MethodPost, "/api/v1/namespaces", http.StatusForbidden)(w, j)
			},
		},
		"MayNotReadHome":   {reason: "dry runs in it tell", arrange: refuse(http.MethodGet, namespace, http.StatusForbidden), sends: "POST " + secrets},
		"MayNotStore":      {reason: "no record could be created", arrange: refuse(http.MethodPost, secrets, http.StatusForbidden), refused: "create Secret prod/sh.helm.release.v1.app.v1"},
		"MayNotList":       {reason: "nor be listed", arrange: refuse(http.MethodGet, secrets, http.StatusForbidden), refused: "list Secrets in namespace prod"},
		"MayNotApply":      {reason: "the object would be refused", arrange: refuse(http.MethodPatch, configMapPath, http.StatusForbidden), refused: "ConfigMap/prod/app"},
		"NoAnswerNS":       {reason: "the server is in trouble", arrange: refuse(http.MethodGet, namespace, http.StatusServiceUnavailable), fails: "read namespace prod"},
		"NoAnswerStore":    {reason: "the server is in trouble", arrange: refuse(http.MethodPost, secrets, http.StatusInternalServerError), fails: "create Secret prod"},
		"NoAnswerList":     {reason: "the server is in trouble", arrange: refuse(http.MethodGet, secrets, http.StatusTooManyRequests), fails: "list Secrets"},
		"NoAnswerApply":    {reason: "the server is in trouble", arrange: refuse(http.MethodPatch, configMapPath, http.StatusBadGateway), fails: "ConfigMap/prod/app"},
		"NoAnswerMetadata": {reason: "the server is in trouble", arrange: refuse(http.MethodGet, configMapPath, http.StatusGatewayTimeout), fails: "ConfigMap/prod/app"},
		"OfOld":            {reason: "it is gone by then", arrange: func(w *world, _ *Job) { w.Put(configMapPath, owned("old", nil)) }, sends: "POST /api/v1/namespaces/prod/configmaps"},
		"KeptOfOld": {reason: "it stays, and is adopted", arrange: func(w *world, _ *Job) {
			w.Put(configMapPath, owned("old", map[string]any{"helm.sh/resource-policy": "keep"}))
		}, sends: "PATCH " + configMapPath},
		"KeptAndNotTaken": {
			reason: "it stays, and may not be adopted", refused: "spec.install.disableTakeOwnership is set",
			arrange: func(w *world, j *Job) {
				w.Put(configMapPath, owned("old", map[string]any{"helm.sh/resource-policy": "keep"}))
				j.Spec.Install.DisableTakeOwnership = true
			},
		},
		"OfOthers": {
			reason: "it is another release's", refused: "is owned by Helm release prod/shop",
			arrange: func(w *world, _ *Job) {
				w.Put(configMapPath, owned("shop", nil))
				storagetest.Store(t, w.Server, "prod", storagetest.Revision(1, helmrelease.StatusDeployed, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"))
			},
		},
		"ClientSide": {
			reason: "the spec says so", sends: "POST /api/v1/namespaces/prod/configmaps",
			arrange: func(_ *world, j *Job) { j.Spec.Install.ServerSideApply = new(false) },
		},
		"ReplacedKind": {
			reason: "its definition is replaced", files: map[string]string{"crds/thing.yaml": things}, sends: "PATCH " + thingsPath,
			arrange: func(w *world, j *Job) {
				w.Put(thingsPath, map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"}})
				j.Spec.Install.CRDs = helmv2.CRDsCreateReplace
			},
		},
		"HookMendsIt": {
			reason: "a Job may put right what is invalid", files: map[string]string{"templates/hook.yaml": aHook},
			arrange: refuse(http.MethodPatch, configMapPath, http.StatusUnprocessableEntity),
		},
		"NoHookMendsIt": {
			reason: "hooks are not run", files: map[string]string{"templates/hook.yaml": aHook}, refused: "ConfigMap/prod/app",
			arrange: func(w *world, j *Job) {
				refuse(http.MethodPatch, configMapPath, http.StatusUnprocessableEntity)(w, j)
				j.Spec.Install.DisableHooks = true
			},
		},
		"TooLarge": {reason: "no Secret would hold the record", files: map[string]string{"files/blob": string(blob(800<<10, 1))}, refused: "the record of the revision would take"},
		"HookNotRendered": {
			reason: "a patch does not fit a hook", files: map[string]string{"templates/hook.yaml": aHook}, refused: "post render on hook",
			arrange: func(_ *world, j *Job) {
				if err := yaml.UnmarshalStrict([]byte("postRenderers: [{kustomize: {patches: [{target: {kind: Job}, patch: '[{op: remove, path: /spec/none}]'}]}}]"), &j.Spec); err != nil {
					panic(err)
				}
			},
		},
		"Reserved": {
			reason: "another job is about to make it", refused: "about to be made or adopted by another release",
			arrange: func(w *world, _ *Job) {
				if err := w.reserve("uid-2"); err != nil {
					panic(err)
				}
			},
		},
		"Secretive": {
			reason:  "values of Secrets are redacted",
			files:   map[string]string{"templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {password: hidden-value-1}\n", "templates/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hidden-value-1}\n"},
			arrange: refuse(http.MethodPatch, namespace+"/configmaps/hidden-value-1", http.StatusForbidden), refused: "ConfigMap/prod/***",
		},
		"NotTriedOut": {
			reason: "the spec says so",
			arrange: func(w *world, j *Job) {
				j.Spec.Install.DisableOpenAPIValidation = true
				refuse(http.MethodPatch, configMapPath, http.StatusForbidden)(w, j)
			},
		},
		"Taken":        {reason: "the decision checks the owner", arrange: func(w *world, _ *Job) { w.keepAs("app", helmrelease.StatusDeployed) }, stored: helmv2.StatusDeployed},
		"KeptName":     {reason: "Helm would not use the name again", arrange: func(w *world, _ *Job) { w.keepAs("app", helmrelease.StatusUninstalled) }, refused: "keeps the history", stored: helmv2.StatusUninstalled},
		"ReplacedName": {reason: "the spec says so", arrange: func(w *world, j *Job) { w.keepAs("app", helmrelease.StatusUninstalled); j.Spec.Install.Replace = true }, stored: helmv2.StatusUninstalled, sends: "PATCH " + configMapPath},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put(namespace, home("Active"))
			files := note()
			for file, content := range tc.files {
				files[file] = content
			}
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
			j.Desired.Policy.Install.Timeout = time.Minute
			j.Spec.Install = &helmv2.Install{}
			if tc.arrange != nil {
				tc.arrange(w, &j)
			}
			sent := w.dryRuns()
			found, err := w.runner.CheckTarget(t.Context(), w.conn, j, oldTarget())
			if got := errorText(err); tc.fails == "" && err != nil || !strings.Contains(got, tc.fails) {
				t.Errorf("%s: the check fails with %q", tc.reason, got)
			}
			if tc.refused == "" && found.Refused != "" || !strings.Contains(found.Refused, tc.refused) {
				t.Errorf("%s: refused is %q", tc.reason, found.Refused)
			}
			if len(w.Requests) > 0 {
				t.Errorf("%s: it was written: %q", tc.reason, w.Requests)
			}
			if tc.sends != "" && !slices.Contains(sent(), tc.sends) {
				t.Errorf("%s: %q was not sent, but %q", tc.reason, tc.sends, sent())
			}
			w.Refuse = nil
			if err := w.reserve("uid-3"); name != "Reserved" && strings.Contains(errorText(err), "about to be made") {
				t.Errorf("%s: objects stay reserved: %v", tc.reason, err)
			}
			var status helmv2.ReleaseStatus
			if len(found.Revisions) > 0 {
				status = found.Revisions[0].Status
			}
			if status != tc.stored {
				t.Errorf("%s: stored is %+v", tc.reason, found.Revisions)
			}
		})
	}
}

// reserve reserves the ConfigMap of chart note for another job.
func (w *world) reserve(uid string) error {
	w.t.Helper()
	j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
	j.Desired.UID = uid
	r, err := w.runner.prepare(w.t.Context(), w.conn, j, redact.Redactor{})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := r.client.Build(strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"), false); err != nil {
		w.t.Fatal(err)
	}
	return r.client.Preflight.Ownership(true)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func home(phase string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "prod"}, "status": map[string]any{"phase": phase}}
}

// keepAs stores revision 1 of a release in namespace prod, with metadata only.
func (w *world) keepAs(name string, status helmrelease.Status) {
	w.Put("/api/v1/namespaces/prod/secrets/"+storage.Key(name, 1), map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
			"name": storage.Key(name, 1), "namespace": "prod",
			"labels": map[string]any{"owner": "helm", "name": name, "version": "1", "status": status.String()},
		},
	})
}

// dryRuns returns the dry runs that were sent, "<method> <path>" each.
func (w *world) dryRuns() func() []string {
	before, all := w.Refuse, []string{}
	w.Refuse = func(method, path string) int {
		if method != http.MethodGet {
			all = append(all, method+" "+path)
		}
		if before != nil {
			return before(method, path)
		}
		return 0
	}
	return func() []string { return all }
}

// TestCheckTargetInPlace: the records under the name are those of the release itself,
// which go with it, unless they are kept.
func TestCheckTargetInPlace(t *testing.T) {
	w := newWorld(t)
	w.Put("/api/v1/namespaces/prod", home("Active"))
	w.keepAs("app", helmrelease.StatusDeployed)
	w.Put(configMapPath, owned("app", nil))
	j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil)
	j.Desired.Policy.Install.Timeout = time.Minute
	j.Spec.Install = &helmv2.Install{}
	sent := w.dryRuns()
	found, err := w.runner.CheckTarget(t.Context(), w.conn, j, target())
	if err != nil || found.Refused != "" || len(found.Revisions) > 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	if !slices.Contains(sent(), "POST /api/v1/namespaces/prod/configmaps") {
		t.Errorf("the object of the old release is not created anew: %q", sent())
	}
	j.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true}
	if found, err = w.runner.CheckTarget(t.Context(), w.conn, j, target()); err != nil || !strings.Contains(found.Refused, "spec.install.replace") {
		t.Errorf("with a kept history: %+v, %v", found, err)
	}
}

// TestStrayBehindTheIndex: a record that the watch has not shown yet is found.
func TestStrayBehindTheIndex(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	runner := NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: 1 << 20}), workers(), emptyIndex(t, w, "1"), sealKey(), time.Now)
	local, err := cluster.NewConnections(w.Config(), cluster.Options{Now: time.Now}).For(cluster.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	if known, err := runner.History(t.Context(), local, target(), nil); err != nil || len(known) > 0 {
		t.Fatalf("the index is not behind: %+v, %v", known, err)
	}
	if found, _, err := runner.Stray(t.Context(), local, "prod", "uid-1"); err != nil || found == nil {
		t.Errorf("it finds %+v, %v", found, err)
	}
}

// TestStray finds the release that an install left under a name that is wanted no more.
func TestStray(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	w.keepAs("hand-made", helmrelease.StatusDeployed)
	for _, tc := range []struct {
		uid, namespace string
		want           bool
	}{{"uid-1", "prod", true}, {"uid-2", "prod", false}, {"uid-1", "test", false}, {"", "prod", false}} {
		found, stored, err := w.runner.Stray(t.Context(), w.conn, tc.namespace, tc.uid)
		if err != nil || (found != nil) != tc.want {
			t.Fatalf("of %+v it finds %+v, %v", tc, found, err)
		}
		if tc.want && (*found != target() || len(stored) != 1 || stored[0].Unread) {
			t.Errorf("it finds %+v with %+v", found, stored)
		}
	}
	if out := w.runner.Run(t.Context(), w.conn, Job{Action: release.Uninstall{Timeout: time.Minute, Target: target()}, Spec: helmv2.HelmReleaseSpec{Uninstall: &helmv2.Uninstall{KeepHistory: true}}, Desired: release.Desired{UID: "uid-1", Target: target()}}); out.Err != nil {
		t.Fatal(out.Err)
	}
	if found, _, err := w.runner.Stray(t.Context(), w.conn, "prod", "uid-1"); err != nil || found != nil {
		t.Errorf("of what is uninstalled it finds %+v, %v", found, err)
	}
	w.Refuse = func(_, path string) int {
		if strings.HasSuffix(path, "/secrets") {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	if _, _, err := w.runner.Stray(t.Context(), w.conn, "prod", "uid-1"); err == nil {
		t.Error("what could not be listed is taken for absent")
	}
}
