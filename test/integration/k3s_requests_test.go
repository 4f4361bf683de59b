// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// requestLog has the requests of a controller with its own identity in some namespaces. Watches and
// events are left out.
type requestLog struct {
	mu   sync.Mutex
	seen map[string][]string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		l.record(req)
		return next.RoundTrip(req)
	})
}

func (l *requestLog) record(req *http.Request) {
	_, path, _ := strings.Cut(req.URL.Path, "/namespaces/")
	namespace, object, _ := strings.Cut(path, "/")
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, wanted := l.seen[namespace]; wanted && req.Header.Get("Impersonate-User") == "" && req.URL.Query().Get("watch") == "" && !strings.HasPrefix(object, "events") {
		what := req.Method + " " + object
		if by := req.URL.Query().Get("fieldManager"); by != "" {
			what += " by " + by
		}
		l.seen[namespace] = append(l.seen[namespace], what)
	}
}

// take returns the requests in a namespace since the last call, sorted. It records those that follow.
func (l *requestLog) take(namespace string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.seen[namespace]
	l.seen[namespace] = []string{}
	slices.Sort(all)
	return all
}

// TestK3sRequests: what a HelmChart costs beside its HelmRelease, which docs/spec/helmcharts.md states.
func TestK3sRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("helm-web", "configmaps", "secrets")
	w.must(suite.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shown"}, StringData: map[string]string{"v": "message: secret"}}))
	suite.requests.take(w.namespace)
	c := w.k3sChart("web", "chart: oci://registry.example/charts/note\nversion: 1.0.0\nfailurePolicy: abort\nvalues: {a: 1}\nvaluesSecrets: [{name: shown, keys: [v]}]")
	hr := w.madeFor(c)
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	// settled returns all requests, and the writes of objects that the HelmChart owns.
	settled := func() (all, writes []string) {
		w.t.Helper()
		w.quiet(hr)
		w.quiet(c)
		all = suite.requests.take(w.namespace)
		t.Logf("%d requests: %q", len(all), all)
		for _, request := range all {
			if made, is := strings.CutSuffix(request, " by pintle-helmcharts"); is && !strings.Contains(made, "/status") {
				writes = append(writes, made)
			}
		}
		return all, writes
	}
	const release, secret = "PATCH helmreleases/web", "PATCH secrets/helmchart-web"
	w.untilRevision(hr, 1)
	w.untilChart(c, cattlev1.ConditionReady, metav1.ConditionTrue, "")
	all, writes := settled()
	if want := []string{release, "PATCH ocirepositories/web", secret}; !slices.Equal(writes, want) || len(all) > 35 {
		t.Errorf("the installation has sent %d requests, and written %q", len(all), writes)
	}
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Labels = map[string]string{"a": "b"} })
	if all, _ := settled(); len(all) > 0 {
		t.Errorf("at rest: %q", all)
	}
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.Values.Raw = []byte(`{"a":2}`) })
	w.untilRevision(hr, 2)
	all, writes = settled()
	if want := []string{release, secret}; !slices.Equal(writes, want) || len(all) > 25 {
		t.Errorf("the upgrade has sent %d requests, and written %q", len(all), writes)
	}
	// Neither the HelmChart nor the HelmRelease changes.
	shown := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shown"}}
	w.present(shown)
	shown.StringData = map[string]string{"v": "message: changed"}
	w.must(suite.client.Update(t.Context(), shown))
	w.untilRevision(hr, 3)
	if all, writes := settled(); len(writes) > 0 || len(all) > 15 {
		t.Errorf("the change of a Secret has sent %d requests, and written %q", len(all), writes)
	}
}
