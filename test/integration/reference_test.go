// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"helm.sh/helm/v3/pkg/action"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "internal", "helm", "storage", "testdata", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// store makes raw the record of a revision, as Helm does.
func (w *world) store(name string, version int, status, raw string) {
	w.t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	_, err := io.WriteString(gz, raw)
	w.must(err)
	w.must(gz.Close())
	w.must(suite.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, version),
			Labels: map[string]string{
				"name": name, "owner": "helm", "status": status, "version": fmt.Sprint(version), "modifiedAt": "1795171744",
			},
		},
		Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(buf.Bytes()))},
	}))
}

// record returns the members of the JSON of a stored revision.
func (w *world) record(name string, version int) map[string]any {
	w.t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, version)}
	w.must(suite.client.Get(w.t.Context(), key, secret))
	gz, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(secret.Data["release"])))
	w.must(err)
	var all map[string]any
	w.must(json.NewDecoder(gz).Decode(&all))
	return all
}

// asHelmControllerLeftIt creates the HelmRelease apps/hooked with the status and storage that
// helm-controller left. It is suspended, so that the controller does not act before the status is
// written.
func (w *world) asHelmControllerLeftIt() *helmv2.HelmRelease {
	w.t.Helper()
	w.store("hooked", 1, "superseded", fixture(w.t, "upgraded.release.v1.json"))
	w.store("hooked", 2, "deployed", strings.NewReplacer(
		`"apply_method":"ssa"`, `"apply_method":"ssa","future":{"kept":true}`, `"status":"deployed"`, `"status":"deployed","future":7`,
	).Replace(fixture(w.t, "upgraded.release.v2.json")))
	left := &helmv2.HelmRelease{}
	w.must(json.Unmarshal([]byte(fixture(w.t, "upgraded.helmrelease.json")), left))
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hooked"}, Spec: left.Spec}
	hr.Spec.Suspend = true
	// No controller runs Jobs here.
	hr.Spec.Upgrade = &helmv2.Upgrade{DisableHooks: true}
	w.must(suite.client.Create(w.t.Context(), hr))
	w.t.Cleanup(func() { w.remove(hr) })
	for {
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), hr))
		hr.Status = left.Status
		err := suite.client.Status().Update(w.t.Context(), hr)
		if err == nil {
			return hr
		}
		if !apierrors.IsConflict(err) {
			w.t.Fatal(err)
		}
	}
}

// applied creates the objects of a release as helm-controller does, with its field manager.
func (w *world) applied(name string) {
	w.t.Helper()
	meta := map[string]any{
		"name": name, "namespace": w.namespace,
		"labels":      map[string]any{"app.kubernetes.io/managed-by": "Helm", helmv2.LabelName: name, helmv2.LabelNamespace: w.namespace},
		"annotations": map[string]any{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": w.namespace},
	}
	for _, object := range []map[string]any{
		{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
		{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": map[string]any{"b": "2"}},
	} {
		applied := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})
		w.must(suite.client.Apply(w.t.Context(), applied, client.FieldOwner(helmv2.FieldManager)))
	}
}

// traces are the versions and managedFields of a release's objects and records.
func (w *world) traces(name string) map[string]any {
	w.t.Helper()
	traces := map[string]any{}
	add := func(o client.Object) {
		traces[fmt.Sprintf("%T %s", o, o.GetName())] = []any{o.GetResourceVersion(), o.GetGeneration(), o.GetManagedFields()}
	}
	for _, o := range []client.Object{&corev1.ServiceAccount{}, &corev1.Secret{}} {
		w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o))
		add(o)
	}
	for _, record := range w.stored(name) {
		add(&record)
	}
	return traces
}

// readableByHelmController checks the fields that helm-controller compares when it takes over a
// release that Pintle upgraded to the values of its first revision. helm-controller trusts
// snapshots of other schemes, and verifies its own.
func (w *world) readableByHelmController(hr *helmv2.HelmRelease, left *helmv2.HelmReleaseStatus, read func(helmv2.Snapshots) []release.Revision) {
	w.t.Helper()
	first := left.History[1]
	want := *first
	want.APIVersion, want.Version, want.Status, want.Action = release.SnapshotScheme, 3, helmv2.StatusDeployed, helmv2.ActionUpgrade
	got := *hr.Status.History[0]
	// These cannot be derived from the inputs.
	want.Digest, want.FirstDeployed, want.LastDeployed = got.Digest, got.FirstDeployed, got.LastDeployed
	want.AppVersion = got.AppVersion
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the latest snapshot (-want +got):\n%s", diff)
	}
	if hr.Status.LastAttemptedConfigDigest != first.ConfigDigest || hr.Status.LastAttemptedRevision != left.LastAttemptedRevision ||
		hr.Status.LastAttemptedRevisionDigest != left.LastAttemptedRevisionDigest || hr.Status.StorageNamespace != left.StorageNamespace {
		w.t.Errorf("the last attempt: %+v", hr.Status)
	}
	stored := map[int]release.Revision{}
	for _, r := range read(hr.Status.History) {
		stored[r.Version] = r
	}
	if len(hr.Status.History) < 2 {
		w.t.Errorf("there is nothing to return to: %+v", hr.Status.History)
	}
	for _, s := range hr.Status.History {
		r, found := stored[s.Version]
		if !found || r.Status != s.Status {
			w.t.Errorf("the snapshot of revision %d is %s, and stored is %q", s.Version, s.Status, r.Status)
		}
		if s.APIVersion == helmv2.SnapshotAPIVersionV2 && s.Digest != r.HelmControllerDigest {
			w.t.Errorf("helm-controller cannot verify its snapshot of revision %d any more", s.Version)
		}
	}
}

// TestReleaseOfHelmControllerChangesHands: a release of helm-controller is in sync with equal
// digests, and an upgrade by Pintle keeps its records.
func TestReleaseOfHelmControllerChangesHands(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, metav1.ObjectMeta{Name: "apps"})
	archive := pack(t, "hooked", "1.0.0", map[string]string{
		"templates/app.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: \"{{ .Release.Name }}\"}\n---\n" +
			"apiVersion: v1\nkind: Secret\nmetadata: {name: \"{{ .Release.Name }}\"}\nstringData: {b: {{ .Values.a.b | quote }}}\n",
	})
	w.mu.Lock()
	w.artifacts["/hooked.tgz"] = archive
	w.mu.Unlock()
	w.offer("hooked", fluxmeta.Artifact{
		URL: w.server.URL + "/hooked.tgz", Path: "hooked.tgz", LastUpdateTime: metav1.Now(),
		Digest:   digest.SHA256.FromBytes(archive).String(),
		Revision: "1.0.0@sha256:9913b4c87f43c92d7092e2a808f87bae56f008d9f822b6415a958c59e25425b3",
	})
	hr := w.asHelmControllerLeftIt()
	left := hr.Status.DeepCopy()

	conn, err := cluster.Connect(suite.config)
	w.must(err)
	runner := helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), nil, sealKey(), time.Now)
	target := release.Target{Name: "hooked", Namespace: w.namespace, StorageNamespace: w.namespace}
	for _, s := range left.History {
		// One at a time: an older revision is not read beside a newest that is in order.
		read, err := runner.History(t.Context(), conn, target, helmv2.Snapshots{s})
		w.must(err)
		if len(read) != 2 {
			t.Fatalf("read %d revisions", len(read))
		}
		if r := read[2-s.Version]; r.Version != s.Version || r.HelmControllerDigest != s.Digest || r.ConfigDigest != s.ConfigDigest {
			t.Errorf("revision %d has digests %s and %s, and the snapshot of %d has %s and %s",
				r.Version, r.HelmControllerDigest, r.ConfigDigest, s.Version, s.Digest, s.ConfigDigest)
		}
	}

	w.applied("hooked")
	before := w.traces("hooked")
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend = false
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "look"}
	})
	w.until(hr, "the request to be handled", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.LastHandledReconcileAt == "look" && hr.Status.ObservedGeneration == hr.Generation &&
			condition(hr, "Ready").Status == metav1.ConditionTrue
	})
	if n := len(w.stored("hooked")); n != 2 || newest(hr) != 2 || condition(hr, "Ready").Status != metav1.ConditionTrue {
		t.Fatalf("%d revisions are stored; status is %+v", n, hr.Status)
	}
	if diff := cmp.Diff(before, w.traces("hooked")); diff != "" {
		t.Errorf("the look left traces (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(left.History, hr.Status.History); diff != "" {
		t.Errorf("the look changed the history (-before +after):\n%s", diff)
	}

	// The values of revision 1, whose digest helm-controller has computed.
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(t, map[string]any{"a": map[string]any{"b": 1}, "list": []any{"x", true}})
	})
	w.until(hr, "revision 3", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 3 && condition(hr, "Ready").Status == metav1.ConditionTrue
	})
	w.readableByHelmController(hr, left, func(known helmv2.Snapshots) []release.Revision {
		read, err := runner.History(t.Context(), conn, target, known)
		w.must(err)
		return read
	})
	two := w.record("hooked", 2)
	info, _ := two["info"].(map[string]any)
	if info["status"] != "superseded" || info["future"] != 7.0 {
		t.Errorf("info of revision 2 is %v", info)
	}
	if two["apply_method"] != "ssa" || fmt.Sprint(two["future"]) != "map[kept:true]" {
		t.Errorf("revision 2 says %v and %v", two["apply_method"], two["future"])
	}
	history, err := action.NewHistory(w.helmByHand()).Run("hooked")
	w.must(err)
	if len(history) != 3 {
		t.Errorf("helm history shows %d revisions", len(history))
	}

	w.annotate(hr, helmv2.AnnotationRollbackTo, "2")
	w.until(hr, "the rollback to a revision of helm-controller", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 4 && condition(hr, helmv2.ConditionRolledBack).Status == metav1.ConditionTrue
	})
	four := w.record("hooked", 4)
	if four["manifest"] != two["manifest"] || !cmp.Equal(four["config"], two["config"]) || four["apply_method"] != two["apply_method"] {
		t.Errorf("revision 4 is not that of helm-controller: %v, %v, %v", four["manifest"], four["config"], four["apply_method"])
	}
}
