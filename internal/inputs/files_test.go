// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/release"
)

// fileServer serves artifacts, and counts the downloads.
type fileServer struct {
	url       string
	artifacts map[string][]byte
	downloads atomic.Int32
}

func newFileServer(t *testing.T) *fileServer {
	t.Helper()
	s := &fileServer{artifacts: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, found := s.artifacts[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		s.downloads.Add(1)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *fileServer) charts() *chart.Store {
	return chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: 1 << 20, Grace: time.Minute})
}

// add adds an artifact with files.
func (s *fileServer) add(t *testing.T, name, revision string, files map[string]string) *fluxmeta.Artifact {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := tw.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(files[path]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, files[path]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	s.artifacts["/"+name] = buf.Bytes()
	return &fluxmeta.Artifact{URL: s.url + "/" + name, Digest: digest.FromBytes(buf.Bytes()).String(), Revision: revision}
}

func git(a *fluxmeta.Artifact, edit ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "config", Generation: 1}}
	o.Status.ObservedGeneration, o.Status.Artifact = 1, a
	for _, e := range edit {
		e(o)
	}
	return o
}

func fileOf(path string, edit ...func(*helmv2.ValuesReference)) helmv2.ValuesReference {
	ref := helmv2.ValuesReference{Kind: helmv2.KindGitRepository, Name: "config", ValuesKey: path}
	for _, e := range edit {
		e(&ref)
	}
	return ref
}

func withRefs(refs ...helmv2.ValuesReference) *helmv2.HelmRelease {
	return app(func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = refs })
}

// TestFiles: values come from files of a source, in the order of entries and names.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newFileServer(t)
	const revision = "main@sha1:0123"
	a := s.add(t, "config", revision, map[string]string{
		"values.yaml": "a: 0\nb: 0\n", "envs/prod/10.yaml": "a: 10\nd: 10", "envs/prod/05.yaml": "a: 5\nc: 5", "empty.yaml": "",
		"ca.pem": "-----BEGIN\n,x", "bad.yaml": "a: [", "list.yaml": "[1]", "secret.yaml": "a: ENC[x]\nsops: {mac: a, version: b}\n",
		"bomb.yaml": "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
	})
	at := func(path string) func(*helmv2.ValuesReference) {
		return func(ref *helmv2.ValuesReference) { ref.TargetPath, ref.Literal = path, true }
	}
	optional := func(ref *helmv2.ValuesReference) { ref.Optional = true }
	named := func(kind, name string) func(*helmv2.ValuesReference) {
		return func(ref *helmv2.ValuesReference) { ref.Kind, ref.Name = kind, name }
	}
	unresolved := func(path, why string) string {
		return "could not resolve GitRepository chart values reference 'prod/config' with key '" + path + "' in revision '" + revision + "': " + why
	}
	for name, tc := range map[string]struct {
		refs []helmv2.ValuesReference
		// want is the values, or the message.
		want   string
		reason string
		source client.Object
	}{
		"Default":      {refs: []helmv2.ValuesReference{fileOf("")}, want: "map[a:0 b:0]"},
		"Glob":         {refs: []helmv2.ValuesReference{fileOf("envs/prod/*.yaml")}, want: "map[a:10 c:5 d:10]"},
		"Order":        {refs: []helmv2.ValuesReference{fileOf("envs/prod/*.yaml"), fileOf("./values.yaml")}, want: "map[a:0 b:0 c:5 d:10]"},
		"Empty":        {refs: []helmv2.ValuesReference{fileOf("empty.yaml")}, want: "map[]"},
		"Target":       {refs: []helmv2.ValuesReference{fileOf("ca.pem", at("ca"))}, want: "map[ca:-----BEGIN\n,x]"},
		"Missing":      {refs: []helmv2.ValuesReference{fileOf("no.yaml")}, reason: helmv2.ReasonValuesError, want: unresolved("no.yaml", "the artifact has no such file")},
		"MissingGlob":  {refs: []helmv2.ValuesReference{fileOf("no/*")}, reason: helmv2.ReasonValuesError, want: unresolved("no/*", "the artifact has no such file")},
		"Optional":     {refs: []helmv2.ValuesReference{fileOf("no.yaml", optional), fileOf("")}, want: "map[a:0 b:0]"},
		"NoSource":     {refs: []helmv2.ValuesReference{fileOf("", named("Bucket", "none"))}, reason: helmv2.ReasonArtifactFailed, want: "could not get Source object: Bucket 'prod/none' not found"},
		"OptionalGone": {refs: []helmv2.ValuesReference{fileOf("", named("Bucket", "none"), optional), fileOf("")}, want: "map[a:0 b:0]"},
		"SOPS": {
			refs: []helmv2.ValuesReference{fileOf("*et.yaml")}, reason: helmv2.ReasonValuesError,
			want: unresolved("*et.yaml", `"secret.yaml" is encrypted with SOPS, and is not decrypted here: decrypt it into a Secret, and refer to that`),
		},
		"Invalid":   {refs: []helmv2.ValuesReference{fileOf("bad.yaml")}, reason: helmv2.ReasonValuesError, want: unresolved("bad.yaml", "the content cannot be read as YAML: line 1")},
		"NoMap":     {refs: []helmv2.ValuesReference{fileOf("li?t.yaml")}, reason: helmv2.ReasonValuesError, want: unresolved("list.yaml", "the content is not a map")},
		"Bomb":      {refs: []helmv2.ValuesReference{fileOf("bomb.yaml")}, reason: helmv2.ReasonValuesError, want: unresolved("bomb.yaml", "the content has more than 500000 keys and values after the expansion of its aliases")},
		"Leaves":    {refs: []helmv2.ValuesReference{fileOf("a/../../b")}, reason: helmv2.ReasonUnsupportedField, want: "spec.valuesFrom[0].valuesKey: the path leaves the artifact"},
		"TwoStars":  {refs: []helmv2.ValuesReference{fileOf("**/b")}, reason: helmv2.ReasonUnsupportedField, want: "** is not supported"},
		"GlobAt":    {refs: []helmv2.ValuesReference{fileOf("*.pem", at("ca"))}, reason: helmv2.ReasonUnsupportedField, want: "targetPath must not be set if valuesKey matches several files"},
		"HelmChart": {refs: []helmv2.ValuesReference{fileOf("", named("HelmChart", "x"))}, reason: helmv2.ReasonUnsupportedField, want: "spec.valuesFrom[0].kind HelmChart is not supported"},
		"Gated":     {refs: []helmv2.ValuesReference{fileOf("", named("ExternalArtifact", "x"))}, reason: helmv2.ReasonAccessDenied, want: "ExternalArtifact feature gate is disabled"},
		"NoArtifact": {
			refs: []helmv2.ValuesReference{fileOf("")}, reason: helmv2.ReasonSourceNotReady, want: "GitRepository 'prod/config' is not ready: does not have an artifact",
			source: git(nil),
		},
		"Behind": {
			refs: []helmv2.ValuesReference{fileOf("")}, reason: helmv2.ReasonSourceNotReady, want: "GitRepository 'prod/config' is not ready: latest generation of object has not been reconciled",
			source: git(a, func(o *sourcev1.GitRepository) { o.Generation = 2 }),
		},
		"OtherBranch": {
			refs: []helmv2.ValuesReference{fileOf("")}, reason: helmv2.ReasonSourceNotReady, want: "its artifact has the branch main, but next is requested",
			source: git(a, func(o *sourcev1.GitRepository) { o.Spec.Reference = &sourcev1.GitRepositoryRef{Branch: "next"} }),
		},
		"Replaced": {
			refs: []helmv2.ValuesReference{fileOf("")}, reason: helmv2.ReasonArtifactFailed, want: "Source not ready: artifact not found",
			source: git(&fluxmeta.Artifact{URL: s.url + "/gone", Digest: a.Digest, Revision: revision}),
		},
		"OtherDigest": {
			refs: []helmv2.ValuesReference{fileOf("")}, reason: helmv2.ReasonArtifactFailed, want: "Could not load values: artifact " + s.url + "/config has digest " + a.Digest + ", but its source reports " + emptyDigest,
			source: git(&fluxmeta.Artifact{URL: a.URL, Digest: emptyDigest, Revision: revision}),
		},
	} {
		source := tc.source
		if source == nil {
			source = git(a)
		}
		all := reader(t, source)
		hr := withRefs(tc.refs...)
		r := NewResolver(all, all, s.charts())
		var want Want
		err := r.checkFiles(hr)
		if err == nil {
			want, err = r.Values(t.Context(), hr)
		}
		blocked, is := errors.AsType[*release.Blocked](err)
		switch {
		case tc.reason == "" && (err != nil || fmt.Sprint(want.Values) != tc.want):
			t.Errorf("%s: %v, error %v, want %s", name, want.Values, err, tc.want)
		case tc.reason != "" && (!is || blocked.Reason != tc.reason || !strings.Contains(blocked.Message, tc.want)):
			t.Errorf("%s: %+v, want %s: %s", name, err, tc.reason, tc.want)
		}
	}
}

// transport answers requests in place of a server.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestFilesLeftOut: entries whose files cannot be read, or not in time, are left out with the reason, and
// the time of the caller is not used up by one download.
func TestFilesLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fileServer{url: "http://artifacts", artifacts: map[string][]byte{}}
		named := func(name string) func(*helmv2.ValuesReference) {
			return func(ref *helmv2.ValuesReference) { ref.Name = name }
		}
		slow := git(s.add(t, "slow", "main@sha1:1", map[string]string{"values.yaml": "a: slow"}))
		slow.Name = "slow"
		all := reader(t, slow, git(s.add(t, "config", "main@sha1:1", map[string]string{"values.yaml": "a: 1"})))
		end := make(chan struct{})
		defer close(end)
		charts := chart.NewStore(chart.Options{Workers: workers(), MaxBytes: 1 << 20, Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/slow" {
				<-end
			}
			data := s.artifacts[r.URL.Path]
			return &http.Response{StatusCode: http.StatusOK, Request: r, ContentLength: int64(len(data)), Body: io.NopCloser(bytes.NewReader(data))}, nil
		})}})
		hr := withRefs(fileOf(""), fileOf("", named("slow")), fileOf("", named("gone")), fileOf("no.yaml"))
		left := map[string]error{}
		r := NewResolver(all, all, charts).WithDownloads(all, time.Now).LeavingOut(func(source FileSource, err error) bool {
			left[source.String()] = err
			return source.Key.Name != "gone" || hr.Name != "strict"
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		want, err := r.Values(ctx, hr)
		if err != nil || ctx.Err() != nil || fmt.Sprint(want.Values) != "map[a:1]" || len(left) != 3 {
			t.Errorf("%v, %v, errors %v, %v", want.Values, left, err, ctx.Err())
		}
		if err := left["GitRepository/prod/slow"]; !errors.Is(err, ErrNotInTime) {
			t.Errorf("slow: %v", err)
		}
		if err := left["GitRepository/prod/config"]; !errors.Is(err, errNoFile) {
			t.Errorf("no file: %v", err)
		}
		hr.Name = "strict"
		if _, err := r.Values(ctx, hr); err == nil {
			t.Error("an entry that must not be left out is left out")
		}
	})
}

// TestFilesOfOtherNamespaces: sources of other namespaces have the rule of sources of charts.
func TestFilesOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	s := newFileServer(t)
	repo := git(s.add(t, "config", "main@sha1:1", map[string]string{"values.yaml": "a: 1"}))
	repo.Namespace = "shared"
	hr := withRefs(fileOf("", func(ref *helmv2.ValuesReference) { ref.Namespace = "shared" }))
	all := reader(t, repo)
	r := NewResolver(all, all, s.charts())
	if want, err := r.Values(t.Context(), hr); err != nil || fmt.Sprint(want.Values) != "map[a:1]" {
		t.Errorf("%v, error %v", want.Values, err)
	}
	_, err := r.WithSettings(Settings{NoCrossNamespaceRefs: true}).Resolve(t.Context(), hr, release.Suspension{})
	if blocked, is := errors.AsType[*release.Blocked](err); !is || blocked.Reason != helmv2.ReasonAccessDenied || !blocked.Terminal ||
		blocked.Message != "cross-namespace references are not allowed: cannot access GitRepository shared/config" {
		t.Errorf("%v", err)
	}
}

// TestFilesOfExternalArtifact: values come from an ExternalArtifact, but not from the archive of a
// HelmChart of k3s, which the controller reads with its own rights.
func TestFilesOfExternalArtifact(t *testing.T) {
	t.Parallel()
	s := newFileServer(t)
	o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "config"}}
	o.Status.Artifact = s.add(t, "config", "latest@sha256:1", map[string]string{"values.yaml": "a: 1"})
	hr := withRefs(fileOf("", func(ref *helmv2.ValuesReference) { ref.Kind = helmv2.KindExternalArtifact }))
	settings := Settings{ExternalArtifacts: true}
	all := reader(t, o)
	if want, err := NewResolver(all, all, s.charts()).WithSettings(settings).Values(t.Context(), hr); err != nil || fmt.Sprint(want.Values) != "map[a:1]" {
		t.Errorf("%v, error %v", want.Values, err)
	}
	o.Status.Artifact.URL = "http://" + archive.Host + "/kube-system/x"
	all = reader(t, o)
	_, err := NewResolver(all, all, s.charts()).WithSettings(settings).Values(t.Context(), hr)
	if blocked, is := errors.AsType[*release.Blocked](err); !is || blocked.Reason != helmv2.ReasonAccessDenied {
		t.Errorf("%v", err)
	}
}

// TestFilesAreDownloadedOnce: releases that use one artifact download and unpack it once, and the records
// of releases whose files are the same in another revision have the same digest.
func TestFilesAreDownloadedOnce(t *testing.T) {
	t.Parallel()
	s := newFileServer(t)
	var hrs []*helmv2.HelmRelease
	var patterns []string
	files := map[string]string{}
	for i := range 50 {
		path := fmt.Sprintf("apps/%d/values.yaml", i)
		files[path] = fmt.Sprintf("a: %d", i)
		hr := withRefs(fileOf(path))
		hr.Name = fmt.Sprint("app-", i)
		hrs, patterns = append(hrs, hr), append(patterns, path)
	}
	charts := s.charts()
	used := func(repo *sourcev1.GitRepository) (all []UsedFiles) {
		objects := reader(t, repo)
		r := NewResolver(objects, objects, charts).WithFiles(objects, func(context.Context, string, types.NamespacedName) []string { return patterns })
		for i, hr := range hrs {
			want, err := r.Values(t.Context(), hr)
			if err != nil || len(want.Files) != 1 || fmt.Sprint(want.Values) != fmt.Sprintf("map[a:%s]", files[patterns[i]][3:]) {
				t.Fatalf("%v, %v, error %v", want.Values, want.Files, err)
			}
			loaded, err := r.LoadFiles(t.Context(), hr, repo)
			if err != nil || !slices.Equal(loaded, want.Files) {
				t.Fatalf("%v, want %v, error %v", loaded, want.Files, err)
			}
			all = append(all, want.Files[0])
		}
		return all
	}
	before := used(git(s.add(t, "1", "main@sha1:1", files)))
	if n := s.downloads.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	files["apps/7/values.yaml"] = "a: 70"
	files["README"] = "more"
	after := used(git(s.add(t, "2", "main@sha1:2", files)))
	if n := s.downloads.Load(); n != 2 {
		t.Errorf("%d downloads", n)
	}
	for i := range after {
		if same := before[i].Digest == after[i].Digest; same != (i != 7) {
			t.Errorf("release %d: %v, before %v", i, after[i], before[i])
		}
	}
}

func TestWithFiles(t *testing.T) {
	t.Parallel()
	one := UsedFiles{Kind: "GitRepository", Key: types.NamespacedName{Namespace: "apps", Name: "config"}, Pattern: "./envs/*.yaml", Revision: "main@sha1:0123", Digest: tagDigest}
	const text = "values GitRepository/apps/config main@sha1:0123 (envs/*.yaml sha256:9933f58f8bf4)"
	for name, tc := range map[string]struct {
		revision string
		files    []UsedFiles
		want     string
	}{
		"None":    {"1.0.0", nil, "1.0.0"},
		"One":     {"1.0.0@sha256:1", []UsedFiles{one}, "1.0.0@sha256:1; " + text},
		"NoChart": {"", []UsedFiles{one, one}, text + "; " + text},
		"Absent":  {"1.0.0", []UsedFiles{{Kind: "GitRepository"}}, "1.0.0"},
	} {
		if got := withFiles(tc.revision, tc.files); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := withFiles("1.0.0", slices.Repeat([]UsedFiles{one}, 100)); len(got) > maxFilesRevision || !strings.HasSuffix(got, ")") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestGitMismatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ref      *sourcev1.GitRepositoryRef
		revision string
		want     string
	}{
		"NoReference":     {nil, "main@sha1:1", ""},
		"Branch":          {&sourcev1.GitRepositoryRef{Branch: "main"}, "main@sha1:1", ""},
		"OtherBranch":     {&sourcev1.GitRepositoryRef{Branch: "next"}, "main@sha1:1", "its artifact has the branch main, but next is requested"},
		"Tag":             {&sourcev1.GitRepositoryRef{Branch: "main", Tag: "v1"}, "v1@sha1:1", ""},
		"OtherTag":        {&sourcev1.GitRepositoryRef{Tag: "v2"}, "v1@sha1:1", "its artifact has the tag v1, but v2 is requested"},
		"SemVer":          {&sourcev1.GitRepositoryRef{SemVer: "1.x", Tag: "v9"}, "1.2.0@sha1:1", ""},
		"OtherSemVer":     {&sourcev1.GitRepositoryRef{SemVer: "2.x"}, "1.2.0@sha1:1", "its artifact has version 1.2.0, but 2.x is requested"},
		"Commit":          {&sourcev1.GitRepositoryRef{Commit: "12", Branch: "main"}, "main@sha1:12", ""},
		"CommitOnly":      {&sourcev1.GitRepositoryRef{Commit: "12"}, "sha1:12", ""},
		"OtherCommit":     {&sourcev1.GitRepositoryRef{Commit: "34", Branch: "main"}, "main@sha1:12", "its artifact has the commit sha1:12, but 34 is requested"},
		"Name":            {&sourcev1.GitRepositoryRef{Name: "refs/heads/x", Branch: "main"}, "refs/heads/x@sha1:1", ""},
		"UnknownRevision": {&sourcev1.GitRepositoryRef{Branch: "main"}, "sha1:1", ""},
	} {
		if got := gitMismatch(tc.ref, tc.revision); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
