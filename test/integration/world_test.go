// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// patience is a limit that no test reaches: that of the suite ends it before.
const patience = time.Hour

// actionTimeout is the timeout of actions. A test that waits for it to expire uses expiry.
const (
	actionTimeout = time.Minute
	expiry        = 10 * time.Second
)

// expires lets the actions of a release expire.
func expires(hr *helmv2.HelmRelease) { hr.Spec.Timeout.Duration = expiry }

// world is one test's namespace and artifact server.
type world struct {
	t         *testing.T
	namespace string
	server    *httptest.Server

	mu        sync.Mutex
	artifacts map[string][]byte
	// served counts the answers with an artifact.
	served map[string]int
	// answer, if set, replaces the server's answer.
	answer http.HandlerFunc
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, metav1.ObjectMeta{GenerateName: "it-"})
}

// newWorldIn makes a world in a namespace of some name.
func newWorldIn(t *testing.T, meta metav1.ObjectMeta) *world {
	t.Helper()
	w := &world{t: t, artifacts: map[string][]byte{}, served: map[string]int{}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	ns := &corev1.Namespace{ObjectMeta: meta}
	// The digests of recorded releases cover the namespace, so that tests share it.
	w.must(client.IgnoreAlreadyExists(suite.client.Create(t.Context(), ns)))
	w.namespace = ns.Name
	return w
}

func (w *world) serve(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer != nil {
		w.answer(rw, req)
		return
	}
	data, ok := w.artifacts[req.URL.Path]
	if !ok {
		http.NotFound(rw, req)
		return
	}
	w.served[req.URL.Path]++
	_, _ = rw.Write(data)
}

func (w *world) setAnswer(h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = h
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// pack makes a chart archive from files below the chart's folder.
func pack(t *testing.T, name, version string, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	all := map[string]string{"Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"9\"\n", name, version)}
	for k, v := range files {
		all[k] = v
	}
	for k, v := range all {
		if err := tw.WriteHeader(&tar.Header{Name: name + "/" + k, Mode: 0o644, Size: int64(len(v))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// configMapChart renders one ConfigMap with .Values.message.
func configMapChart(t *testing.T, version string) []byte {
	return pack(t, "note", version, map[string]string{
		"templates/cm.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n  secret: {{ .Values.unset | default \"none\" }}\n",
		"values.yaml":        "message: default\n",
		"values.schema.json": `{"type":"object","properties":{"message":{"type":"string"}}}`,
	})
}

// publish makes the archive the artifact of the named OCIRepository.
func (w *world) publish(name, tag string, archive []byte) {
	w.t.Helper()
	path := "/" + name + "-" + tag + ".tgz"
	w.mu.Lock()
	w.artifacts[path] = archive
	w.mu.Unlock()
	w.offer(name, fluxmeta.Artifact{
		URL: w.server.URL + path, Path: strings.TrimPrefix(path, "/"),
		Digest:         digest.SHA256.FromBytes(archive).String(),
		Revision:       tag + "@" + digest.SHA256.FromString(tag+string(archive)).String(),
		LastUpdateTime: metav1.Now(),
	})
}

func (w *world) offer(name string, artifact fluxmeta.Artifact) {
	w.t.Helper()
	// The controller may apply the OCIRepository of a template at the same time.
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		repo := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
		err := suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(repo), repo)
		if err != nil {
			repo.Spec.URL, repo.Spec.Interval = "oci://localhost/charts/"+name, metav1.Duration{Duration: time.Hour}
			w.must(suite.client.Create(w.t.Context(), repo))
		}
		repo.Status.ObservedGeneration = repo.Generation
		repo.Status.Artifact = &artifact
		apimeta.SetStatusCondition(&repo.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Succeeded", Message: "stored"})
		return suite.client.Status().Update(w.t.Context(), repo)
	}))
}

// release creates a HelmRelease that uses the OCIRepository of the same name.
func (w *world) release(name string, values map[string]any, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.t.Helper()
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: name},
			Interval: metav1.Duration{Duration: time.Hour},
			Timeout:  &metav1.Duration{Duration: actionTimeout},
			Values:   rawValues(w.t, values),
		},
	}
	for _, e := range edit {
		e(hr)
	}
	w.must(suite.client.Create(w.t.Context(), hr))
	w.t.Cleanup(func() { w.remove(hr) })
	return hr
}

// remove deletes a HelmRelease, by force where a test left it stuck on purpose.
func (w *world) remove(hr *helmv2.HelmRelease) {
	_ = suite.client.Delete(context.Background(), hr)
}

func rawValues(t *testing.T, values map[string]any) *apiextensionsv1.JSON {
	t.Helper()
	if values == nil {
		return nil
	}
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

// edit changes the spec or metadata of a HelmRelease.
func (w *world) edit(hr *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) {
	w.t.Helper()
	before := hr.DeepCopy()
	change(hr)
	w.must(suite.client.Patch(w.t.Context(), hr, client.MergeFrom(before)))
}

// until waits until ok returns true for a version of a HelmRelease.
func (w *world) until(hr *helmv2.HelmRelease, what string, ok func(*helmv2.HelmRelease) bool) {
	w.t.Helper()
	await(w, hr, what, ok)
}

// untilReady waits until the present generation is Ready.
func (w *world) untilReady(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.until(hr, "Ready", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation && condition(hr, "Ready").Status == metav1.ConditionTrue
	})
}

// untilSays waits for a condition with a reason and a message that contains
// every one of the given texts.
func (w *world) untilSays(hr *helmv2.HelmRelease, kind string, status metav1.ConditionStatus, reason string, texts ...string) {
	w.t.Helper()
	w.until(hr, fmt.Sprintf("%s=%s/%s with %q", kind, status, reason, texts), func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, kind)
		if c.Status != status || c.Reason != reason {
			return false
		}
		for _, text := range texts {
			if !strings.Contains(c.Message, text) {
				return false
			}
		}
		return true
	})
}

func condition(hr *helmv2.HelmRelease, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, cm))
	return cm
}

// stored returns the Helm storage records of a release, by revision.
func (w *world) stored(name string) []corev1.Secret {
	w.t.Helper()
	var list corev1.SecretList
	w.must(suite.client.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{"owner": "helm", "name": name}))
	return list.Items
}

// untilGone waits until a HelmRelease no longer exists.
func (w *world) untilGone(hr *helmv2.HelmRelease) {
	w.t.Helper()
	awaitGone(w, hr)
}

// untilObserved waits until the controller has observed the spec.
func (w *world) untilObserved(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.until(hr, "the spec to be observed", func(hr *helmv2.HelmRelease) bool { return hr.Status.ObservedGeneration == hr.Generation })
}

// countWrites returns how many versions of a HelmRelease act brings about.
func (w *world) countWrites(hr *helmv2.HelmRelease, act func()) int {
	w.t.Helper()
	f, err := suite.watches.follow(w.t.Context(), hr, make(chan struct{}, 1))
	w.must(err)
	defer suite.watches.unfollow(f)
	n, last := 0, hr.ResourceVersion
	act()
	w.quiet(hr)
	for older(last, hr.ResourceVersion) {
		<-f.arrived
		for _, v := range f.take() {
			if older(last, v.GetResourceVersion()) {
				n, last = n+1, v.GetResourceVersion()
			}
		}
	}
	return n
}

// newest returns the number of the newest revision in status.history, 0 without history.
func newest(hr *helmv2.HelmRelease) int {
	if len(hr.Status.History) == 0 {
		return 0
	}
	return hr.Status.History[0].Version
}
