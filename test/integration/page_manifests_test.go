// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// pageWithLeastPrivilege runs the controller with only the rights of config/default and config/page,
// and reads its page as users with and without the ClusterRole of config/rbac/viewer_role.yaml.
func pageWithLeastPrivilege(t *testing.T, path string) {
	w := newWorld(t)
	least := w.withPage()
	apply(t, least)
	role := &rbacv1.ClusterRole{}
	w.must(yaml.Unmarshal(readFile(t, filepath.Join(harness.Root(), "config", "rbac", "viewer_role.yaml")), role))
	w.must(suite.client.Create(t.Context(), role))

	d := deploymentIn(t, least)
	address, err := harness.FreeAddress(t.Context())
	w.must(err)
	files := w.certificate()
	certificate := filepath.Join(files, corev1.TLSCertKey)
	p := w.run(path, d, "--ui-addr="+address, "--ui-tls-cert-file="+certificate, "--ui-tls-key-file="+filepath.Join(files, corev1.TLSPrivateKeyKey))
	w.untilServes(p, "http://"+p.health+"/readyz")
	w.untilLeads(d.Namespace)
	w.account("tenant", "configmaps", "secrets")
	w.publish("seldom", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("seldom", nil, as("tenant"))
	w.untilReady(hr)
	viewer, stranger := w.token("viewer"), w.token("stranger")
	w.must(suite.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "viewer"}},
	}))
	w.untilAllowed("system:serviceaccount:"+w.namespace+":viewer", rule(helmv2.GroupVersion.Group, []string{"helmreleases"}, []string{"get"}))
	release := "/releases/" + w.namespace + "/seldom"
	for _, tc := range []struct {
		token, route string
		code         int
		shown        bool
	}{
		{viewer, "/", http.StatusOK, true},
		{viewer, release, http.StatusOK, true},
		{stranger, "/", http.StatusOK, false},
		{stranger, release, http.StatusNotFound, false},
		{"", "/", http.StatusSeeOther, false},
		{"wrong", release, http.StatusSeeOther, false},
	} {
		code, body := w.page("https://"+address+tc.route, tc.token, certificate)
		if shown := strings.Contains(body, "seldom"); code != tc.code || shown != tc.shown {
			t.Errorf("%s with %.6q is answered by %d, and shows the release: %v; want %d, %v\n%s", tc.route, tc.token, code, shown, tc.code, tc.shown, body)
		}
	}
	w.remove(hr)
	w.lacksNoRight(p, d)
}

// withPage returns the objects of config/default with the component config/page.
func (w *world) withPage() []*unstructured.Unstructured {
	w.t.Helper()
	dir, err := filepath.EvalSymlinks(w.t.TempDir())
	w.must(err)
	config, err := filepath.Rel(dir, filepath.Join(harness.Root(), "config"))
	w.must(err)
	overlay := "resources: [" + config + "/default]\ncomponents: [" + config + "/page]\n"
	w.must(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600))
	objects, err := harness.Kustomize(dir)
	w.must(err)
	return objects
}

// certificate returns a folder with a certificate for loopback and its key, as in a Secret.
func (w *world) certificate() string {
	w.t.Helper()
	dir := w.t.TempDir()
	w.must(harness.Certificate(dir))
	return dir
}

// token returns a token of a new ServiceAccount.
func (w *world) token(name string) string {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.must(suite.client.Create(w.t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	w.must(suite.client.SubResource("token").Create(w.t.Context(), account, request))
	return request.Status.Token
}

// page returns the answer of the web page to a request with a token. Redirects are not followed.
func (w *world) page(url, token, certificate string) (code int, body string) {
	w.t.Helper()
	browser, err := rest.HTTPClientFor(&rest.Config{BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: certificate}})
	w.must(err)
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, http.NoBody)
	w.must(err)
	answer, err := browser.Do(request)
	w.must(err)
	raw, err := io.ReadAll(answer.Body)
	w.must(errors.Join(err, answer.Body.Close()))
	return answer.StatusCode, string(raw)
}
