// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
)

// TestDenials: the denials of the API server of today, with those of its admission plugins, are
// those that the classifier expects. Rights, validation and the range of ports are none.
func TestDenials(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, metav1.ObjectMeta{GenerateName: "it-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}})
	w.answering()
	w.denying()
	held := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "held"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.must(suite.client.Create(t.Context(), held))
	at := "/api/v1/namespaces/" + w.namespace + "/"
	post := func(kind, body string) rawRequest {
		return rawRequest{method: http.MethodPost, path: at + kind + "?dryRun=All", kind: "application/json", body: body}
	}
	service := func(spec string, args ...any) rawRequest {
		// A dry run checks neither addresses nor the range of ports.
		r := post("services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"other"},"spec":{"type":"NodePort",`+fmt.Sprintf(spec, args...)+`}}`)
		r.path = strings.TrimSuffix(r.path, "?dryRun=All")
		return r
	}
	pod := func(name, fields string) rawRequest {
		return post("pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":{`+fields+`"containers":[{"name":"c","image":"example.com/none"}]}}`)
	}
	configMap := func(name string) rawRequest {
		return post("configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
	}
	unprivileged := configMap("a")
	unprivileged.header = map[string]string{"Impersonate-User": "unprivileged"}
	for name, tc := range map[string]struct {
		request rawRequest
		class   apiretry.Class
		want    apiretry.Denial
	}{
		"DeniedByWebhook":     {configMap("denied"), apiretry.Answered, apiretry.DeniedByWebhook},
		"DeniedByPolicy":      {configMap("policed"), apiretry.Answered, apiretry.DeniedByPolicy},
		"DeniedByPodSecurity": {pod("a", `"hostNetwork":true,`), apiretry.Denied, apiretry.DeniedByPodSecurity},
		"DeniedByQuota":       {configMap("many"), apiretry.Denied, apiretry.DeniedByQuota},
		"DeniedByLimits":      {pod("b", ""), apiretry.Denied, apiretry.DeniedByLimits},
		"DeniedPort":          {service(`"ports":[{"port":80,"nodePort":%d}]`, held.Spec.Ports[0].NodePort), apiretry.Answered, apiretry.DeniedByAllocation},
		"DeniedAddress":       {service(`"clusterIP":%q,"ports":[{"port":80}]`, held.Spec.ClusterIP), apiretry.Answered, apiretry.DeniedByAllocation},
		"PortOutOfRange":      {service(`"ports":[{"port":80,"nodePort":80}]`), apiretry.Answered, apiretry.NoDenial},
		"NoPort":              {service(`"ports":[{"port":0}]`), apiretry.Answered, apiretry.NoDenial},
		"NoRight":             {unprivileged, apiretry.Denied, apiretry.NoDenial},
	} {
		answer, raw := w.sendRaw(tc.request)
		if got := apiretry.DenialOf(answer); got != tc.want || apiretry.Classify(answer) != tc.class {
			t.Errorf("%s: %s is denial %d of class %d, want %d and %d", name, raw, got, apiretry.Classify(answer), tc.want, tc.class)
		}
		w.recordAnswer(name, tc.class, raw)
	}
}

// denying makes quotas for Pods and ConfigMaps, and a policy against ConfigMaps of a name.
func (w *world) denying() {
	w.t.Helper()
	ctx, at := w.t.Context(), metav1.ObjectMeta{Namespace: w.namespace, Name: "default"}
	w.must(client.IgnoreAlreadyExists(suite.client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: at})))
	for name, hard := range map[corev1.ResourceName]string{corev1.ResourceLimitsCPU: "1", "count/configmaps": "0"} {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "quota-"}}
		quota.Spec.Hard = corev1.ResourceList{name: resource.MustParse(hard)}
		w.must(suite.client.Create(ctx, quota))
		// Without a controller, no quota has a status.
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{name: resource.MustParse("0")}
		w.must(suite.client.Status().Update(ctx, quota))
	}
	w.forbid("policed", "not this one")
	untilTrue(w, "many to be denied", func() bool { return w.denialOf("many") == apiretry.DeniedByQuota })
}

// forbid makes a policy against the creation of ConfigMaps of a name.
func (w *world) forbid(name, why string) {
	w.t.Helper()
	ctx := w.t.Context()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "object.metadata.name != '" + name + "'", Message: why}}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}}},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	binding.Spec.PolicyName = w.namespace
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	for _, o := range []client.Object{policy, binding} {
		w.must(suite.client.Create(ctx, o))
		w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), o) })
	}
	untilTrue(w, name+" to be denied", func() bool { return w.denialOf(name) == apiretry.DeniedByPolicy })
}

// denialOf returns how the API server denies a ConfigMap.
func (w *world) denialOf(name string) apiretry.Denial {
	w.t.Helper()
	answer, _ := w.sendRaw(rawRequest{
		method: http.MethodPost, path: "/api/v1/namespaces/" + w.namespace + "/configmaps?dryRun=All", kind: "application/json",
		body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`,
	})
	return apiretry.DenialOf(answer)
}

// untilDeferred waits until dry runs have denied the install or upgrade of a release, and checks that
// nothing was changed or counted.
func (w *world) untilDeferred(hr *helmv2.HelmRelease, revisions int, texts ...string) {
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonDryRunDenied, append(texts, "Nothing was changed", "has no dry run")...)
	if s := hr.Status; s.Failures+s.InstallFailures+s.UpgradeFailures > 0 {
		w.t.Errorf("a denial counts as %d, %d, %d failures", s.Failures, s.InstallFailures, s.UpgradeFailures)
	}
	if n := len(w.stored(hr.Name)); n != revisions {
		w.t.Errorf("%d revisions are stored", n)
	}
	if condition(hr, helmv2.ConditionStalled).Type != "" {
		w.t.Errorf("the release is stalled: %+v", hr.Status.Conditions)
	}
	w.untilEvent(hr, corev1.EventTypeWarning, helmv2.ReasonDryRunDenied, texts...)
}

// again requests the next attempt of a release, which would follow by itself.
func (w *world) again(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: now()}
	})
}

// portsOfTwo are two Services, of which each may have a node port.
const portsOfTwo = `{{ range $name, $port := .Values.ports }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
spec:
  type: {{ if $port }}NodePort{{ else }}ClusterIP{{ end }}
  selector: {app: none}
  ports:
    - {port: 80{{ if and $port (ne (int $port) 1) }}, nodePort: {{ $port }}{{ end }}}
{{ end }}
`

// TestNodePortMoves: a node port moves from one Service of the release to another in one upgrade. A
// port that the API server has chosen is in no manifest, so that the dry run of the Service that gets
// it is denied first.
func TestNodePortMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/services.yaml": portsOfTwo}))
	hr := w.release("app", values("ports", values("a", 0, "b", 1)), func(hr *helmv2.HelmRelease) {
		hr.Spec.Install, hr.Spec.Upgrade = &helmv2.Install{DisableWait: true}, &helmv2.Upgrade{DisableWait: true}
	})
	w.untilReady(hr)
	portOf := func(name string) int32 {
		var s corev1.Service
		w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &s))
		return s.Spec.Ports[0].NodePort
	}
	port := portOf("b")
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(t, values("ports", values("a", port, "b", 0)))
	})
	w.untilDeferred(hr, 1, "Service/"+w.namespace+"/a: ", "provided port is already allocated")
	w.again(hr)
	w.untilReady(hr)
	if portOf("a") != port || portOf("b") != 0 || newest(hr) != 2 {
		t.Errorf("in revision %d, the ports are %d and %d, not %d and 0", newest(hr), portOf("a"), portOf("b"), port)
	}

	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(t, values("ports", values("a", 0, "b", port)))
	})
	w.until(hr, "revision 3", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 3 })
	w.untilReady(hr)
	if portOf("a") != 0 || portOf("b") != port {
		t.Errorf("the ports are %d and %d, not 0 and %d", portOf("a"), portOf("b"), port)
	}
	var denials int
	var events corev1.EventList
	w.must(suite.client.List(t.Context(), &events, client.InNamespace(w.namespace)))
	for i := range events.Items {
		if events.Items[i].Reason == helmv2.ReasonDryRunDenied {
			denials++
		}
	}
	if denials != 1 {
		t.Errorf("%d denials, also of the port that the release itself frees", denials)
	}
}

// TestDeniedByWebhook: a webhook that denies dry runs, or an object that needs another one of the same
// release, denies the first attempt only. If it also denies the second one, that is a failure.
func TestDeniedByWebhook(t *testing.T) {
	t.Parallel()
	const pair = "{{ range list \"app\" \"first\" \"second\" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ . }}}\n{{ end }}\n"
	for name, tc := range map[string]struct {
		denies func(r *admissionv1.AdmissionRequest, first bool) string
		fails  bool
		texts  []string
	}{
		"DryRuns": {func(r *admissionv1.AdmissionRequest, _ bool) string {
			if ptr.Deref(r.DryRun, false) {
				return "rehearsals are not for me"
			}
			return ""
		}, false, []string{"/app: ", "/first: ", "/second: ", "denied the request: rehearsals are not for me"}},
		"Others": {func(r *admissionv1.AdmissionRequest, first bool) string {
			if r.Name == "second" && !first {
				return "it needs first"
			}
			return ""
		}, false, []string{"/second: ", "denied the request: it needs first"}},
		"Always": {func(r *admissionv1.AdmissionRequest, _ bool) string {
			if r.Name == "second" {
				return "never"
			}
			return ""
		}, true, []string{"/second: ", "denied the request: never"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.judge(tc.denies)
			w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/pair.yaml": pair}))
			hr := w.release("app", nil)
			w.untilDeferred(hr, 0, tc.texts...)
			w.again(hr)
			if !tc.fails {
				w.untilReady(hr)
				return
			}
			w.untilSays(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonInstallFailed, "cannot apply ConfigMap/"+w.namespace+"/second: ", "never")
			w.untilEvent(hr, corev1.EventTypeWarning, helmv2.ReasonInstallFailed, "never")
			if hr.Status.InstallFailures != 1 || len(w.stored("app")) != 1 {
				t.Errorf("%d failures, %d revisions", hr.Status.InstallFailures, len(w.stored("app")))
			}
		})
	}
}

// judge makes a webhook for the ConfigMaps of the namespace. denies returns why a request is denied,
// empty if it is not. first is true once ConfigMap first was created.
func (w *world) judge(denies func(r *admissionv1.AdmissionRequest, first bool) string) {
	w.t.Helper()
	var first, called atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		why := ""
		if r := review.Request; r.Name == "probe" {
			called.Store(true)
		} else if !strings.HasPrefix(r.Name, "kube-root-ca") {
			why = denies(r, first.Load())
			if r.Name == "first" && why == "" && !ptr.Deref(r.DryRun, false) {
				first.Store(true)
			}
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: why == ""}
		if why != "" {
			review.Response.Result = &metav1.Status{Message: why}
		}
		review.Request = nil
		_ = json.NewEncoder(rw).Encode(review)
	}))
	w.t.Cleanup(server.Close)
	none := admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "judge.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: pemOf(server.Certificate())},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	w.must(suite.client.Create(w.t.Context(), hook))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), hook) })
	// API servers learn of webhooks a little later.
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
	untilTrue(w, "the webhook to be called", func() bool {
		w.must(suite.client.Create(w.t.Context(), probe.DeepCopy(), client.DryRunAll))
		return called.Load()
	})
}
