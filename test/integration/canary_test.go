// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/opencontainers/go-digest"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/metrics"
)

// Secret values that occur nowhere else. The second has characters that messages escape, the third
// is a number, and the fourth is in a chart's own Secret.
const (
	canary     = "Xq7CanaryZk93hW2"
	oddCanary  = "Yp4VoglA\"\\<&>\tWm81BirdQ"
	pinCanary  = 7351928463
	ownCanary  = "Rb5OwnFinchTq60LmX"
	ownEncoded = "UmI1T3duRmluY2hUcTYwTG1Y"
	urlCanary  = "Gn2UrlWrenPd48VcS"
)

// aCanary makes the Secret that values are taken from, and returns how a release takes
// them.
func (w *world) aCanary() func(*helmv2.HelmRelease) {
	w.t.Helper()
	odd, err := json.Marshal(oddCanary)
	w.must(err)
	w.must(suite.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "canary"},
		StringData: map[string]string{
			"values.yaml": fmt.Sprintf("password: %s\nodd: %s\npin: %d\n", canary, odd, pinCanary),
			"noise":       canary + ": [ " + canary, "list": "- " + canary, "word": canary, "path": "{" + canary,
		},
	}))
	for _, value := range []string{canary, oddCanary, fmt.Sprint(pinCanary), ownCanary, urlCanary, "Yp4VoglA", "Wm81BirdQ"} {
		suite.canaries.Add("a canary of TestCanary", value)
	}
	return valuesOf("values.yaml", "")
}

func valuesOf(key, path string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: "Secret", Name: "canary", ValuesKey: key, TargetPath: path})
	}
}

// noCanary fails if the suite has published a value of a Secret.
func (w *world) noCanary() {
	w.t.Helper()
	leaks, err := suite.canaries.Leaks(w.t.Context())
	w.must(err)
	for _, leak := range leaks {
		w.t.Error(leak)
	}
	for _, sort := range []string{"Secret", "HelmRelease", "Event", "metric", "log"} {
		if suite.canaries.Seen(sort) == 0 {
			w.t.Errorf("there is no %s to look through", sort)
		}
	}
}

// fails waits until a release reports a failure.
func (w *world) fails(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.until(hr, "a failure", func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, helmv2.ConditionReady)
		return c.Status == metav1.ConditionFalse && c.Reason != helmv2.ReasonDependencyNotReady
	})
}

type told struct {
	files map[string]string
	edit  func(*helmv2.HelmRelease)
}

// sampledCanaries are the telling charts of short runs: one for each part of the product that quotes
// values.
var sampledCanaries = []string{"fail", "schema", "noise", "own", "patch-test", "cel-key"}

// tellingCharts are releases whose failures have messages that quote values.
func tellingCharts() map[string]told {
	usual := valuesOf("values.yaml", "")
	typed := `{"properties":{"password":{"pattern":"^x$"},"odd":{"enum":["a"]},"pin":{"maximum":5}}}`
	formats := `{"properties":{"password":{"const":"x","maxLength":2},"odd":{"format":"date-time","type":"integer"},"pin":{"multipleOf":1000,"type":"string"}},"additionalProperties":false,"not":{"required":["pin"]}}`
	one := func(template string) map[string]string { return map[string]string{"templates/a.yaml": template} }
	all := map[string]told{
		"fail":     {one(`{{ fail (print .Values.password .Values.odd) }}`), usual},
		"quoted":   {one(`{{ fail (quote .Values.odd) }}`), usual},
		"json":     {one(`{{ fail (toJson .Values) }}`), usual},
		"pretty":   {one(`{{ fail (toPrettyJson .Values) }}`), usual},
		"dump":     {one(`{{ fail (printf "%#v %+q" .Values .Values.odd) }}`), usual},
		"pin":      {one(`{{ fail (print .Values.pin) }}`), usual},
		"encoded":  {one(`{{ fail (print "user:" .Values.password ":x" | b64enc) }}`), usual},
		"query":    {one(`{{ fail (urlquery .Values.odd) }}`), usual},
		"field":    {one(`{{ .Values.password.x.y }}`), usual},
		"include":  {one(`{{ include .Values.password . }}`), usual},
		"regex":    {one(`{{ mustRegexMatch (print .Values.password "(") "x" }}`), usual},
		"parse":    {one(`{{ tpl (print .Values.odd "{{ " .Values.password) . }}`), usual},
		"inside":   {one(`{{ tpl (print "{{ fail \"x\" }}" .Values.odd) . }}`), usual},
		"function": {one(`{{ mustFromJson .Values.odd }}{{ mustToDate "2006" .Values.password }}`), usual},
		"date":     {one(`{{ mustToDate "2006" .Values.password }}`), usual},
		"yaml":     {one(cm + "data: { {{ .Values.password }}: [\n"), usual},
		"kind":     {one("apiVersion: v1\nkind: {{ .Values.password }}\nmetadata: {name: x}\n"), usual},
		"name":     {one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.odd | quote }}}\n"), usual},
		"secret":   {one("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {k: {{ .Values.odd | quote }}, l: {{ .Values.password }}}\n"), usual},
		"type":     {one("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: {{ .Values.password }}}]}\n"), usual},
		"label":    {one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a: {{ print .Values.password \" no label\" | b64enc | quote }}}}\n"), usual},
		"own":      {one("apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {a: \"" + ownCanary + " \"}}\nstringData: {k: " + ownCanary + "}\n"), usual},
		"schema":   {map[string]string{"templates/a.yaml": cm, "values.schema.json": typed}, usual},
		"formats":  {map[string]string{"templates/a.yaml": cm, "values.schema.json": formats}, usual},
		"noise":    {one(cm), valuesOf("noise", "")},
		"list":     {one(cm), valuesOf("list", "")},
		"word":     {one(`{{ fail .Values.a.b }}`), valuesOf("word", "a.b")},
		"path":     {one(cm), valuesOf("path", "a.b")},
		"wanted":   {one(cm), func(hr *helmv2.HelmRelease) { usual(hr); valuesOf("word", "password.x")(hr) }},
	}
	// Post-renderers change objects that have the values in them.
	data := cm + "data: {k: {{ .Values.password | quote }}, o: {{ .Values.odd | quote }}}\n"
	for name, patch := range map[string]string{
		"patch-test":  "- {op: test, path: /data/k, value: other}\n",
		"patch-gone":  "- {op: remove, path: /data/none}\n",
		"patch-child": "- {op: add, path: /data/k/x/y, value: 1}\n",
		"patch-copy":  "- {op: move, from: /data/o, path: /data/o/x}\n",
		"patch-list":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {k: [{$patch: delete}]}\n",
	} {
		all[name] = told{one(data), func(hr *helmv2.HelmRelease) {
			usual(hr)
			hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
				Patch: patch, Target: &helmv2.Selector{Kind: "ConfigMap"},
			}}}}}
		}}
	}
	// Health check expressions are evaluated on objects with the values.
	for name, rule := range map[string]string{
		"cel-int": "int(data.k) > 0", "cel-time": "timestamp(data.k) > timestamp(data.o)", "cel-duration": "duration(data.o) > duration('1s')",
		"cel-regex": "'x'.matches(data.k + '(')", "cel-key": "{'a': 1}[data.k] == 1", "cel-failed": "data.k == 'x'",
	} {
		all[name] = told{one(data), func(hr *helmv2.HelmRelease) {
			usual(hr)
			hr.Spec.Timeout = &metav1.Duration{Duration: 2 * time.Second}
			hr.Spec.HealthCheckExprs = []helmv2.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: rule}}
		}}
	}
	return all
}

// TestCanary: values of Secrets are in no status, event, log or metric, with any failure.
func TestCanary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.aCanary()
	for name, tc := range tellingCharts() {
		if testing.Short() && !slices.Contains(sampledCanaries, name) {
			continue
		}
		w.publish(name, "1.0.0", pack(t, "bird", "1.0.0", tc.files))
		w.fails(w.release(name, nil, tc.edit))
	}
	// The password of a URL, and of one that a server sends on to.
	archive := configMapChart(t, "9.9.9")
	for name, url := range map[string]string{
		"url": "http://bird:" + urlCanary + "@127.0.0.1:1/a.tgz?sig=" + urlCanary, "scheme": "ftp://bird:" + urlCanary + "@x/",
		"noise-url": "http://bird:" + urlCanary + "@%zz", "port-url": "http://bird:" + urlCanary + "@127.0.0.1:bird/?t=" + urlCanary,
		"token-url": "http://" + urlCanary + "@127.0.0.1:1/a.tgz#" + urlCanary,
		"to":        w.server.URL + "/to", "to-scheme": w.server.URL + "/to-scheme", "to-noise": w.server.URL + "/to-noise", "to-error": w.server.URL + "/to-error",
	} {
		w.offer(name, fluxmeta.Artifact{URL: url, Digest: digest.FromBytes(archive).String(), Revision: "1.0.0@" + digest.FromBytes(archive).String(), LastUpdateTime: metav1.Now()})
	}
	w.setAnswer(func(rw http.ResponseWriter, req *http.Request) {
		to := map[string]string{
			"/to": "http://bird:" + urlCanary + "@127.0.0.1:1/x?sig=" + urlCanary, "/to-scheme": "ftp://bird:" + urlCanary + "@x/?sig=" + urlCanary,
			"/to-noise": "http://bird:" + urlCanary + "@%zz?sig=" + urlCanary,
		}[req.URL.Path]
		if to == "" {
			http.Error(rw, urlCanary, http.StatusForbidden)
			return
		}
		rw.Header().Set("Location", to)
		rw.WriteHeader(http.StatusFound)
	})
	for _, name := range []string{"url", "scheme", "noise-url", "port-url", "token-url", "to", "to-scheme", "to-noise", "to-error"} {
		if testing.Short() && name != "url" && name != "to" {
			continue
		}
		w.untilSays(w.release(name, nil), helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "Could not load chart")
	}
	w.noCanary()
}

// TestCanaryInKubeconfigs: contents of a kubeconfig are not published.
func TestCanaryInKubeconfigs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.aCanary()
	w.publish("near", "1.0.0", configMapChart(t, "1.0.0"))
	config := func(cluster, user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {" +
			cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	}
	unreachable := "server: 'https://127.0.0.1:1'"
	for name, content := range map[string]string{
		"noise": "users: [" + canary, "word": canary, "list": "- " + canary,
		"typed":    config(unreachable, "token: {"+canary+": 1}"),
		"key":      config(unreachable, "client-key-data: "+canary+", client-certificate-data: "+canary),
		"pair":     config(unreachable, "client-key-data: "+ownEncoded+", client-certificate-data: "+ownEncoded),
		"token":    config(unreachable, "token: "+canary),
		"header":   config(unreachable, `token: "`+canary+`\n`+canary+`"`),
		"basic":    config(unreachable, "username: bird, password: "+canary),
		"exec":     config(unreachable, "exec: {command: /bin/false, args: ["+canary+"], env: [{name: A, value: "+canary+"}], apiVersion: client.authentication.k8s.io/v1}"),
		"provider": config(unreachable, "auth-provider: {name: "+canary+", config: {a: "+canary+"}}"),
		"file":     config(unreachable, "tokenFile: /nowhere/"+canary),
		"server":   config("server: 'https://bird:"+urlCanary+"@127.0.0.1:1'", "token: "+canary),
		"proxy":    config(unreachable+", proxy-url: 'http://bird:"+urlCanary+"@127.0.0.1:1'", "token: "+canary),
		"proxied":  config(unreachable+", proxy-url: 'odd://bird:"+urlCanary+"@127.0.0.1:1'", "token: "+canary),
		"no-proxy": config(unreachable+", proxy-url: 'http://bird:"+urlCanary+"@%zz'", "token: "+canary),
	} {
		if testing.Short() && name != "noise" && name != "token" && name != "proxy" {
			continue
		}
		w.must(suite.client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: map[string]string{"value": content},
		}))
		hr := w.release("far-"+name, nil, func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef.Name = "near"
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: name}}
		})
		w.fails(hr)
		// The cluster is unreachable, so the release cannot be uninstalled.
		hr.Finalizers = nil
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	}
	w.noCanary()
}

// deny has the API server deny writes of some operations in the namespace, with
// warnings, both of which quote the object that is denied.
func (w *world) deny(operations ...admissionregistrationv1.OperationType) {
	w.t.Helper()
	w.denyWith(func(object string) string { return object }, operations...)
}

// denyWith is deny with another text about the denied object.
func (w *world) denyWith(quote func(object string) string, operations ...admissionregistrationv1.OperationType) {
	w.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var review admissionv1.AdmissionReview
		if err != nil || json.Unmarshal(body, &review) != nil {
			http.Error(rw, "what?", http.StatusBadRequest)
			return
		}
		object := string(review.Request.Object.Raw) + string(review.Request.OldObject.Raw)
		var kind metav1.TypeMeta
		_ = json.Unmarshal([]byte(object), &kind)
		// Helm's records and the namespace's own objects are none of it.
		allowed := strings.Contains(object, "helm.sh/release.v1") || strings.Contains(object, "kube-root-ca.crt")
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allowed}
		if !allowed {
			review.Response.Result = &metav1.Status{Message: "not like this: " + quote(object)}
			review.Response.Warnings = []string{quote(object)}
		}
		review.Request = nil
		_ = json.NewEncoder(rw).Encode(review)
	}))
	w.t.Cleanup(server.Close)
	policy, none, seconds := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(10)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "quoting.example.com", FailurePolicy: &policy, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: pemOf(server.Certificate())},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: operations,
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"", "apps", "batch"}, APIVersions: []string{"*"}, Resources: []string{"secrets", "configmaps", "jobs"}},
			}},
		}},
	}
	w.must(suite.client.Create(w.t.Context(), hook))
	w.t.Cleanup(func() { w.allow() })
	// The API server needs some time to apply the configuration everywhere.
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe", Annotations: map[string]string{"a": "b"}}}
	untilTrue(w, "the webhook to deny", func() bool {
		err := w.tryProbe(probe, operations[0])
		return err != nil && strings.Contains(err.Error(), "not like this")
	})
}

func (w *world) tryProbe(probe *corev1.ConfigMap, operation admissionregistrationv1.OperationType) error {
	w.t.Helper()
	if operation == admissionregistrationv1.Create {
		return suite.client.Create(w.t.Context(), probe.DeepCopy(), client.DryRunAll)
	}
	err := suite.client.Create(w.t.Context(), probe.DeepCopy())
	w.must(client.IgnoreAlreadyExists(err))
	if operation == admissionregistrationv1.Delete {
		return suite.client.Delete(w.t.Context(), probe.DeepCopy(), client.DryRunAll)
	}
	changed := probe.DeepCopy()
	changed.Data = map[string]string{"k": now()}
	return suite.client.Update(w.t.Context(), changed, client.DryRunAll)
}

func now() string { return fmt.Sprint(time.Now().UnixNano()) }

// allow ends deny.
func (w *world) allow() {
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	_ = suite.client.Delete(w.t.Context(), hook)
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// quotable is a chart whose objects and hook contain values of Secrets.
func quotable(t *testing.T, version string) []byte {
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: work, annotations: {helm.sh/hook: pre-rollback}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/none, env: [{name: A, value: {{ .Values.password }}}, {name: B, value: {{ .Values.odd | quote }}}]}]}}}\n"
	return pack(t, "bird", version, map[string]string{
		"templates/a.yaml": cm + "data: {k: {{ .Values.password }}, o: {{ .Values.odd | quote }}, v: " + version + "}\n",
		"templates/b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: {{ .Values.password }}, l: " + ownCanary + ", o: {{ .Values.odd | quote }}, v: " + version + "}\n",
		"templates/j.yaml": job,
	})
}

// TestCanaryInDenials: values that an admission webhook quotes are redacted.
func TestCanaryInDenials(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	usual := w.aCanary()
	w.publish("bird", "1.0.0", quotable(t, "1.0.0"))

	w.deny(admissionregistrationv1.Create)
	early := w.release("early", nil, usual, expires, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "bird" })
	w.untilSays(early, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDryRunDenied, "not like this")
	w.edit(early, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	// A retry that runs ends first.
	w.untilObserved(early)
	w.allow()

	hr := w.release("bird", nil, usual, expires, detecting(helmv2.DriftDetectionWarn))
	w.untilReady(hr)
	// A Job that is denied, of a hook with values in it.
	w.deny(admissionregistrationv1.Create)
	op := w.operate(hr, "denied", func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = "work" })
	w.untilBlocked(op, opsv1alpha1.ReasonJobRefused, "not like this")
	w.allow()
	w.succeed(op)
	w.tidy(op)
	// Drift that is reported and cannot be corrected.
	live := w.configMap("x")
	live.Data["k"], live.Data["o"] = "changed", strings.Repeat("long ", 23)+"and "+oddCanary+canary
	w.must(suite.client.Update(t.Context(), live))
	w.untilSays(hr, helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected)
	w.deny(admissionregistrationv1.Update)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.DriftDetection.Mode = helmv2.DriftDetectionEnabled })
	w.untilEventText(hr, "not like this")
	// An upgrade, its rollback, and the end.
	w.publish("bird", "2.0.0", quotable(t, "2.0.0"))
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Upgrade.Remediation = &helmv2.UpgradeRemediation{Retries: 0, RemediateLastFailure: new(bool)}
		*hr.Spec.Upgrade.Remediation.RemediateLastFailure = true
	})
	w.untilEventText(hr, "Helm upgrade failed")
	w.allow()
	w.deny(admissionregistrationv1.Delete)
	w.remove(hr)
	w.untilEventText(hr, "Helm uninstall failed")
	w.quiet(hr)
	w.noCanary()
	w.allow()
}

// untilEventText waits for an event about a release that contains a text.
func (w *world) untilEventText(hr *helmv2.HelmRelease, text string) {
	w.t.Helper()
	var all corev1.EventList
	untilTrue(w, "an event of "+hr.Name+" that says "+text, func() bool {
		w.must(suite.client.List(w.t.Context(), &all, client.InNamespace(w.namespace)))
		return slices.ContainsFunc(all.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == hr.Name && strings.Contains(e.Message, text)
		})
	}, w.allEvents())
}

// TestCanaryInAddresses: a password or token in the address of notifications is not published.
func TestCanaryInAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.aCanary()
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	for _, url := range []string{
		"http://bird:" + urlCanary + "@127.0.0.1:1/hook?token=" + urlCanary, "http://bird:" + urlCanary + "@%zz", "odd://" + urlCanary + "@127.0.0.1/",
		"http://bird:" + urlCanary + "@" + w.server.Listener.Addr().String() + "/" + urlCanary,
	} {
		sender := events.NewSender(t.Context(), events.Options{
			URL: url, Controller: "c", Instance: "i", Flush: 300 * time.Millisecond, Observer: m, Now: time.Now,
			Log: ctrl.Log.WithValues("test", w.namespace),
		})
		sender.Send(eventv1.Event{Message: "something"})
		sender.Close()
	}
	w.noCanary()
}
