// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/harness"
)

// tamper changes the record of a release's first revision, as any client with write access to
// Secrets could.
func (w *world) tamper(name string, change func(record map[string]any)) {
	w.t.Helper()
	w.tamperWith(name, 1, change)
}

func (w *world) tamperWith(name string, revision int, change func(record map[string]any)) {
	w.t.Helper()
	secret := &corev1.Secret{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: storage.Key(name, revision)}, secret))
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	w.must(err)
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	w.must(err)
	record := map[string]any{}
	w.must(json.NewDecoder(zip).Decode(&record))
	change(record)
	var out bytes.Buffer
	again := gzip.NewWriter(&out)
	w.must(json.NewEncoder(again).Encode(record))
	w.must(again.Close())
	secret.Data["release"] = []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
	w.must(suite.client.Update(w.t.Context(), secret))
}

// vouch makes status.history agree with the record of the first revision of a release, as if
// its chart had made the record so.
func (w *world) vouch(hr *helmv2.HelmRelease) {
	w.t.Helper()
	conn, err := cluster.Connect(suite.config)
	w.must(err)
	runner := helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), nil, sealKey(), time.Now)
	target := release.Target{Name: hr.Name, Namespace: w.namespace, StorageNamespace: w.namespace}
	stored, err := runner.History(w.t.Context(), conn, target, nil)
	w.must(err)
	before := hr.DeepCopy()
	hr.Status.History[0].Digest = stored[0].Digest
	w.must(suite.client.Status().Patch(w.t.Context(), hr, client.MergeFrom(before)))
}

// TestOperationOfRewrittenRecord: write access to Secrets does not suffice to run arbitrary Pods
// with the identity of a HelmRelease.
func TestOperationOfRewrittenRecord(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	rewrite := func(old, with string) func(map[string]any) {
		return func(record map[string]any) {
			hook := hookOf(t, record)
			text, _ := hook["manifest"].(string)
			if hook["manifest"] = strings.ReplaceAll(text, old, with); hook["manifest"] == text {
				t.Errorf("%s is not in the hook", old)
			}
		}
	}
	for name, change := range map[string]func(map[string]any){
		"image":   rewrite("example.com/migrate:1", "example.com/evil:1"),
		"account": rewrite("restartPolicy: Never", "restartPolicy: Never\n      serviceAccountName: default"),
		// Another hook is added, as a test, which Helm runs on demand only.
		"test": func(record map[string]any) {
			hook := maps.Clone(hookOf(t, record))
			hook["events"], hook["name"] = []string{"test"}, "test-smoke"
			hooks, _ := record["hooks"].([]any)
			record["hooks"] = append(hooks, hook)
		},
	} {
		if testing.Short() && name != "image" {
			continue
		}
		w.publish(name, "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
		hr := w.release(name, nil)
		w.untilReady(hr)
		// Otherwise the HelmRelease may be upgraded because of the change, before the Operation runs.
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
		w.tamper(name, change)
		op := w.operate(hr, "op-"+name, func(op *opsv1alpha1.Operation) {
			if name == "test" {
				op.Spec.Parameters.HookName = "test-smoke"
			}
		})
		w.withstands(name, op, operationAttack{failed: opsv1alpha1.ReasonRecordNotVerified, says: []string{"revision 1", w.namespace + "/" + name}})
	}
}

// hookOf returns the first stored hook of a record.
func hookOf(t *testing.T, record map[string]any) map[string]any {
	t.Helper()
	hooks, _ := record["hooks"].([]any)
	if len(hooks) == 0 {
		t.Fatal("no hook is stored")
	}
	hook, _ := hooks[0].(map[string]any)
	return hook
}

// operationAttack is an Operation that would do more than run a hook.
type operationAttack struct {
	// text changes the stored manifest of the hook, record the whole record.
	text   func(manifest string) string
	record func(record map[string]any)
	edit   func(*opsv1alpha1.Operation)
	// failed and blocked are the reasons for the rejection. Without either, the Operation is
	// harmless, and runs.
	failed, blocked string
	says            []string
	runs            func(t *testing.T, w *world, job *batchv1.Job)
}

func replacing(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}

func named(name string) func(*opsv1alpha1.Operation) {
	return func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = name }
}

// strangeHooks are Operations that refer to missing objects.
func strangeHooks() map[string]operationAttack {
	all := map[string]operationAttack{
		"late": {edit: func(op *opsv1alpha1.Operation) { op.Spec.Parameters.Revision = 1 << 30 }, failed: opsv1alpha1.ReasonRevisionNotFound, says: []string{"1073741824"}},
	}
	for name, hook := range map[string]string{
		"unicode": "мigrate-\u202e\u0000-web", "newlines": "web-migrate\nAccepted=True", "path": "../../honest/honest-migrate", "blank": " ",
		"other": "honest-migrate", "long": strings.Repeat("ж", 253), "yaml": "{a: &a [*a]}", "template": "{{ .Values }}", "label": "a=b,c!=d",
	} {
		all[name] = operationAttack{edit: named(hook), failed: opsv1alpha1.ReasonHookNotFound, says: []string{strconv.QuoteToASCII(hook)}}
	}
	return all
}

// tamperedHooks are Operations of hooks that are not as the chart had them.
func tamperedHooks(t *testing.T) map[string]operationAttack {
	const refused, unable = opsv1alpha1.ReasonJobRefused, opsv1alpha1.ReasonHookNotSupported
	spec := replacing("spec:\n", "spec:\n  EVIL\n")
	inSpec := func(text string) func(string) string {
		return func(s string) string { return strings.Replace(spec(s), "EVIL", text, 1) }
	}
	meta := func(text string) func(string) string { return replacing("metadata:\n", "metadata:\n  "+text+"\n") }
	pod := func(text string) func(string) string {
		return replacing("      restartPolicy: Never\n", "      restartPolicy: Never\n      "+text+"\n")
	}
	whole := func(text string) func(string) string { return func(string) string { return text } }
	own := func(t *testing.T, _ *world, job *batchv1.Job) {
		t.Helper()
		if len(job.OwnerReferences) != 1 || job.OwnerReferences[0].Kind != opsv1alpha1.OperationKind || len(job.Finalizers) != 0 || job.GenerateName != "" ||
			job.Labels["app.kubernetes.io/managed-by"] == "Helm" || job.Labels["helm.toolkit.fluxcd.io/name"] != "" || job.Annotations["meta.helm.sh/release-name"] != "" ||
			job.Spec.TTLSecondsAfterFinished != nil || job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
			t.Errorf("the Job has changes of another client: %+v, spec %+v", job.ObjectMeta, job.Spec)
		}
	}
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'a'; c < 'l'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c+1, c+1, strings.Repeat(fmt.Sprintf("*%c,", c), 9))
	}
	names := func(name string, n int) func(map[string]any) {
		return func(record map[string]any) {
			hook := hookOf(t, record)
			hook["name"] = name
			hooks := []any{}
			for range n {
				hooks = append(hooks, hook)
			}
			record["hooks"] = hooks
		}
	}
	return map[string]operationAttack{
		"namespace": {text: meta("namespace: kube-system"), failed: opsv1alpha1.ReasonNamespaceMismatch, says: []string{"another namespace"}},
		"elsewhere": {record: func(r map[string]any) { r["namespace"] = "kube-system" }, failed: opsv1alpha1.ReasonRecordNotVerified, says: []string{"does not agree"}},
		"kind":      {text: whole("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: evil}\n"), failed: unable, says: []string{"neither a Job"}},
		"nothing":   {text: whole("\n"), failed: unable},
		"noise":     {text: whole("kind: [Job"), failed: unable},
		"list":      {text: whole("- a\n- b\n"), failed: unable},
		"laughs":    {text: func(s string) string { return s + laughs }, failed: unable},
		"deep": {text: func(s string) string {
			return s + "x: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n"
		}, failed: unable},
		"deeper":     {text: func(s string) string { return s + "x: " + strings.Repeat(`{"a":`, 300_000) }, failed: unable},
		"numbers":    {text: inSpec("parallelism: 1e999"), failed: unable},
		"wrong":      {text: inSpec("parallelism: {a: 1}"), failed: unable, says: []string{"not a valid Job"}},
		"negative":   {text: inSpec("activeDeadlineSeconds: -5"), blocked: refused, says: []string{"activeDeadlineSeconds"}},
		"account":    {text: pod("serviceAccountName: another-account"), blocked: opsv1alpha1.ReasonMissingDependencies, says: []string{"ServiceAccount another-account"}},
		"huge":       {text: replacing("command: [migrate]", "command: [migrate, \""+strings.Repeat("x", 4<<20)+"\"]"), blocked: refused},
		"labels":     {text: replacing("labels: {", "labels: {\""+strings.Repeat("x", 300)+"\": evil, "), blocked: refused, says: []string{"metadata.labels"}},
		"long-name":  {record: names(strings.Repeat("n", 100_000), 256), failed: opsv1alpha1.ReasonHookNotFound},
		"many":       {record: names("x", 5000), failed: opsv1alpha1.ReasonHookNotFound},
		"owner":      {text: meta("ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: kube-root-ca.crt, uid: abc, controller: true}]"), runs: own},
		"finalizer":  {text: meta("finalizers: [example.com/never]"), runs: own},
		"generated":  {text: meta("generateName: evil-\n  uid: abc\n  resourceVersion: \"1\"\n  deletionTimestamp: \"2020-01-01T00:00:00Z\""), runs: own},
		"ttl":        {text: inSpec("ttlSecondsAfterFinished: 0\n  suspend: false\n  manualSelector: true\n  selector: {}"), runs: own},
		"ours":       {text: replacing("labels: {", "labels: {ops.vworkspace.io/operation: abc, app.vworkspace.io/cluster-id: evil, app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: honest, "), runs: own},
		"annotation": {text: replacing("annotations: {", "annotations: {meta.helm.sh/release-name: honest, ops.vworkspace.io/hook-digest: evil, "), runs: own},
		"pods": {text: pod("hostNetwork: true\n      volumes: [{name: h, hostPath: {path: /}}]"), runs: func(t *testing.T, w *world, job *batchv1.Job) {
			// Helm would have run the same Pod; the cluster's admission decides about such Pods.
			if !job.Spec.Template.Spec.HostNetwork || job.Namespace != w.namespace {
				t.Errorf("%+v", job.Spec.Template.Spec)
			}
		}},
	}
}

// TestOperationAttackers: each malicious Operation is rejected with a reason, or is harmless; a
// normal one beside them succeeds.
func TestOperationAttackers(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	// Not parallel: it measures the memory of the process.
	operationsServed(t)
	w := newWorld(t)
	before := resident(t)
	all := tamperedHooks(t)
	for name, a := range strangeHooks() {
		all[name] = a
	}
	releases := map[string]*helmv2.HelmRelease{"honest": nil}
	for name := range all {
		releases[name] = nil
	}
	for name := range releases {
		w.publish(name, "1.0.0", hooked(t, "1.0.0", "pre-rollback"))
		releases[name] = w.release(name, nil)
	}
	held := map[string]*opsv1alpha1.Operation{}
	for name, a := range all {
		w.untilReady(releases[name])
		if a.text != nil {
			a.record = func(record map[string]any) {
				hook := hookOf(t, record)
				before, _ := hook["manifest"].(string)
				if hook["manifest"] = a.text(before); hook["manifest"] == before {
					t.Errorf("%s changes nothing", name)
				}
			}
		}
		if a.record != nil {
			// Otherwise the HelmRelease may be upgraded because of the change, before the Operation
			// runs.
			w.edit(releases[name], func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
			w.tamper(name, a.record)
			w.vouch(releases[name])
		}
		var edits []func(*opsv1alpha1.Operation)
		if a.edit != nil {
			edits = append(edits, a.edit)
		}
		held[name] = w.operate(releases[name], "op-"+name, edits...)
	}
	w.untilReady(releases["honest"])
	honest := w.operate(releases["honest"], "op-honest")
	for name, a := range all {
		w.withstands(name, held[name], a)
	}
	w.succeed(honest)
	w.untilPhase(honest, opsv1alpha1.PhaseSucceeded)
	grown := resident(t) - before
	t.Logf("memory grew by %d bytes at most", grown)
	if grown > 3<<30 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// withstands checks the result of a malicious Operation.
func (w *world) withstands(name string, op *opsv1alpha1.Operation, a operationAttack) {
	w.t.Helper()
	if a.runs != nil {
		a.runs(w.t, w, w.theJob(op))
		return
	}
	condition, reason := opsv1alpha1.ConditionFailed, a.failed
	if a.blocked != "" {
		condition, reason = opsv1alpha1.ConditionBlocked, a.blocked
	}
	w.untilOperation(op, condition+" because of "+reason, func(op *opsv1alpha1.Operation) bool {
		c := apimeta.FindStatusCondition(op.Status.Conditions, condition)
		return c != nil && c.Reason == reason
	})
	message := apimeta.FindStatusCondition(op.Status.Conditions, condition).Message
	for _, text := range a.says {
		if !strings.Contains(message, text) {
			w.t.Errorf("%s: %q is not said: %.500s", name, text, message)
		}
	}
	// A line with the whole cause may follow the sentences.
	if strings.ContainsAny(message, "\x00\u202e") || strings.Count(message, "\n") > 1 {
		w.t.Errorf("%s: the message has %d bytes: %.1000q", name, len(message), message)
	}
	if jobs := w.jobs(op); len(jobs) != 0 {
		w.t.Errorf("%s: %d Jobs were made", name, len(jobs))
	}
}

// TestOperationParameters: the CRD rejects invalid parameters.
func TestOperationParameters(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	ns := operationNamespace(t)
	for name, tc := range map[string]struct{ from, to, refused string }{
		"long name":     {"hookName: nextcloud-myteam-pre-upgrade", "hookName: " + strings.Repeat("x", 300), "Too long"},
		"no name":       {"hookName: nextcloud-myteam-pre-upgrade", `hookName: ""`, "should be at least 1 chars long"},
		"negative time": {"1800", "-1", "greater than or equal to 1"},
		"endless time":  {"1800", "9223372036854775808", "activeDeadlineSeconds"},
		"negative TTL":  {"backoffLimit: 1", "ttlSecondsAfterFinished: -1", "greater than or equal to 0"},
		"endless TTL":   {"backoffLimit: 1", "ttlSecondsAfterFinished: 2147483648", "less than or equal to 2147483647"},
		"many tries":    {"backoffLimit: 1", "backoffLimit: 2147483648", "less than or equal to 2147483647"},
		"a word":        {"backoffLimit: 1", "backoffLimit: many", "backoffLimit"},
		"an account":    {"backoffLimit: 1", "serviceAccountName: admin", "unknown field"},
		"a command":     {"backoffLimit: 1", "command: [sh]", "unknown field"},
		"a namespace":   {"backoffLimit: 1", "namespace: kube-system", "unknown field"},
		"depth":         {"backoffLimit: 1", "overrides: " + strings.Repeat("[", 900) + strings.Repeat("]", 900), ""},
		"environment":   {"backoffLimit: 1", "env: [" + strings.Repeat("{name: a, value: b},", 2000) + "]", "unknown field"},
	} {
		text := strings.Replace(harness.DocumentedOperation, tc.from, tc.to, 1)
		o := object(t, text)
		o.SetNamespace(ns)
		err := suite.client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
		if text == harness.DocumentedOperation || err == nil || !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%s: want %q, got %.300v", name, tc.refused, err)
		}
	}
}
