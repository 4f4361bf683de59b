// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

var messagesFile = flag.String("messages", "", "write the Ready messages of TestFailures to this file")

// maxHead is the maximum length of the first line of Ready in bytes. Pagers and chats cut the rest.
const maxHead = 240

// failure is one way in which a release fails, and the cause that all interfaces must name.
type failure struct {
	name string
	// chart has the templates of the chart, all in one, and files are further files of it.
	chart  string
	files  map[string]string
	values map[string]any
	// upgrade, if set, has the values of an upgrade that fails after an install.
	upgrade map[string]any
	// prepare, if set, brings the cluster into the state in which the release fails. It may return
	// a change of the HelmRelease.
	prepare func(w *world) func(*helmv2.HelmRelease)
	edit    func(*helmv2.HelmRelease)
	// object, if set, is an object of the release to which something happens after its creation.
	object  client.Object
	happens happens

	code string
	// cause are parts of the cause. NS is the namespace.
	cause []string
	// variant is true for another way to one of the causes. It is left out in short runs.
	variant bool
}

// Pods of Deployments exist before the release, so that no wait ends before they do.
const (
	mainContainer = "{name: main, image: example.com/shop/web:1.4.2, resources: {limits: {memory: 128Mi}}}"
	deployment    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [" + mainContainer + "]}\n"
	job           = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app}\nspec:\n  template:\n    spec: {restartPolicy: Never, containers: [" + mainContainer + "]}\n"
	failedJob     = `{startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: FailureTarget, status: "True", reason: BackoffLimitExceeded}, {type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`
	failedPod     = `{phase: Failed, containerStatuses: [{name: main, image: none, imageID: "", ready: false, restartCount: 0, state: {terminated: {exitCode: 3, reason: Error, message: 'relation "users" does not exist'}}}]}`
	runningPod    = `{phase: Running, containerStatuses: [{name: main, image: none, imageID: "", ready: true, restartCount: 0, state: {running: {}}}]}`
	configMap     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {a: b}\n"
)

func waitingPod(reason, message string) string {
	return fmt.Sprintf("{phase: Pending, containerStatuses: [{name: main, image: 'example.com/shop/web:1.4.2', imageID: '', ready: false, restartCount: 1, state: {waiting: {reason: %s, message: %q}}}]}", reason, message)
}

// hook makes an object a hook.
func hook(kind, object string) string {
	return strings.Replace(object, "{name: app}", "{name: app, annotations: {helm.sh/hook: "+kind+"}}", 1)
}

// pod prepares a Pod of the Deployment.
func pod(status string) func(*world) func(*helmv2.HelmRelease) {
	return func(w *world) func(*helmv2.HelmRelease) {
		_, err := w.podOf(w.t.Context(), &appsv1.Deployment{}, strings.ReplaceAll(status, "NS", w.namespace))
		w.must(err)
		return nil
	}
}

func timeout(d time.Duration) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.Timeout.Duration = d }
}

// briefly is the timeout of a wait that must expire, if nothing happens before.
var briefly = timeout(3 * time.Second)

func failures() []failure {
	refused := func(message string) happens {
		return happens{status: fmt.Sprintf(`{observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: %q}]}`, message)}
	}
	return []failure{
		// These two take 30 s.
		{name: "APIAway", chart: configMap, edit: briefly, prepare: (*world).losingAPI, code: helmv2.ReasonInterrupted, cause: []string{"connection refused"}},
		{name: "WebhookDead", chart: configMap, edit: briefly, prepare: (*world).deadWebhook, code: helmv2.FailureWebhookUnavailable, cause: []string{"checks.example.com", "connection refused"}},
		{
			name: "Image", chart: deployment, edit: briefly,
			prepare: pod(waitingPod("ImagePullBackOff", `Back-off pulling image "example.com/shop/web:1.4.2": ErrImagePull: example.com/shop/web:1.4.2: not found`)),
			code:    helmv2.FailureImageNotFound, cause: []string{"Deployment app: ", "container main", "example.com/shop/web:1.4.2", "not found"},
		},
		{
			name: "Memory", chart: deployment, edit: briefly,
			prepare: pod(`{phase: Running, containerStatuses: [{name: main, image: none, imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`),
			code:    helmv2.FailureOOMKilled, cause: []string{"Deployment app: ", "container main", "memory"},
		},
		{
			name: "Secret", chart: deployment, edit: briefly,
			prepare: pod(waitingPod("CreateContainerConfigError", "couldn't find key password in Secret NS/access")),
			code:    helmv2.FailureConfigMissing, cause: []string{"Deployment app: ", "container main", "couldn't find key password in Secret NS/access"},
		},
		{
			name: "Quota", chart: deployment, edit: expires, object: &appsv1.Deployment{},
			happens: refused(`pods "app-6d5c7f9b8-x2x4q" is forbidden: exceeded quota: team, requested: limits.memory=128Mi, used: limits.memory=1Gi, limited: limits.memory=1Gi`),
			code:    helmv2.FailureQuotaExceeded, cause: []string{"Deployment app: ", "exceeded quota: team"},
		},
		{
			name: "Unschedulable", chart: deployment, edit: briefly,
			prepare: pod(`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."}]}`),
			code:    helmv2.FailureUnschedulable, cause: []string{"Deployment app: ", "Insufficient cpu"},
		},
		{
			name:  "Claim",
			chart: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: app}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
			edit:  expires, object: &corev1.PersistentVolumeClaim{},
			happens: happens{reason: "FailedBinding", message: "no persistent volumes available for this claim and no storage class is set"},
			code:    helmv2.FailureVolumeNotBound, cause: []string{"PersistentVolumeClaim app: ", "no storage class is set"},
		},
		{
			name: "HookFails", chart: deployment + "---\n" + hook("pre-install", job), object: &batchv1.Job{}, happens: happens{pod: failedPod, status: failedJob},
			code: helmv2.FailureContainer, cause: []string{"Job app", "container main", "code 3", `relation "users" does not exist`},
		},
		{
			name: "HookHangs", chart: deployment + "---\n" + hook("pre-install", job), edit: expires, object: &batchv1.Job{}, happens: happens{pod: runningPod},
			code: helmv2.FailureNotReady, cause: []string{"Hook Job app did not finish within ", "its Pod is running"},
		},
		{
			name: "TestFails", chart: configMap + "---\n" + hook("test", "apiVersion: v1\nkind: Pod\nmetadata: {name: app}\nspec: {restartPolicy: Never, containers: ["+mainContainer+"]}\n"),
			edit:   func(hr *helmv2.HelmRelease) { hr.Spec.Test = &helmv2.Test{Enable: true} },
			object: &corev1.Pod{}, happens: happens{status: failedPod},
			code: helmv2.FailureContainer, cause: []string{"Pod app", "container main", "code 3"},
		},
		{
			name: "Schema", chart: configMap, files: map[string]string{"values.schema.json": `{"properties":{"replicas":{"type":"integer"}}}`}, values: values("replicas", "three"),
			code: helmv2.FailureSchemaInvalid, cause: []string{"replicas", "got string, want integer"},
		},
		{
			name: "Template", chart: `{{ required "set ingress.host" .Values.host }}`,
			code: helmv2.FailureTemplate, cause: []string{"templates/all.yaml:1:3", "set ingress.host"},
		},
		{
			name: "CRD", chart: configMap + "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: app}\n",
			code: helmv2.FailureKindNotServed, cause: []string{"ServiceMonitor.monitoring.coreos.com"},
		},
		{
			name: "Field", chart: strings.Replace(deployment, "spec:\n", "spec:\n  replicas: many\n", 1),
			code: helmv2.FailureObjectInvalid, cause: []string{"Deployment app: ", "replicas"},
		},
		{
			name: "Immutable", chart: strings.ReplaceAll(deployment, "{a: b}", `{a: {{ .Values.app | default "b" }}}`), upgrade: values("app", "c"),
			edit: func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableWait: true} },
			code: helmv2.FailureObjectInvalid, cause: []string{"Deployment app: ", "spec.selector: ", "immutable"},
		},
		{
			name: "Namespace", chart: "{{ range list \"a\" \"b\" \"c\" }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ . }}, namespace: not-yet}\n{{ end }}",
			code: helmv2.FailureNamespaceNotFound, cause: []string{"Namespace not-yet does not exist (3 objects)"},
		},
		{
			name: "Policy", chart: configMap,
			prepare: func(w *world) func(*helmv2.HelmRelease) { w.forbid("app", "label team is required"); return nil },
			code:    helmv2.FailureAdmissionDenied, cause: []string{"ConfigMap app: ", "label team is required"},
		},
		{
			name: "WebhookDenies", chart: configMap,
			prepare: func(w *world) func(*helmv2.HelmRelease) {
				w.judge(func(*admissionv1.AdmissionRequest, bool) string { return "label team is required" })
				return nil
			},
			code: helmv2.FailureAdmissionDenied, cause: []string{"ConfigMap app: ", "judge.example.com", "label team is required"},
		},
		{
			name: "Rights", chart: deployment, edit: as("tenant"),
			prepare: func(w *world) func(*helmv2.HelmRelease) { w.account("tenant", "secrets"); return nil },
			code:    helmv2.FailureForbidden, cause: []string{"Deployment app: ", "ServiceAccount NS/tenant cannot patch deployments.apps"},
		},
		{name: "NoServiceAccount", chart: configMap, edit: as("tenant"), code: helmv2.ReasonStateError, cause: []string{"NS/tenant", "spec.serviceAccountName", "does not exist"}},
		{name: "Values", chart: configMap, edit: from(helmv2.ValuesReference{Kind: "Secret", Name: "db"}), code: helmv2.ReasonValuesError, cause: []string{"Secret", "NS/db"}},
		{name: "ChartNotFound", edit: templated(""), prepare: (*world).withoutChart, code: helmv2.FailureSource, cause: []string{"HelmChart", "no 'note' chart with version matching '>=2.0.0' found"}},
		{
			name: "RolledBack", chart: deployment + "---\n" + strings.Replace(configMap, "a: b", `a: {{ .Values.app | default "b" }}`, 1), upgrade: values("app", "c"),
			prepare: pod(`{phase: Running, containerStatuses: [{name: main, image: none, imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3, reason: Error, message: "unknown key cache"}}}]}`),
			edit: func(hr *helmv2.HelmRelease) {
				briefly(hr)
				last := true
				hr.Spec.Install, hr.Spec.Rollback = &helmv2.Install{DisableWait: true}, &helmv2.Rollback{DisableWait: true}
				hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Strategy: helmv2.RemediationRollback, RemediateLastFailure: &last}}
			},
			code: helmv2.FailureCrashLoop, cause: []string{"Deployment app: ", "container main", "code 3"},
		},
		{name: "ClusterAway", chart: configMap, edit: in("far"), prepare: (*world).farCluster, code: helmv2.ReasonStateError, cause: []string{"https://127.0.0.1:", "connection refused"}},

		{
			name: "Probe", variant: true, chart: deployment, edit: expires, object: &appsv1.Deployment{},
			happens: happens{pod: strings.Replace(runningPod, "ready: true", "ready: false", 1), reason: "Unhealthy", message: "Readiness probe failed: statuscode: 503"},
			code:    helmv2.FailureProbe, cause: []string{"Deployment app: ", "container main", "statuscode: 503"},
		},
		{
			name: "WebhookDeniesPods", variant: true, chart: deployment, edit: expires, object: &appsv1.Deployment{},
			happens: refused(`admission webhook "policy.example.com" denied the request: no root`),
			code:    helmv2.FailureAdmissionDenied, cause: []string{"Deployment app: ", "policy.example.com", "no root"},
		},
		{
			name: "JobFails", variant: true, chart: job, object: &batchv1.Job{}, happens: happens{pod: failedPod, status: failedJob},
			code: helmv2.FailureContainer, cause: []string{"Job app: ", "container main", "code 3"},
		},
		{
			name: "HookWithoutPods", variant: true, chart: hook("pre-install", job), object: &batchv1.Job{}, happens: happens{status: failedJob},
			code: helmv2.FailureBackoffLimit, cause: []string{"Job app"},
		},
		{
			name: "HookQuota", variant: true, chart: hook("pre-install", job), edit: expires, object: &batchv1.Job{},
			happens: happens{reason: "FailedCreate", message: `Error creating: pods "app-x" is forbidden: exceeded quota: team`},
			code:    helmv2.FailureQuotaExceeded, cause: []string{"Job app", "exceeded quota: team"},
		},
		{
			name: "Invalid", variant: true, chart: "apiVersion: v1\nkind: Service\nmetadata: {name: app}\nspec: {ports: [{port: 70000}]}\n",
			code: helmv2.FailureObjectInvalid, cause: []string{"Service app: ", "spec.ports[0].port: must be between 1 and 65535"},
		},
	}
}

// losingAPI gives the release a controller to which the API server does not answer when it applies
// ConfigMaps, until the test ends.
func (w *world) losingAPI() func(*helmv2.HelmRelease) {
	var over atomic.Bool
	mine := w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if !over.Load() && strings.Contains(req.URL.Path, "/namespaces/"+w.namespace+"/configmaps") {
				return nil, syscall.ECONNREFUSED
			}
			return next.RoundTrip(req)
		})
	}})
	w.t.Cleanup(func() { over.Store(true) })
	return mine
}

// deadWebhook configures a webhook that does not answer, and waits until it is called.
func (w *world) deadWebhook() func(*helmv2.HelmRelease) {
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	w.must(yaml.Unmarshal(fmt.Appendf(nil, webhookConfig, w.namespace, closed.URL), hook))
	w.must(suite.client.Create(w.t.Context(), hook))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), hook) })
	untilTrue(w, "the webhook to be called", func() bool {
		some := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "some"}}
		err := suite.client.Create(w.t.Context(), some, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "failed calling webhook")
	})
	return nil
}

// farCluster makes a kubeconfig of a cluster that does not answer.
func (w *world) farCluster() func(*helmv2.HelmRelease) {
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	w.secret("far", map[string][]byte{"value": kubeconfig(w.t, &rest.Config{Host: closed.URL, BearerToken: "none"})}, nil)
	return nil
}

// withoutChart makes a HelmRepository without the wanted version, as source-controller reports it
// once the HelmChart exists.
func (w *world) withoutChart() func(*helmv2.HelmRelease) {
	w.fetch(w.helmRepository("https://charts.example.com"))
	chart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.namespace + "-app"}}
	reported := make(chan error, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	go func() {
		err := appears(ctx, chart)
		if err == nil {
			before := chart.DeepCopy()
			chart.Status.ObservedGeneration = chart.Generation
			for kind, status := range map[string]metav1.ConditionStatus{"Ready": metav1.ConditionFalse, sourcev1.FetchFailedCondition: metav1.ConditionTrue} {
				apimeta.SetStatusCondition(&chart.Status.Conditions, metav1.Condition{
					Type: kind, Status: status, Reason: "InvalidChartReference", ObservedGeneration: chart.Generation,
					Message: "invalid chart reference: failed to get chart version for remote reference: no 'note' chart with version matching '>=2.0.0' found",
				})
			}
			err = suite.client.Status().Patch(ctx, chart, client.MergeFrom(before))
		}
		reported <- err
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-reported; err != nil {
			w.t.Error(err)
		}
	})
	return func(hr *helmv2.HelmRelease) { hr.Spec.Chart.Spec.Version = ">=2.0.0" }
}

// TestFailures: whatever a release fails for, condition Failing has the code and the cause, and the
// first line of Ready, the event, `kubectl pintle why`, the page, the metric and an alert name the
// same cause. The first line fits in a page.
func TestFailures(t *testing.T) {
	var mu sync.Mutex
	messages := map[string]string{}
	alerts := releaseAlerts(t)
	t.Run("all", func(t *testing.T) {
		for _, f := range failures() {
			t.Run(f.name, func(t *testing.T) {
				if testing.Short() && f.variant {
					t.Skip("long")
				}
				t.Parallel()
				w := newWorld(t)
				hr := w.fail(&f)
				message := w.namesOneCause(hr, f.code, alerts)
				mu.Lock()
				defer mu.Unlock()
				messages[f.name] = fmt.Sprintf("%s/%s\n\n%s\n", hr.Namespace, hr.Name, message)
			})
		}
	})
	if *messagesFile == "" {
		return
	}
	var all []string
	for _, f := range failures() {
		if text := messages[f.name]; text != "" && !f.variant {
			all = append(all, text)
		}
	}
	if err := os.WriteFile(*messagesFile, []byte(strings.Join(all, "\n\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fail makes a release fail, and waits until all is said about it.
func (w *world) fail(f *failure) *helmv2.HelmRelease {
	w.t.Helper()
	named := func(s string) string { return strings.ReplaceAll(s, "NS", w.namespace) }
	files := map[string]string{"templates/all.yaml": f.chart}
	for name, content := range f.files {
		files[name] = content
	}
	w.publish("app", "1.0.0", pack(w.t, "note", "1.0.0", files))
	var edits []func(*helmv2.HelmRelease)
	if f.edit != nil {
		edits = append(edits, f.edit)
	}
	if f.prepare != nil {
		if edit := f.prepare(w); edit != nil {
			edits = append(edits, edit)
		}
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() {
		if f.object == nil {
			done <- nil
			return
		}
		done <- w.happen(ctx, f.object, f.happens)
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	})
	hr := w.release("app", f.values, edits...)
	if f.upgrade != nil {
		w.untilReady(hr)
		if condition(hr, helmv2.ConditionFailing).Type != "" {
			w.t.Error("a release that is ready is failing")
		}
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(w.t, f.upgrade) })
	}
	var parts []string
	for _, part := range f.cause {
		parts = append(parts, named(part))
	}
	w.untilSays(hr, helmv2.ConditionFailing, metav1.ConditionTrue, f.code, parts...)
	w.recorded(hr)
	if c := condition(hr, helmv2.ConditionFailing); c.Reason != f.code || !containsAll(c.Message, parts...) {
		w.t.Errorf("the cause becomes %s: %s", c.Reason, c.Message)
	}
	return hr
}

// namesOneCause checks what all interfaces say about a release that fails, and returns the message
// of Ready. If a retry changes the release in the meantime, it checks again, a few times.
func (w *world) namesOneCause(hr *helmv2.HelmRelease, code string, alerts []alert) string {
	w.t.Helper()
	user, pages, kubeconfig := w.namespace+"-user", w.pages(), w.kubeconfig()
	w.grantReads(user, rbacv1.PolicyRule{APIGroups: []string{helmv2.GroupVersion.Group}, Resources: []string{"helmreleases"}})
	for tries := 5; ; tries-- {
		version := hr.ResourceVersion
		ready, cause := condition(hr, helmv2.ConditionReady), condition(hr, helmv2.ConditionFailing).Message
		problems := w.messageProblems(hr, cause)
		if _, output := w.plugin(kubeconfig, "why", hr.Name); !strings.Contains(output, "\nCause: "+cause+"\n") {
			problems = append(problems, "kubectl pintle why does not name it")
		}
		_, body := w.open(pages, user, "/releases/"+hr.Namespace+"/"+hr.Name)
		_, section, _ := strings.Cut(body, `<section id="state"`)
		section, _, _ = strings.Cut(section, "</section>")
		if section = html.UnescapeString(section); !containsAll(section, "<strong>"+code+"</strong>", cause) {
			problems = append(problems, "the page says: "+section)
		}
		series := w.statusOf(hr)
		if series["cause"] != code || series["reason"] != ready.Reason {
			problems = append(problems, fmt.Sprintf("the metric has the labels %v", series))
		} else if !slices.ContainsFunc(alerts, func(a alert) bool { return a.fires(series) }) {
			problems = append(problems, fmt.Sprintf("no alert names the cause of %v", series))
		}
		if len(problems) == 0 || tries == 0 || w.present(hr) == version {
			w.t.Logf("Failing is %s: %s\nReady is %s: %s", code, cause, ready.Reason, ready.Message)
			for _, p := range problems {
				w.t.Error(p)
			}
			return ready.Message
		}
		w.untilSays(hr, helmv2.ConditionFailing, metav1.ConditionTrue, code)
		w.recorded(hr)
	}
}

// messageProblems checks Ready and the last warning.
func (w *world) messageProblems(hr *helmv2.HelmRelease, cause string) (problems []string) {
	w.t.Helper()
	ready, warning := condition(hr, helmv2.ConditionReady), w.lastWarning(hr)
	head, _, _ := strings.Cut(ready.Message, "\n")
	if len(head) > maxHead {
		problems = append(problems, fmt.Sprintf("the first line of Ready has %d bytes: %s", len(head), head))
	}
	// A long cause is whole in the details, and lacks its middle in the first line.
	whole := strings.TrimRight(cause, ".")
	if n := min(len(whole), 30); !strings.Contains(head, whole[:n]) || !strings.Contains(head, whole[len(whole)-n:]) || !strings.Contains(ready.Message, whole) {
		problems = append(problems, "the first line of Ready is without the cause: "+head)
	}
	said := warning.Message == ready.Message
	switch ready.Reason {
	case helmv2.ReasonRollbackSucceeded:
		// The event about a remediation is no warning. The failure has one before.
		said = strings.Contains(warning.Message, cause)
	case helmv2.ReasonSourceNotReady:
		// source-controller has the event.
		said = warning.Name == ""
	}
	if !said {
		problems = append(problems, fmt.Sprintf("the last warning is %s: %s", warning.Reason, warning.Message))
	}
	return problems
}

// lastWarning returns the last warning about a release.
func (w *world) lastWarning(hr *helmv2.HelmRelease) corev1.Event {
	w.t.Helper()
	var all corev1.EventList
	w.must(suite.client.List(w.t.Context(), &all, client.InNamespace(hr.Namespace), client.MatchingFields{"involvedObject.uid": string(hr.UID)}))
	var last corev1.Event
	for _, e := range all.Items {
		if e.Type == corev1.EventTypeWarning && (last.Name == "" || older(last.ResourceVersion, e.ResourceVersion)) {
			last = e
		}
	}
	return last
}

// statusMetric has the status of a release.
const statusMetric = "pintle_helm_release_reconciliation_status"

// statusOf returns the labels of the metric of a release.
func (w *world) statusOf(hr *helmv2.HelmRelease) map[string]string {
	w.t.Helper()
	for _, b := range suite.barriers.of(hr) {
		families, err := b.metrics.Gather()
		w.must(err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				series := map[string]string{}
				for _, l := range m.GetLabel() {
					series[l.GetName()] = l.GetValue()
				}
				if family.GetName() == statusMetric && series["namespace"] == hr.Namespace && series["name"] == hr.Name {
					return series
				}
			}
		}
	}
	return nil
}

// alert is an alert about the metric of a release. Its text has the cause.
type alert struct {
	// selectors are those of the metric, by label.
	selectors [][]matcher
}

type matcher struct{ label, operator, value string }

var (
	selectorPattern = regexp.MustCompile(statusMetric + `\b(?:\{([^}]*)\})?`)
	matcherPattern  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
)

// releaseAlerts returns the alerts that name the cause of a failure.
func releaseAlerts(t *testing.T) (all []alert) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "config/monitoring/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Expr        string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if !strings.Contains(r.Annotations["summary"], "$labels.cause") {
				continue
			}
			var a alert
			for _, found := range selectorPattern.FindAllStringSubmatch(r.Expr, -1) {
				var selector []matcher
				for _, m := range matcherPattern.FindAllStringSubmatch(found[1], -1) {
					selector = append(selector, matcher{m[1], m[2], m[3]})
				}
				a.selectors = append(a.selectors, selector)
			}
			all = append(all, a)
		}
	}
	return all
}

// fires reports whether a selector of the alert that tells failures from other states selects a
// series.
func (a alert) fires(series map[string]string) bool {
	return slices.ContainsFunc(a.selectors, func(selector []matcher) bool {
		for _, m := range selector {
			equal := m.value == series[m.label]
			if strings.HasSuffix(m.operator, "~") {
				equal = regexp.MustCompile("^(?:" + m.value + ")$").MatchString(series[m.label])
			}
			if equal == strings.HasPrefix(m.operator, "!") {
				return false
			}
		}
		return slices.ContainsFunc(selector, func(m matcher) bool { return m.label == "status" })
	})
}
