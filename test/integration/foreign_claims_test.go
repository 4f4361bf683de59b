// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// claims are a HelmRelease and one of another namespace that names its release "app". The records are
// in storage.
type claims struct{ victim, attacker, storage *world }

// eachStorage calls test with records in the namespace of the victim, which precedes others there, and
// with records in a third namespace.
func eachStorage(t *testing.T, test func(t *testing.T, c claims)) {
	t.Helper()
	for name, isOwn := range map[string]bool{"Own": true, "Third": false} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !isOwn {
				t.Skip("long")
			}
			t.Parallel()
			c := claims{victim: newWorld(t), attacker: newWorld(t)}
			if c.storage = c.victim; !isOwn {
				c.storage = newWorld(t)
			}
			test(t, c)
		})
	}
}

// claim makes a HelmRelease name the release of the victim.
func (c claims) claim(hr *helmv2.HelmRelease) {
	hr.Spec.ReleaseName, hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = "app", c.victim.namespace, c.storage.namespace
}

// store makes the HelmRelease of the victim store its records in storage.
func (c claims) store(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = c.storage.namespace }

func suspended(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true }

// TestForeignSpec: an older HelmRelease of another namespace that names a release, suspended and
// without any rights there, has no effect on it. Once it runs, it is the one that fails.
func TestForeignSpec(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, c claims) {
		w, attacker := c.victim, c.attacker
		attacker.account("powerless", "configmaps")
		attacker.publish("claim", "1.0.0", configMapChart(t, "1.0.0"))
		claim := attacker.release("claim", nil, c.claim, suspended, as("powerless"))
		nextSecond()
		w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
		hr := w.release("app", map[string]any{"message": "one"}, c.store)
		w.untilReady(hr)
		attacker.edit(claim, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		attacker.untilSays(claim, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, "may not read Secrets")
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "two"}) })
		w.untilReady(hr)
		if got := w.configMap("app").Data["message"]; got != "two" {
			t.Errorf("message is %q", got)
		}
		version := hr.ResourceVersion
		attacker.must(suite.client.Delete(t.Context(), claim))
		attacker.untilGone(claim)
		if w.quiet(hr); hr.ResourceVersion != version {
			t.Error("the deletion has changed the release of another namespace")
		}
	})
}

// TestForeignClaimAfterMigration: records without labels, like those of helm-controller, are those
// of the HelmRelease whose history has them. An older one of another namespace is Contested, even
// if it has all rights.
func TestForeignClaimAfterMigration(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	eachStorage(t, func(t *testing.T, c claims) {
		w, attacker := c.victim, c.attacker
		attacker.publish("claim", "1.0.0", configMapChart(t, "1.0.0"))
		claim := attacker.release("claim", map[string]any{"message": "stolen"}, c.claim, suspended)
		nextSecond()
		w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
		hr := w.release("app", map[string]any{"message": "one"}, c.store)
		w.untilReady(hr)
		for _, record := range c.storage.stored("app") {
			before := record.DeepCopy()
			delete(record.Labels, helmv2.LabelRevision)
			w.must(suite.client.Patch(t.Context(), &record, client.MergeFrom(before)))
		}
		attacker.edit(claim, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		attacker.untilSays(claim, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonContested, "HelmRelease '"+w.namespace+"/app'")
		w.edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "now"}
		})
		w.until(hr, "the request", func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == "now" })
		w.untilReady(hr)
		if n := len(c.storage.stored("app")); n != 1 || w.configMap("app").Data["message"] != "one" {
			t.Errorf("%d revisions are stored, message is %q", n, w.configMap("app").Data["message"])
		}
	})
}

// TestForeignClaimOfObject: neither a HelmRelease of another namespace nor the labels of an object
// that name it reserve the object, if no stored record contains it.
func TestForeignClaimOfObject(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w, attacker := newWorld(t), newWorld(t)
	attacker.release("ghost", nil, suspended, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName, hr.Spec.TargetNamespace = "ghost", w.namespace })
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "app",
		Labels: map[string]string{
			"app.kubernetes.io/managed-by": "Helm", helmv2.LabelName: "ghost", helmv2.LabelNamespace: attacker.namespace,
		},
		Annotations: map[string]string{helmv2.AnnotationHelmReleaseName: "ghost", helmv2.AnnotationHelmReleaseNamespace: w.namespace},
	}}))
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "mine"})
	w.untilReady(hr)
	if got := w.configMap("app").Data["message"]; got != "mine" {
		t.Errorf("message is %q", got)
	}
}

// TestRedirectingCluster: the server of a kubeconfig cannot have its requests repeated elsewhere, and
// answers of other servers are not quoted.
func TestRedirectingCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	const secret = "hunter2-of-another-service"
	var mu sync.Mutex
	var stolen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		stolen = append(stolen, r.Method+" "+r.Header.Get("Authorization"))
		http.Error(rw, secret, http.StatusForbidden)
	}))
	t.Cleanup(elsewhere.Close)
	send := func(code int, kind, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.WriteHeader(code)
			_, _ = rw.Write([]byte(body))
		}
	}
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"redirects": {func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, "answers with a redirect (307 Temporary Redirect), which is not followed"},
		"page":   {send(http.StatusForbidden, "text/html", secret), "403 Forbidden with text/html, which is no Status of Kubernetes"},
		"json":   {send(http.StatusOK, "application/json", `{"token":"`+secret+`"}`), "is no API server: it answers 200 OK with application/json"},
		"status": {send(http.StatusForbidden, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no, you\nmay not","reason":"Forbidden","code":403}`), "no, you; may not"},
	} {
		server := httptest.NewServer(tc.answer)
		t.Cleanup(server.Close)
		config := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: '" +
			server.URL + "'}}]\nusers: [{name: u, user: {token: " + secret + "}}]\n"
		w.secret(name, map[string][]byte{"value": []byte(config)}, nil)
		hr := w.release("far-"+name, nil, in(name), func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" })
		w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError, tc.says)
		for _, c := range hr.Status.Conditions {
			if strings.Contains(c.Message, secret) {
				t.Errorf("%s: %s quotes the answer: %s", name, c.Type, c.Message)
			}
		}
		// The release cannot be uninstalled there.
		w.edit(hr, suspended)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(stolen) > 0 {
		t.Errorf("repeated to another host: %q", stolen)
	}
}
