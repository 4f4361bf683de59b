// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/storagetest"
)

const (
	planThings = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
		"spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n"
	planThing      = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\n"
	planHook       = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: mend, annotations: {helm.sh/hook: 'pre-install,post-upgrade,test'}}\n"
	planThingsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
)

// refusing makes the API server refuse a request.
func refusing(method, path string, code int) func(*world, *Job) {
	return func(w *world, _ *Job) {
		w.Refuse = func(m, p string) int {
			if m == method && p == path {
				return code
			}
			return 0
		}
	}
}

const planDenial = `admission webhook "a.example.com" denied the request: no`

// denying makes a webhook deny a ConfigMap.
func denying(w *world, j *Job) {
	refusing(http.MethodPatch, configMapPath, http.StatusForbidden)(w, j)
	w.Reason = planDenial
}

// TestPlanOfInstall: the plan of an install states what stands in the way of each object.
func TestPlanOfInstall(t *testing.T) {
	putCRD := func(w *world, _ *Job) {
		w.Put(planThingsPath, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		})
	}
	for name, tc := range map[string]struct {
		reason  string
		files   map[string]string
		arrange func(w *world, j *Job)
		want    []string
		// warning and refused are parts of texts, and fails is part of the error.
		warning, refused, fails string
		hooks                   string
		unsent                  string
	}{
		"Free": {reason: "nothing is in the way", want: []string{"Create ConfigMap/app"}},
		"OfOthers": {
			reason: "the object is another release's", want: []string{"Refused ConfigMap/app"}, refused: "is owned by Helm release prod/shop",
			unsent: "PATCH " + configMapPath,
			arrange: func(w *world, _ *Job) {
				w.Put(configMapPath, owned("shop", nil))
				storagetest.Store(t, w.Server, "prod", storagetest.Revision(1, helmrelease.StatusDeployed, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"))
			},
		},
		"Orphan": {
			reason: "an orphan is adopted", want: []string{
				`Update ConfigMap/app .data.message=>"default" .metadata.annotations["meta.helm.sh/release-name"]="gone">"app"`,
			},
			arrange: func(w *world, _ *Job) { w.Put(configMapPath, owned("gone", nil)) },
		},
		"NotTaken": {
			reason: "or not", want: []string{"Refused ConfigMap/app"}, refused: "disableTakeOwnership",
			arrange: func(w *world, j *Job) {
				w.Put(configMapPath, owned("gone", nil))
				j.Spec.Install.DisableTakeOwnership = true
			},
		},
		"UnknownKind": {reason: "nothing defines the kind", files: map[string]string{"templates/thing.yaml": planThing}, fails: "no matches for kind"},
		"NewKind": {
			reason: "its CRD comes with the chart", files: map[string]string{"templates/thing.yaml": planThing, "crds/thing.yaml": planThings},
			want: []string{"Create ConfigMap/app", "Create CustomResourceDefinition/things.example.com", "Create Thing/one"},
		},
		"KindInCapabilities": {
			reason: "templates find the kinds of its CRDs", files: map[string]string{
				"templates/thing.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}\n" + planThing + "{{ end }}\n", "crds/thing.yaml": planThings,
			},
			want: []string{"Create ConfigMap/app", "Create CustomResourceDefinition/things.example.com", "Create Thing/one"},
		},
		"SkippedKind": {
			reason: "its CRD is not created", files: map[string]string{"templates/thing.yaml": planThing, "crds/thing.yaml": planThings},
			arrange: func(_ *world, j *Job) { j.Spec.Install.CRDs = helmv2.CRDsSkip }, fails: "no matches for kind",
		},
		"ExistingCRD": {reason: "it stays", files: map[string]string{"crds/thing.yaml": planThings}, arrange: putCRD, want: []string{"Create ConfigMap/app"}},
		"ReplacedCRD": {
			reason: "or is applied", files: map[string]string{"crds/thing.yaml": planThings},
			arrange: func(w *world, j *Job) { putCRD(w, j); j.Spec.Install.CRDs = helmv2.CRDsCreateReplace },
			want: []string{
				`Replace CustomResourceDefinition/things.example.com .spec.group=>"example.com" .spec.names.kind=>"Thing"` +
					` .spec.versions=>[{"name":"v1","served":true}]`,
				"Create ConfigMap/app",
			},
		},
		"PutCRD": {
			reason: "or is replaced", files: map[string]string{"crds/thing.yaml": planThings},
			arrange: func(w *world, j *Job) {
				putCRD(w, j)
				j.Spec.Install.CRDs, j.Spec.Install.ServerSideApply = helmv2.CRDsCreateReplace, new(false)
			},
			want: []string{
				`Replace CustomResourceDefinition/things.example.com .spec.group=>"example.com" .spec.names.kind=>"Thing"` +
					` .spec.versions=>[{"name":"v1","served":true}]`,
				"Create ConfigMap/app",
			},
		},
		"NewNamespace": {
			reason: "nothing can be tried in a namespace that does not exist", want: []string{"Create ConfigMap/app", "Create Namespace/prod"},
			arrange: func(w *world, j *Job) {
				w.Remove("/api/v1/namespaces/prod")
				j.Spec.TargetNamespace, j.Spec.Install.CreateNamespace = "prod", true
			},
			unsent: "PATCH " + configMapPath,
		},
		"Namespace": {
			reason: "it exists", want: []string{"Create ConfigMap/app"},
			arrange: func(_ *world, j *Job) { j.Spec.TargetNamespace, j.Spec.Install.CreateNamespace = "prod", true },
		},
		"Denied":  {reason: "the identity may not apply it", want: []string{"Refused ConfigMap/app"}, arrange: refusing(http.MethodPatch, configMapPath, http.StatusForbidden), refused: "refused by the test"},
		"Invalid": {reason: "the API server refuses it", want: []string{"Refused ConfigMap/app"}, arrange: refusing(http.MethodPatch, configMapPath, http.StatusUnprocessableEntity), refused: "refused by the test"},
		"DeniedByWebhook": {
			reason: "the webhook may allow it after other changes", want: []string{"Create ConfigMap/app"}, arrange: denying,
			warning: "ConfigMap/prod/app: the effect of the change is not known: " + planDenial,
		},
		"DenialRefused": {
			reason: "users refuse denials", want: []string{"Refused ConfigMap/app"}, refused: planDenial,
			arrange: func(w *world, j *Job) {
				denying(w, j)
				j.Desired.Policy.RefuseDenials = true
			},
		},
		"MendedByHook": {
			reason: "a hook may put right what is invalid", files: map[string]string{"templates/hook.yaml": planHook}, want: []string{"Create ConfigMap/app"},
			arrange: refusing(http.MethodPatch, configMapPath, http.StatusUnprocessableEntity), warning: "ConfigMap/prod/app: the effect of the change is not known",
			hooks: "mend pre-install",
		},
		"NoHooks": {
			reason: "hooks are not run", files: map[string]string{"templates/hook.yaml": planHook}, want: []string{"Create ConfigMap/app"},
			arrange: func(_ *world, j *Job) { j.Spec.Install.DisableHooks = true },
		},
		"Unreadable":  {reason: "the identity may not read it", want: []string{"Create ConfigMap/app"}, arrange: refusing(http.MethodGet, configMapPath, http.StatusForbidden), warning: "it cannot be read"},
		"NoAnswer":    {reason: "the server is in trouble", arrange: refusing(http.MethodPatch, configMapPath, http.StatusServiceUnavailable), fails: "ConfigMap/prod/app"},
		"NoRead":      {reason: "the server is in trouble", arrange: refusing(http.MethodGet, configMapPath, http.StatusTooManyRequests), fails: "ConfigMap/prod/app"},
		"NotRendered": {reason: "a template fails", files: map[string]string{"templates/cm.yaml": `{{ fail "no" }}`}, fails: "execution error"},
		"TooLarge":    {reason: "no Secret would hold the record", files: map[string]string{"files/blob": string(blob(800<<10, 1))}, fails: "the record of the revision would take"},
		"NotStored":   {reason: "the identity may not store it", arrange: refusing(http.MethodPost, "/api/v1/namespaces/prod/secrets", http.StatusForbidden), fails: "write Secret pintle.plan.v1.app"},
		"ForeignSecret": {
			reason: "no other Secret is replaced", fails: "a Secret of type Opaque has the name",
			arrange: func(w *world, _ *Job) {
				w.Put(planPath, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": "pintle.plan.v1.app", "namespace": "prod"}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put("/api/v1/namespaces/prod", home("Active"))
			files := note()
			maps.Copy(files, tc.files)
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
			j.Spec.Install = &helmv2.Install{}
			if tc.arrange != nil {
				tc.arrange(w, &j)
			}
			sent := w.dryRuns()
			p, err := w.runner.Plan(t.Context(), w.conn, j, PlanRequest{Action: v1alpha1.PlanInstall})
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			got := changesIn(withoutLabels(p.All))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: changes (-want +got):\n%s", tc.reason, diff)
			}
			if tc.refused != "" && !strings.Contains(p.All[0].Reason, tc.refused) {
				t.Errorf("%s: refused for %q", tc.reason, p.All[0].Reason)
			}
			if text := strings.Join(p.Status.Warnings, "\n"); (text != "") != (tc.warning != "") || !strings.Contains(text, tc.warning) {
				t.Errorf("%s: warnings %q", tc.reason, text)
			}
			var hooks []string
			for _, h := range p.Status.Hooks {
				hooks = append(hooks, h.Name+" "+strings.Join(h.Events, ","))
			}
			if strings.Join(hooks, ";") != tc.hooks {
				t.Errorf("%s: hooks %q", tc.reason, hooks)
			}
			if tc.unsent != "" && slices.Contains(sent(), tc.unsent) {
				t.Errorf("%s: %s was sent", tc.reason, tc.unsent)
			}
			if len(w.Requests) != 1 || !strings.HasSuffix(w.Requests[0], "/secrets") {
				t.Errorf("%s: the plan has written %q", tc.reason, w.Requests)
			}
		})
	}
}

// withoutLabels returns changes without the fields of labels.
func withoutLabels(all []v1alpha1.PlanChange) []v1alpha1.PlanChange {
	all = slices.Clone(all)
	for i := range all {
		all[i].Fields = slices.DeleteFunc(slices.Clone(all[i].Fields), func(f v1alpha1.PlanField) bool { return strings.HasPrefix(f.Path, ".metadata.labels") })
	}
	return all
}

// reinstall returns a world with release app, whose next chart has another name, and the jobs of the
// uninstall and of the install that follows.
func reinstall(t *testing.T) (w *world, remove, create Job) {
	t.Helper()
	w = newWorld(t)
	files := note()
	files["templates/kept.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\ndata: {a: old}\n"
	install(t, w, w.chart("1.0.0", files), "one")
	files["templates/kept.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: new}\n"
	files["templates/random.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\ndata: {r: {{ randAlphaNum 20 | quote }}}\n"
	artifact := w.chart("2.0.0", files)
	create = job(release.Install{Timeout: time.Minute}, artifact, "2.0.0", map[string]any{"message": "two"})
	remove = job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "2.0.0", map[string]any{"message": "two"})
	w.Requests = nil
	return w, remove, create
}

// TestReinstallPlan: the plan of a reinstall has the objects that are deleted, and those that are created. Both
// actions carry it out.
func TestReinstallPlan(t *testing.T) {
	w, remove, create := reinstall(t)
	p := planOf(t, w, remove, v1alpha1.PlanReinstall)
	want := []string{"Delete ConfigMap/app destructive", "Create ConfigMap/app", `Update ConfigMap/kept .data.a="old">"new"`, "Create ConfigMap/random"}
	got := changesIn(p.All)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	if p.Status.From.Revision != 1 || p.Status.To.Chart != "note@2.0.0" || p.Status.Summary.Destructive != 1 {
		t.Errorf("status %+v", p.Status)
	}
	stored := contentOf(t, w, p.Status.Digest)
	for _, j := range []Job{remove, create} {
		if out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	if h := w.stored(); len(h) != 1 || h[0].Manifest != stored.Text.Manifest {
		t.Errorf("%d revisions", len(h))
	}
}

// TestVoidRemoval: an uninstall with a plan deletes nothing if the plan is void.
func TestVoidRemoval(t *testing.T) {
	gone := func(w *world) { w.Mu.Lock(); defer w.Mu.Unlock(); w.Remove(configMapPath) }
	for name, tc := range map[string]struct {
		action v1alpha1.PlanAction
		change func(w *world)
	}{
		"Uninstall": {v1alpha1.PlanUninstall, gone},
		"Reinstall": {v1alpha1.PlanReinstall, gone},
		"ReinstallWithKept": {v1alpha1.PlanReinstall, func(w *world) {
			w.Mu.Lock()
			defer w.Mu.Unlock()
			w.Objects["/api/v1/namespaces/prod/configmaps/kept"]["data"] = map[string]any{"a": "new"}
		}},
		"NewRevision": {v1alpha1.PlanUninstall, func(w *world) {
			up := job(release.Upgrade{Timeout: time.Minute}, chart.Artifact{}, "1.0.0", map[string]any{"message": "one"})
			up.Artifact = w.chart("1.0.0", note())
			if out := w.runner.Run(w.t.Context(), w.conn, up); out.Err != nil {
				w.t.Fatal(out.Err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, remove, _ := reinstall(t)
			p := planOf(t, w, remove, tc.action)
			tc.change(w)
			w.Requests = nil
			out := w.runner.Run(t.Context(), w.conn, withPlan(remove, p.Status.Digest))
			if !errors.Is(out.Err, release.ErrPlanVoid) || !out.PlanVoid || len(w.Requests) > 0 {
				t.Errorf("error %v, requests %q", out.Err, w.Requests)
			}
		})
	}
}

// TestPlanOfAnotherAction: no action carries out the plan of another one.
func TestPlanOfAnotherAction(t *testing.T) {
	w, remove, create := reinstall(t)
	up := create
	up.Action = release.Upgrade{Timeout: time.Minute}
	for action, jobs := range map[v1alpha1.PlanAction][]Job{
		v1alpha1.PlanUpgrade: {remove, create}, v1alpha1.PlanUninstall: {up, create}, v1alpha1.PlanReinstall: {up},
	} {
		of := remove
		if action == v1alpha1.PlanUpgrade {
			of = up
		}
		p := planOf(t, w, of, action)
		w.Requests = nil
		for _, j := range jobs {
			out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest))
			if !errors.Is(out.Err, release.ErrPlanVoid) || len(w.Requests) > 0 {
				t.Errorf("%s carries out the plan of %s: %v, %q", release.Name(j.Action), action, out.Err, w.Requests)
			}
		}
	}
}

// TestInterruptedRemoval: an uninstall that was interrupted goes on with its plan, although objects are
// deleted already.
func TestInterruptedRemoval(t *testing.T) {
	w, remove, _ := reinstall(t)
	remove.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true}
	p := planOf(t, w, remove, v1alpha1.PlanUninstall)
	j := withPlan(remove, p.Status.Digest)
	w.Refuse = func(method, path string) int {
		if method == http.MethodDelete && path == configMapPath {
			return http.StatusForbidden
		}
		return 0
	}
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil || out.PlanVoid {
		t.Fatalf("error %v", out.Err)
	}
	w.Refuse = nil
	w.Mu.Lock()
	w.Remove(configMapPath)
	w.Mu.Unlock()
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Errorf("it does not go on: %v", out.Err)
	}
	record := w.Object("/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v1")
	if by := record.GetAnnotations()[v1alpha1.AnnotationApprovedBy]; by != "jane" {
		t.Errorf("approved by %q", by)
	}
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Errorf("it has ended: %v", out.Err)
	}
	if p := planOf(t, w, remove, v1alpha1.PlanUninstall); len(p.All) > 0 || p.Status.From != nil {
		t.Errorf("the plan of an uninstalled release: %+v", p.Status)
	}
}

// TestForeignSecret: a Secret of another type is no plan, and is not deleted.
func TestForeignSecret(t *testing.T) {
	w := newWorld(t)
	j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil)
	p := planOf(t, w, j, v1alpha1.PlanInstall)
	secret := w.Object(planPath)
	secret.Object["type"] = "Opaque"
	w.Put(planPath, secret.Object)
	w.Requests = nil
	out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest))
	if !errors.Is(out.Err, release.ErrPlanVoid) || len(w.Requests) > 0 {
		t.Errorf("error %v, requests %q", out.Err, w.Requests)
	}
	if err := w.runner.DeletePlan(t.Context(), w.conn, target()); err != nil || w.Object(planPath) == nil {
		t.Errorf("a Secret that is no plan is deleted: %v", err)
	}
}

// TestPlanIsRedacted: neither a plan nor an error has a value of a Secret: of the values, of the base
// revision, and of the new one.
func TestPlanIsRedacted(t *testing.T) {
	w := newWorld(t)
	chartWith := func(password string) map[string]string {
		files := note()
		files["values.yaml"] += "password: " + password + "\n"
		files["templates/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {password: {{ .Values.password }} }\n"
		files["templates/more.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: { {{ .Values.password }}: {{ .Values.password }}, {{ .Values.password }}-x: of-the-values-2}\n"
		files["templates/named.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: named-{{ .Values.password }} }\n"
		return files
	}
	install(t, w, w.chart("1.0.0", chartWith("of-the-base-1")), "one")
	j := job(release.Upgrade{Timeout: time.Minute}, w.chart("2.0.0", chartWith("of-the-next-3")), "2.0.0", map[string]any{"message": "of-the-values-2", "of-the-values-2": 1})
	j.Secrets = []string{"of-the-values-2"}
	p := planOf(t, w, j, v1alpha1.PlanUpgrade)
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); strings.Contains(text, "of-the") || strings.Count(text, "***") < 4 {
		t.Errorf("the plan has secrets: %s", text)
	}
	remove := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	if got := strings.Join(changesIn(planOf(t, w, remove, v1alpha1.PlanUninstall).All), "; "); strings.Contains(got, "of-the") || !strings.Contains(got, "named-***") {
		t.Errorf("the plan of an uninstall has secrets: %s", got)
	}
	for _, secret := range []string{"of-the-base-1", "of-the-next-3", "of-the-values-2"} {
		w.Refuse = func(_, path string) int {
			if path == "/api/v1/namespaces/prod/configmaps/more" {
				return http.StatusBadGateway
			}
			return 0
		}
		w.Reason = "it has " + secret
		_, err := w.runner.Plan(t.Context(), w.conn, j, PlanRequest{Action: v1alpha1.PlanUpgrade})
		if err == nil || strings.Contains(err.Error(), "of-the") || !strings.Contains(err.Error(), "***") {
			t.Errorf("error %v", err)
		}
	}
}
