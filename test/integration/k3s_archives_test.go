// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
)

const archivePassword = "pa55w0rd"

// archiveServer serves one archive by TLS, to one user. It names versions.
type archiveServer struct {
	*httptest.Server

	mu          sync.Mutex
	content     []byte
	version     int
	sent, kept  int
	unsupported int
}

func newArchiveServer(t *testing.T) *archiveServer {
	t.Helper()
	s := &archiveServer{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		user, password, _ := r.BasicAuth()
		etag := strconv.Quote(strconv.Itoa(s.version))
		w.Header().Set("Etag", etag)
		switch {
		case user != "me" || password != archivePassword || r.URL.Query().Get("token") != archivePassword:
			s.unsupported++
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("If-None-Match") == etag:
			s.kept++
			w.WriteHeader(http.StatusNotModified)
		default:
			s.sent++
			_, _ = w.Write(s.content)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *archiveServer) put(content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = content
	s.version++
}

func (s *archiveServer) counts() (sent, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.kept
}

// spec returns the spec of a HelmChart with the archive.
func (s *archiveServer) spec() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	raw, _ := yaml.Marshal(map[string]any{"chart": s.URL + "/web.tgz?token=" + archivePassword, "repoCA": string(ca), "authSecret": map[string]any{"name": "creds"}})
	return string(raw)
}

// TestK3sArchiveURL: an archive is read with credentials and certificates of the HelmChart, once. After a
// request it is read again, and changed bytes at the same URL are a new revision.
func TestK3sArchiveURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := newArchiveServer(t)
	server.put(configMapChart(t, "1.0.0"))
	w.account("helm-web", "configmaps", "secrets")
	c := w.k3sChart("web", server.spec())
	w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue, `The archive of the chart could not be read: spec.authSecret: secrets "creds" not found`)
	w.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "creds"}, Type: corev1.SecretTypeBasicAuth,
		StringData: map[string]string{"username": "me", "password": archivePassword},
	}))
	request := func(value string) {
		w.editChart(c, func(c *cattlev1.HelmChart) { c.Annotations[helmv2.AnnotationReconcileRequest] = value })
	}
	request("1")
	hr := w.madeFor(c)
	w.untilRevision(hr, 1)
	if sent, kept := server.counts(); sent != 2 || kept != 0 {
		t.Errorf("the archive was sent %d times, and not sent %d times", sent, kept)
	}
	// Neither the controller of HelmCharts nor the one of HelmReleases reads it for a change of values.
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"message":"two"}`)} })
	w.untilRevision(hr, 2)
	if sent, kept := server.counts(); sent != 2 || kept != 0 {
		t.Errorf("the archive was sent %d times, and not sent %d times", sent, kept)
	}
	request("2")
	untilTrue(w, "a conditional request", func() bool { _, kept := server.counts(); return kept == 1 }, c)
	server.put(configMapChart(t, "2.0.0"))
	// As kubectl pintle reconcile does.
	w.annotate(hr, helmv2.AnnotationReconcileRequest, "3")
	w.untilRevision(hr, 3)
	if v := hr.Status.History[0].ChartVersion; v != "2.0.0" {
		t.Errorf("version %s of the chart is installed", v)
	}
	source := &sourcev1.ExternalArtifact{}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), source))
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	all, _ := json.Marshal([]any{source, c.Status, hr.Spec, hr.Status})
	if strings.Contains(string(all), archivePassword) {
		t.Errorf("credentials are shown: %s", all)
	}
	if source.Status.Artifact.Digest != digest.FromBytes(server.content).String() || source.Annotations[helmv2.AnnotationReconcileRequest] != "2 3" {
		t.Errorf("the ExternalArtifact is %+v", source)
	}
	// The address of this machine is one that the plugin must not read.
	w.editChart(c, func(c *cattlev1.HelmChart) { c.Spec.Values = nil })
	w.untilRevision(hr, 4)
	w.expectPlugin(w.kubeconfig(), 2, "diff web", "the address 127.0.0.1 is not public: give the archive with --chart")
	w.expectPlugin(w.kubeconfig(), 0, "diff web --chart "+w.file("note.tgz", server.content), "no differences")
}

// TestK3sArchiveRights: the Secret with the credentials is read as the ServiceAccount of the release, and
// not as the controller.
func TestK3sArchiveRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := newArchiveServer(t)
	w.account("helm-web", "configmaps")
	w.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "creds"}, StringData: map[string]string{"username": "me", "password": archivePassword},
	}))
	c := w.k3sChart("web", server.spec())
	w.untilChart(c, cattlev1.ConditionFailed, metav1.ConditionTrue,
		`spec.authSecret: secrets "creds" is forbidden: User "system:serviceaccount:`+w.namespace+`:helm-web" cannot get resource "secrets"`)
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.sent+server.kept+server.unsupported > 0 {
		t.Error("the server was asked without credentials")
	}
}

// TestK3sArchiveOfOthers: an ExternalArtifact that a tenant has written leads neither to the HelmChart of
// another namespace, nor to another one in its own.
func TestK3sArchiveOfOthers(t *testing.T) {
	t.Parallel()
	theirs, w := newWorld(t), newWorld(t)
	content := configMapChart(t, "1.0.0")
	theirs.account("helm-private", "configmaps", "secrets")
	private := theirs.k3sChart("private", "chartContent: "+base64.StdEncoding.EncodeToString(content))
	theirs.untilRevision(theirs.madeFor(private), 1)
	url, _ := archive.ArtifactURL(private)
	ea := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "private"}}
	ea.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(private, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind))}
	w.must(suite.client.Create(t.Context(), ea))
	ea.Status.Artifact = &fluxmeta.Artifact{URL: url, Path: "private", Digest: digest.FromBytes(content).String(), Revision: "1.0.0", LastUpdateTime: metav1.Now()}
	w.must(suite.client.Status().Update(t.Context(), ea))
	hr := w.release("private", nil, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = helmv2.KindExternalArtifact })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady,
		"its artifact is not the archive of HelmChart '"+w.namespace+"/private'")
	elsewhere := w.release("elsewhere", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef.Kind, hr.Spec.ChartRef.Namespace, hr.Spec.ChartRef.Name = helmv2.KindExternalArtifact, theirs.namespace, "private"
	})
	w.untilSays(elsewhere, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonAccessDenied, "only HelmReleases in its namespace can use")
}
