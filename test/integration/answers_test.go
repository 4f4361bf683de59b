// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// recordAnswers makes TestAnswers write the API server's answers for the unit test of the
// classifier.
var recordAnswers = flag.Bool("record-answers", false, "write the answers of the API server to internal/apiretry/testdata")

const recordedAnswers = "../../internal/apiretry/testdata/answers.json"

// rawRequest is a request whose answer is classified.
type rawRequest struct {
	method, path, kind, body string
	header                   map[string]string
	want                     apiretry.Class
}

// TestAnswers: the API server of today answers as the classifier expects.
func TestAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const (
		apply = "application/apply-patch+yaml"
		plain = "application/json"
	)
	configMaps := "/api/v1/namespaces/" + w.namespace + "/configmaps"
	secrets := "/api/v1/namespaces/" + w.namespace + "/secrets"
	configMap := func(name, rest string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}` + rest + `}`
	}
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "there"}}))
	w.answering()
	for name, a := range map[string]rawRequest{
		"UnknownField":       {http.MethodPatch, configMaps + "/a?fieldManager=m", apply, configMap("a", `,"nope":{"a":"b"}`), nil, apiretry.Answered},
		"WrongType":          {http.MethodPatch, configMaps + "/a?fieldManager=m", apply, configMap("a", `,"data":{"a":{"b":"c"}}`), nil, apiretry.Answered},
		"NoBase64":           {http.MethodPatch, secrets + "/s?fieldManager=m", apply, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"a:b"}}`, nil, apiretry.Answered},
		"NoNumber":           {http.MethodPatch, configMaps + "/n?fieldManager=m", apply, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","generation":"x"}}`, nil, apiretry.Answered},
		"NoQuantity":         {http.MethodPatch, strings.TrimSuffix(configMaps, "configmaps") + "resourcequotas/q?fieldManager=m", apply, `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"x"}}}`, nil, apiretry.Answered},
		"NoTime":             {http.MethodPatch, configMaps + "/t?fieldManager=m", apply, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t","creationTimestamp":"x"}}`, nil, apiretry.Answered},
		"AlreadyExists":      {http.MethodPost, configMaps, plain, configMap("there", ""), nil, apiretry.Answered},
		"StaleVersion":       {http.MethodPut, configMaps + "/there", plain, strings.Replace(configMap("there", ""), `"name"`, `"resourceVersion":"1","name"`, 1), nil, apiretry.Conflict},
		"PatchTestFails":     {http.MethodPatch, configMaps + "/there", "application/json-patch+json", `[{"op":"test","path":"/metadata/resourceVersion","value":"1"}]`, nil, apiretry.Answered},
		"OtherManager":       {http.MethodPatch, configMaps + "/owned?fieldManager=m", apply, configMap("owned", `,"data":{"a":"m"}`), nil, apiretry.Answered},
		"NotFound":           {http.MethodGet, configMaps + "/none", "", "", nil, apiretry.Answered},
		"NoSuchKind":         {http.MethodGet, "/apis/none.example.com/v1/things", "", "", nil, apiretry.Answered},
		"Invalid":            {http.MethodPost, configMaps, plain, configMap("A_B", ""), nil, apiretry.Answered},
		"BadRequest":         {http.MethodPost, configMaps, plain, "{", nil, apiretry.Answered},
		"MethodNotAllowed":   {http.MethodPost, configMaps + "/there", plain, configMap("there", ""), nil, apiretry.Answered},
		"UnsupportedMedia":   {http.MethodPatch, configMaps + "/there", "text/plain", "x", nil, apiretry.Answered},
		"TooLarge":           {http.MethodPost, configMaps, plain, configMap("big", `,"data":{"a":"`+strings.Repeat("x", 4<<20)+`"}`), nil, apiretry.Answered},
		"Forbidden":          {http.MethodGet, configMaps + "/there", "", "", map[string]string{"Impersonate-User": "unprivileged"}, apiretry.Denied},
		"WebhookDenies":      {http.MethodPost, configMaps, plain, configMap("denied", ""), nil, apiretry.Answered},
		"WebhookUnreachable": {http.MethodPost, configMaps, plain, configMap("unreachable", ""), nil, apiretry.WebhookUnreachable},
		"WebhookFails":       {http.MethodPost, configMaps, plain, configMap("failing", ""), nil, apiretry.WebhookUnreachable},
	} {
		answer, raw := w.sendRaw(a)
		if got := apiretry.Classify(answer); got != a.want {
			t.Errorf("%s: %s is of class %d, want %d", name, raw, got, a.want)
		}
		w.recordAnswer(name, a.want, raw)
	}
}

// sendRaw sends a request past all that repeats requests.
func (w *world) sendRaw(a rawRequest) (apiretry.Answer, []byte) {
	w.t.Helper()
	client, err := rest.HTTPClientFor(suite.config)
	w.must(err)
	req, err := http.NewRequestWithContext(w.t.Context(), a.method, strings.TrimSuffix(suite.config.Host, "/")+a.path, strings.NewReader(a.body))
	w.must(err)
	if a.kind != "" {
		req.Header.Set("Content-Type", a.kind)
	}
	for key, value := range a.header {
		req.Header.Set(key, value)
	}
	resp, err := client.Do(req)
	w.must(err)
	defer resp.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(resp.Body)
	w.must(err)
	status := metav1.Status{}
	if err := json.Unmarshal(raw, &status); err != nil {
		status.Message = string(raw)
	}
	status.Code = int32(resp.StatusCode)
	raw, err = json.Marshal(status)
	w.must(err)
	return apiretry.AnswerOf(&apierrors.StatusError{ErrStatus: status}), raw
}

// recordAnswer stores an answer for the unit test if the flag is set.
func (w *world) recordAnswer(name string, class apiretry.Class, raw []byte) {
	w.t.Helper()
	if !*recordAnswers {
		return
	}
	type recorded struct {
		Name  string          `json:"name"`
		Class apiretry.Class  `json:"class"`
		Said  json.RawMessage `json:"answer"`
	}
	var all []recorded
	if was, err := os.ReadFile(recordedAnswers); err == nil {
		w.must(json.Unmarshal(was, &all))
	}
	all = slices.DeleteFunc(all, func(r recorded) bool { return r.Name == name })
	raw = bytes.ReplaceAll(raw, []byte(w.namespace), []byte("prod"))
	all = append(all, recorded{name, class, raw})
	slices.SortFunc(all, func(a, b recorded) int { return strings.Compare(a.Name, b.Name) })
	written, err := json.MarshalIndent(all, "", "  ")
	w.must(err)
	w.must(os.WriteFile(recordedAnswers, append(written, '\n'), 0o600))
}

// answering makes webhooks that deny, fail or cannot be reached, each for ConfigMaps of a
// name, and a ConfigMap with a field of another manager.
func (w *world) answering() {
	w.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil || req.URL.Path == "/failing" {
			http.Error(rw, "out of order", http.StatusInternalServerError)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Code: 500, Message: "no"}}
		_ = json.NewEncoder(rw).Encode(review)
	}))
	w.t.Cleanup(server.Close)
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none := admissionregistrationv1.SideEffectClassNone
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	urls := map[string]string{"denied": server.URL + "/denied", "failing": server.URL + "/failing", "unreachable": closed.URL}
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		url := urls[name]
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: name + ".example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
			MatchConditions:   []admissionregistrationv1.MatchCondition{{Name: "name", Expression: "object.metadata.name == '" + name + "'"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		})
	}
	w.must(suite.client.Create(w.t.Context(), config))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), config) })
	at := "/api/v1/namespaces/" + w.namespace + "/configmaps"
	w.sendRaw(rawRequest{
		method: http.MethodPatch, path: at + "/owned?fieldManager=other", kind: "application/apply-patch+yaml",
		body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned"},"data":{"a":"other"}}`,
	})
	// API servers learn of webhooks a little later.
	untilTrue(w, "the webhook to be called", func() bool {
		answer, _ := w.sendRaw(rawRequest{method: http.MethodPost, path: at + "?dryRun=All", kind: "application/json", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"denied"}}`})
		return strings.Contains(answer.Message, "denied the request")
	})
}
