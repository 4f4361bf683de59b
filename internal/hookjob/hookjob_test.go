// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/hookjob"
)

const manifest = `apiVersion: batch/v1
kind: Job
metadata: {name: web-migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
`

func oneHook(text string) hookjob.Input {
	return hookjob.Input{
		Operation:  hookjob.Operation{Namespace: "apps", Name: "migrate", UID: uid},
		Parameters: opsv1alpha1.Parameters{HookName: "web-migrate"},
		Timeout:    time.Hour,
		Release: &hookjob.Release{Name: "web", Namespace: "apps", Revision: 1, Hooks: []hookjob.Hook{
			{Name: "web-migrate", Kind: "Job", Events: []string{"pre-upgrade"}, Manifest: text},
		}},
	}
}

func rejectionOf(t *testing.T, in hookjob.Input) hookjob.Rejection {
	t.Helper()
	_, err := hookjob.Make(in)
	var r *hookjob.Rejection
	if !errors.As(err, &r) {
		t.Fatalf("%v is not a Rejection", err)
	}
	return *r
}

// TestNoRelease: a missing revision is rejected.
func TestNoRelease(t *testing.T) {
	in := oneHook(manifest)
	in.Release = nil
	if r := rejectionOf(t, in); r.Reason != opsv1alpha1.ReasonHookRequiresRelease {
		t.Error(r)
	}
	in.Parameters.Revision = 7
	if r := rejectionOf(t, in); r.Reason != opsv1alpha1.ReasonRevisionNotFound || !strings.Contains(r.Message, "7") {
		t.Error(r)
	}
}

// TestNothingIsQuoted: a rejection does not quote the manifest, which may be a Secret.
func TestNothingIsQuoted(t *testing.T) {
	for _, text := range []string{"hunter2", "a: [hunter2", "- hunter2", "%hunter2", "spec: {backoffLimit: hunter2}\napiVersion: batch/v1\nkind: Job", "kind: hunter2"} {
		if r := rejectionOf(t, oneHook(text)); strings.Contains(r.Message, "hunter2") {
			t.Errorf("%q: %s", text, r.Message)
		}
	}
}

// TestNames: names of Jobs are unique to an Operation, even if the truncated names of Operations
// are equal or an Operation is created again.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for i := range 200 {
		for _, name := range []string{"migrate", "migrate--a", strings.Repeat("m", 253), strings.Repeat("m", 252) + "a", "a.b", "a-b"} {
			in := oneHook(manifest)
			in.Operation.Name, in.Operation.UID = name, fmt.Sprintf("%s/%d", name, i)
			p, err := hookjob.Make(in)
			if err != nil {
				t.Fatal(err)
			}
			got := p.Steps[0].Job.GetName()
			if other, taken := seen[got]; taken || len(got) > 63 {
				t.Errorf("%s is the name of %s and of %s", got, other, in.Operation.UID)
			}
			seen[got] = in.Operation.UID
		}
	}
}

// TestDigest: the digest for an event depends on every manifest and the order of the steps.
func TestDigest(t *testing.T) {
	make := func(names ...string) string {
		in := oneHook(manifest)
		in.Parameters = opsv1alpha1.Parameters{Event: "pre-upgrade"}
		in.Release.Hooks = nil
		for _, n := range names {
			in.Release.Hooks = append(in.Release.Hooks, hookjob.Hook{
				Name: n, Kind: "Job", Events: []string{"pre-upgrade"}, Manifest: strings.ReplaceAll(manifest, "web-migrate", n),
			})
		}
		p, err := hookjob.Make(in)
		if err != nil {
			t.Fatal(err)
		}
		return p.Release.HookDigest
	}
	if make("a", "b") != make("b", "a") {
		t.Error("the digest depends on the stored order")
	}
	if make("a", "b") == make("a", "c") || make("a") == make("a", "b") {
		t.Error("different plans have the same digest")
	}
}

// FuzzMake: any stored hook is rejected or results in objects that the Operation owns.
func FuzzMake(f *testing.F) {
	f.Add(manifest, "Job", "web-migrate", "pre-upgrade", false, manifest)
	f.Add("", "Pod", "", "", true, "kind: Service\nspec: {selector: {a: 1}}")
	f.Add("apiVersion: v1\nkind: Pod\nspec: {restartPolicy: Never}\nmetadata: {labels: [a], annotations: 3}", "Pod", "web-migrate", "test", true, "")
	f.Add("apiVersion: batch/v1\nkind: Job\nmetadata: 5\nspec: {template: 7, selector: a, suspend: 1}", "Job", "web-migrate", "x", false, "spec: 1")
	f.Add("apiVersion: batch/v1\nkind: Job\nspec: {completionMode: Indexed, completions: -5, activeDeadlineSeconds: -3}", "Job", "web-migrate", "x", false, "spec: {podSelector: {matchExpressions: [{key: a, operator: Nonsense}]}}")
	for _, text := range attacks() {
		f.Add(text, "Job", "web-migrate", "pre-upgrade", len(text)%2 == 0, text)
	}
	f.Add(manifest, "Job\nAccepted=True", strings.Repeat("n", 300)+"\u202e\x00", "a\nb", false, manifest)
	f.Fuzz(func(t *testing.T, text, kind, name, event string, byEvent bool, other string) {
		in := oneHook(text)
		in.Operation.Name = name
		in.Release.Hooks[0].Kind, in.Release.Hooks[0].Events = kind, []string{event}
		for _, k := range []string{"ServiceAccount", "Role", "RoleBinding", "Secret", "Job"} {
			in.Release.Hooks = append(in.Release.Hooks, hookjob.Hook{Name: name, Kind: k, Events: []string{event}, Manifest: other, Weight: len(text) % 3})
		}
		for _, k := range []string{"Service", "NetworkPolicy", "Deployment"} {
			in.Release.Selecting = append(in.Release.Selecting, hookjob.Object{Kind: k, Manifest: other})
		}
		if byEvent {
			in.Parameters = opsv1alpha1.Parameters{Event: opsv1alpha1.HookEvent(event)}
		}
		p, err := hookjob.Make(in)
		again, _ := hookjob.Make(in)
		if a, b := asJSON(t, p), asJSON(t, again); a != b {
			t.Errorf("equal inputs have different plans: %s", cmp.Diff(a, b))
		}
		var r *hookjob.Rejection
		if err != nil {
			if !errors.As(err, &r) || r.Reason == "" || r.Message == "" {
				t.Errorf("%v is not a Rejection", err)
			}
			checkRejection(t, r)
			return
		}
		for _, s := range p.Steps {
			checkOwn(t, s)
		}
		clones, missing := p.Missing(nil)
		if len(clones)+len(missing) != len(p.Needs) {
			t.Error("a need is neither cloned nor missing")
		}
		for _, c := range clones {
			if len(c.GetOwnerReferences()) != 1 || c.GetNamespace() != "apps" {
				t.Errorf("a clone is not owned by the Operation: %v", c.Object["metadata"])
			}
		}
	})
}

// attacks returns manifests that try to affect more than the run of a hook.
func attacks() []string {
	job := func(meta, spec string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web-migrate" + meta + "}\nspec: {template: {metadata: {name: x" + meta + "}, spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}" + spec + "}\n"
	}
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'a'; c < 'l'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c+1, c+1, strings.Repeat(fmt.Sprintf("*%c,", c), 9))
	}
	return []string{
		job(", namespace: kube-system", ""),
		job(", generateName: evil-, uid: abc, resourceVersion: '1', finalizers: [a/b], deletionTimestamp: '2020-01-01T00:00:00Z', selfLink: /x", ""),
		job(", ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: abc, controller: true}]", ""),
		job(", labels: {ops.vworkspace.io/operation: abc, app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: x, job-name: y, controller-uid: z}", ""),
		job(", annotations: {helm.sh/hook: pre-upgrade, meta.helm.sh/release-name: x, helm.sh/resource-policy: keep, ops.vworkspace.io/revision: '7'}", ""),
		job("", ", ttlSecondsAfterFinished: 0, suspend: false, manualSelector: true, selector: {matchLabels: {a: b}}"),
		job("", ", activeDeadlineSeconds: -9223372036854775808, backoffLimit: -1, parallelism: 2147483647"),
		job("", ", activeDeadlineSeconds: 1e999"),
		job("", ", x: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)),
		job("", ", x: "+strings.Repeat("[", 12_000)+strings.Repeat("]", 12_000)),
		job("", "") + "x: " + strings.Repeat("y", 1<<20) + "\n",
		job("", "") + laughs,
		strings.Repeat(`{"a":`, 200_000),
	}
}

// checkRejection checks that a message is one line and not longer than a status may be.
func checkRejection(t *testing.T, r *hookjob.Rejection) {
	t.Helper()
	size := len(r.Message)
	for _, h := range r.Hooks {
		size += len(h.Name) + len(h.Kind) + len(strings.Join(h.Events, ""))
	}
	if strings.ContainsFunc(r.Message, unicode.IsControl) || size > 1<<20 {
		t.Errorf("a message of %d bytes: %.500q", size, r.Message)
	}
}

func checkOwn(t *testing.T, s hookjob.Step) {
	t.Helper()
	job := s.Job
	if n := job.GetName(); len(n) > 63 || n == "" || strings.Trim(n, "-") != n {
		t.Errorf("name %q", n)
	}
	owners := job.GetOwnerReferences()
	if job.GetGenerateName() != "" || len(job.GetFinalizers()) != 0 || job.GetUID() != "" || job.GetResourceVersion() != "" || job.GetDeletionTimestamp() != nil ||
		job.GetLabels()[opsv1alpha1.LabelOperation] != uid || job.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" {
		t.Errorf("foreign metadata: %v", job.Object["metadata"])
	}
	if len(owners) != 1 || string(owners[0].UID) != uid || job.GetNamespace() != "apps" || job.GetKind() != "Job" {
		t.Errorf("not owned by the Operation: %v", job.Object["metadata"])
	}
	spec, _ := job.Object["spec"].(map[string]any)
	if spec["suspend"] != true || spec["ttlSecondsAfterFinished"] != nil || spec["selector"] != nil || spec["backoffLimit"] == nil && spec["backoffLimitPerIndex"] == nil {
		t.Errorf("spec %v", spec)
	}
	if s.Deadline > time.Hour {
		t.Errorf("deadline %v", s.Deadline)
	}
	for key := range job.GetAnnotations() {
		if slices.Contains([]string{"helm.sh/hook", "helm.sh/hook-delete-policy", "meta.helm.sh/release-name"}, key) {
			t.Errorf("it is a hook: %s", key)
		}
	}
	// Clients deep-copy objects, which only JSON types support.
	if !cmp.Equal(job.DeepCopy().Object, job.Object) {
		t.Error("it cannot be copied")
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
