// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestPageRemote: of objects in another cluster, a viewer of the HelmRelease sees name and
// readiness, and nothing is written there. If the cluster does not answer, only names are shown.
func TestPageRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	p := w.servePages()
	there := w.secret("there", map[string][]byte{"value": kubeconfig(t, suite.config)}, nil)
	w.publish("far", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("far", map[string]any{"message": "content-of-the-object"}, in("there"))
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })

	const unanswered = "Only names are shown."
	shows := func(has, hasNot string) {
		t.Helper()
		for visitor, want := range map[string]string{viewer: ok, guest: ok, unprivileged: notFound} {
			answer, body := p.fetch(visitor, http.MethodGet, "/releases/"+w.namespace+"/far")
			// The readiness is read in three seconds, or not at all.
			for want == ok && strings.Contains(body, hasNot) {
				answer, body = p.fetch(visitor, http.MethodGet, "/releases/"+w.namespace+"/far")
			}
			if answer != want {
				t.Errorf("%s: %s", visitor, answer)
			}
			if strings.Contains(body, "content-of-the-object") || strings.Contains(body, "127.0.0.1") {
				t.Errorf("%s sees more than name and readiness:\n%s", visitor, body)
			}
			if want == ok && (!strings.Contains(body, has) || strings.Contains(body, hasNot)) {
				t.Errorf("%s does not see %q, or sees %q:\n%s", visitor, has, hasNot, body)
			}
		}
	}
	object := w.namespace + `/far <span class="state `
	shows(object+`state-good">Ready`, unanswered)
	if answer, body := p.fetch(editor, http.MethodGet, "/releases/"+w.namespace+"/far/drift"); answer != ok || !strings.Contains(body, "The objects are in another cluster") {
		t.Errorf("the comparison: %s\n%s", answer, body)
	}
	w.must(suite.client.Delete(t.Context(), w.configMap("far")))
	shows(object+`state-bad">Missing`, unanswered)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	t.Cleanup(func() { _ = silent.Close() })
	before := there.DeepCopy()
	there.Data["value"] = kubeconfig(t, &rest.Config{Host: "http://" + silent.Addr().String(), BearerToken: "none"})
	w.must(suite.client.Patch(t.Context(), there, client.MergeFrom(before)))
	shows(unanswered, object+`state-good">Ready`)

	for _, request := range p.recorder.writes() {
		if !strings.HasPrefix(request, "POST /apis/authentication.k8s.io/") && !strings.HasPrefix(request, "POST /apis/authorization.k8s.io/") {
			t.Errorf("the page sent %s", request)
		}
	}
}
