// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// commit gives the GitRepository of a name an artifact with files. It creates the GitRepository at first.
func (w *world) commit(name, commit string, files map[string]string) *sourcev1.GitRepository {
	w.t.Helper()
	archive, err := harness.PackFiles(files)
	w.must(err)
	path := "/" + name + "-" + commit + ".tar.gz"
	w.mu.Lock()
	w.artifacts[path] = archive
	w.mu.Unlock()
	repo := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(repo), repo) != nil {
			repo.Spec.URL, repo.Spec.Interval = "https://localhost/"+name, metav1.Duration{Duration: time.Hour}
			w.must(suite.client.Create(w.t.Context(), repo))
		}
		repo.Status.ObservedGeneration = repo.Generation
		repo.Status.Artifact = &fluxmeta.Artifact{
			URL: w.server.URL + path, Path: strings.TrimPrefix(path, "/"), Digest: digest.SHA256.FromBytes(archive).String(),
			Revision: "main@sha1:" + commit, LastUpdateTime: metav1.Now(),
		}
		return suite.client.Status().Update(w.t.Context(), repo)
	}))
	return repo
}

func fromGit(name, path string) helmv2.ValuesReference {
	return helmv2.ValuesReference{Kind: helmv2.KindGitRepository, Name: name, ValuesKey: path}
}

// skipWithoutFiles skips a test of values in files with a CRD that does not have them.
func skipWithoutFiles(t *testing.T) {
	t.Helper()
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("kinds of sources are not a part of the definitions in PINTLE_CRDS")
	}
}

// TestValuesFromFiles: a release takes values from a GitRepository. A commit that changes a file of it is
// an upgrade, and another commit is not. Artifacts of chart and values that come together are one upgrade.
func TestValuesFromFiles(t *testing.T) {
	skipWithoutFiles(t)
	t.Parallel()
	w := newWorld(t)
	chart := configMapChart(t, "1.0.0")
	w.publish("files", "1.0.0", chart)
	hr := w.release("files", nil, from(fromGit("config", "envs/prod/*.yaml")))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "could not get Source object: GitRepository '"+w.namespace+"/config' not found")

	w.commit("config", "1", map[string]string{"README.md": "none"})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError,
		"could not resolve GitRepository chart values reference '"+w.namespace+"/config' with key 'envs/prod/*.yaml' in revision 'main@sha1:1': the artifact has no such file")

	files := map[string]string{"envs/prod/a.yaml": "message: a\n", "envs/prod/b.yaml": "message: b\n", "envs/dev/a.yaml": "message: dev\n"}
	w.commit("config", "2", files)
	w.untilReady(hr)
	w.wantData("files", "b", "none")
	stored := w.stored("files")
	source := stored[len(stored)-1].Annotations[helmv2.AnnotationSourceRevision]
	if !strings.HasPrefix(source, "1.0.0@sha256:") || !strings.Contains(source, "; values GitRepository/"+w.namespace+"/config main@sha1:2 (envs/prod/*.yaml sha256:") {
		t.Errorf("source %q", source)
	}
	first := newest(hr)

	files["envs/dev/a.yaml"] = "message: other\n"
	w.commit("config", "3", files)
	w.quiet(hr)
	files["envs/prod/b.yaml"] = "message: c\n"
	w.commit("config", "4", files)
	w.untilRevision(hr, first+1)
	w.wantData("files", "c", "none")

	w.expectPlugin(w.kubeconfig(), 0, "values files --provenance", "GitRepository/config envs/prod/b.yaml:1   GitRepository/config envs/prod/a.yaml:1")

	// Commits in both repositories.
	files["envs/prod/b.yaml"] = "message: d\n"
	w.commit("config", "5", files)
	w.publish("files", "1.1.0", configMapChart(t, "1.1.0"))
	w.until(hr, "the new chart", func(hr *helmv2.HelmRelease) bool {
		return strings.HasPrefix(hr.Status.History[0].ChartVersion, "1.1.0")
	})
	w.untilReady(hr)
	w.wantData("files", "d", "none")
	if got := newest(hr); got != first+2 {
		t.Errorf("revision %d, want %d: two commits that come together are one upgrade", got, first+2)
	}

	// A source that is not ready changes nothing, and says so.
	repo := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "config"}}
	w.must(suite.client.Delete(t.Context(), repo))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "GitRepository '"+w.namespace+"/config' not found")
	w.commit("config", "6", files)
	w.untilReady(hr)
	if got := newest(hr); got != first+2 {
		t.Errorf("revision %d, want %d", got, first+2)
	}
}

// TestPageOfFiles: the page of a release shows values of files to users who may get the source, read with the
// identity of the controller, and the others why they are missing.
func TestPageOfFiles(t *testing.T) {
	skipWithoutFiles(t)
	t.Parallel()
	w := newWorld(t)
	p := w.servePages()
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	guests := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.namespace + "-guest"}
	p.bind("contents", secrets, guests)
	p.untilAllowed(guests.Name, secrets)
	sources := rbacv1.PolicyRule{APIGroups: []string{sourcev1.GroupVersion.Group}, Resources: []string{"gitrepositories"}, Verbs: []string{"get"}}
	p.bind("sources", sources, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: editor})
	p.untilAllowed("system:serviceaccount:"+w.namespace+":"+editor, sources)
	w.publish("files", "1.0.0", configMapChart(t, "1.0.0"))
	w.commit("config", "1", map[string]string{"web.yaml": "message: of a file\n"})
	hr := w.release("files", nil, from(fromGit("config", "web.yaml")))
	w.untilReady(hr)
	for visitor, wants := range map[string]struct{ has, lacks string }{
		editor: {"web.yaml:1", "files of GitRepository"},
		guest:  {"you need the right to get gitrepositories.source.toolkit.fluxcd.io in namespace " + w.namespace, "web.yaml:1"},
	} {
		answer, body := p.fetch(visitor, http.MethodGet, "/releases/"+w.namespace+"/files")
		if answer != ok || !strings.Contains(body, wants.has) || strings.Contains(body, wants.lacks) {
			t.Errorf("%s: %s\n%s", visitor, answer, body)
		}
	}
}

// TestMonorepo: a commit that changes the file of one of 50 releases upgrades that one, and reconciles no
// other. Policies and CRDs of parallel tests would trigger releases, too.
//
//nolint:paralleltest // see above
func TestMonorepo(t *testing.T) {
	skipWithoutFiles(t)
	w := newWorld(t)
	const releases, all = 50, 500
	w.publish("mono", "1.0.0", configMapChart(t, "1.0.0"))
	files := map[string]string{}
	for i := range all {
		files[fmt.Sprintf("apps/%03d/values.yaml", i)] = fmt.Sprintf("message: \"%d\"\n", i)
	}
	w.commit("mono", "1", files)
	hrs := make([]*helmv2.HelmRelease, releases)
	for i := range hrs {
		hrs[i] = w.release(fmt.Sprint("mono-", i), nil, from(fromGit("mono", fmt.Sprintf("apps/%03d/values.yaml", i))),
			func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "mono" })
	}
	for _, hr := range hrs {
		w.untilReady(hr)
	}
	before := make([]int, releases)
	for i, hr := range hrs {
		w.quiet(hr)
		before[i], _ = w.reconciled(hr)
	}
	files["apps/007/values.yaml"] = "message: changed\n"
	files["apps/333/values.yaml"] = "message: changed\n"
	w.commit("mono", "2", files)
	w.untilRevision(hrs[7], 2)
	w.wantData("mono-7", "changed", "none")
	for i, hr := range hrs {
		w.quiet(hr)
		if after, _ := w.reconciled(hr); i != 7 && after != before[i] {
			t.Errorf("%s was reconciled %d times", hr.Name, after-before[i])
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, b := w.served["/mono-1.tar.gz"], w.served["/mono-2.tar.gz"]; a != 1 || b != 1 {
		t.Errorf("%d and %d downloads of the artifacts", a, b)
	}
}
