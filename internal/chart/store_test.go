// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

const megabyte = 1 << 20

// workers returns a worker that parses charts in this process.
func workers() worker.Caller { return worker.Local{Handler: handler.New()} }

// pack returns the archive of a chart with one template.
func pack(t *testing.T, name, version string) []byte {
	t.Helper()
	return archive(t, map[string]string{
		name + "/Chart.yaml":          fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"9\"\n", name, version),
		name + "/values.yaml":         "message: default\n",
		name + "/templates/note.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n",
	})
}

func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for name, content := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// artifactServer serves the same bytes at every path and counts requests.
func artifactServer(t *testing.T, data []byte) (Artifact, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return Artifact{URL: server.URL + "/chart.tgz", Digest: digest.SHA256.FromBytes(data).String()}, &requests
}

// TestLoad: Load and Identify return verified charts only.
func TestLoad(t *testing.T) {
	t.Parallel()
	good := pack(t, "note", "1.2.3")
	goodDigest := digest.SHA256.FromBytes(good).String()
	serve := func(data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no chart here", code) }
	}
	noChart := archive(t, map[string]string{"note/README.md": "nothing else"})

	type want struct {
		identity *Identity
		err      string
		notFound bool
	}
	cases := map[string]struct {
		reason  string
		handler http.HandlerFunc
		// down closes the server before the request.
		down   bool
		digest string
		limit  int64
		want   want
	}{
		"Good": {
			reason:  "a chart with the right digest is loaded",
			handler: serve(good), digest: goodDigest,
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"OtherAlgorithm": {
			reason:  "the algorithm is part of the digest",
			handler: serve(good), digest: digest.SHA512.FromBytes(good).String(),
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"ExactlyTheLimit": {
			reason:  "an artifact may have the size of the limit",
			handler: serve(good), digest: goodDigest, limit: int64(len(good)),
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"LargerThanTheLimit": {
			reason:  "a larger artifact is rejected",
			handler: serve(good), digest: goodDigest, limit: int64(len(good)) - 1,
			want: want{err: fmt.Sprintf("is larger than the limit of %d bytes", len(good)-1)},
		},
		"NotFound": {
			reason:  "a missing artifact is ErrNotFound",
			handler: status(http.StatusNotFound), digest: goodDigest,
			want: want{err: "artifact not found: ", notFound: true},
		},
		"ServerError": {
			reason:  "other statuses are errors",
			handler: status(http.StatusInternalServerError), digest: goodDigest,
			want: want{err: "answered 500 Internal Server Error"},
		},
		"ServerDown": {
			reason:  "a connection error is not ErrNotFound",
			handler: serve(good), down: true, digest: goodDigest,
			want: want{err: "artifact cannot be downloaded: "},
		},
		"Incomplete": {
			reason: "an incomplete body is an error",
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(good)))
				_, _ = w.Write(good[:len(good)/2])
			},
			digest: goodDigest,
			want:   want{err: "was not received completely: unexpected EOF"},
		},
		"DigestMismatch": {
			reason:  "bytes with another digest are rejected",
			handler: serve(pack(t, "note", "6.6.6")), digest: goodDigest,
			want: want{err: "but its source reports " + goodDigest},
		},
		"NoDigest": {
			reason:  "an artifact without a digest is not downloaded",
			handler: serve(good), digest: "",
			want: want{err: `has no usable digest ""`},
		},
		"UnknownAlgorithm": {
			reason:  "an unknown algorithm is an error",
			handler: serve(good), digest: "md5:d41d8cd98f00b204e9800998ecf8427e",
			want: want{err: `has no usable digest "md5:d41d8cd98f00b204e9800998ecf8427e"`},
		},
		"NoArchive": {
			reason:  "bytes that are not an archive are an error",
			handler: serve([]byte("not a chart")), digest: digest.SHA256.FromString("not a chart").String(),
			want: want{err: "/chart.tgz cannot be read: "},
		},
		"NoChart": {
			reason:  "an archive without Chart.yaml is an error",
			handler: serve(noChart), digest: digest.SHA256.FromBytes(noChart).String(),
			want: want{err: "Chart.yaml file is missing"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tc.handler)
			defer server.Close()
			if tc.down {
				server.Close()
			}
			limit := tc.limit
			if limit == 0 {
				limit = megabyte
			}
			s := NewStore(Options{Workers: workers(), Client: &http.Client{}, MaxBytes: limit, Grace: time.Minute})
			a := Artifact{URL: server.URL + "/chart.tgz", Digest: tc.digest}

			var got want
			_, err := s.Load(t.Context(), a)
			if err == nil {
				f, err := s.Facts(t.Context(), a)
				if err != nil {
					t.Error(err)
				}
				got.identity = &Identity{Name: f.Name, Version: f.Version, AppVersion: f.AppVersion}
			} else {
				got.notFound = errors.Is(err, ErrNotFound)
				if got.err = err.Error(); tc.want.err != "" && strings.Contains(got.err, tc.want.err) {
					got.err = tc.want.err
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s: Load (-want +got):\n%s", tc.reason, diff)
			}
			id, _, err := s.Identify(t.Context(), a, "app")
			if (err == nil) != (tc.want.identity != nil) {
				t.Errorf("%s: Identify: %v", tc.reason, err)
			}
			if tc.want.identity != nil {
				id.Content = ""
				if diff := cmp.Diff(*tc.want.identity, id); diff != "" {
					t.Errorf("%s: Identify (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// TestLoadBadURL: the error contains an invalid URL.
func TestLoadBadURL(t *testing.T) {
	t.Parallel()
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute})
	_, err := s.Load(t.Context(), Artifact{URL: "http://\x00", Digest: digest.FromString("").String()})
	if err == nil || !strings.Contains(err.Error(), "artifact URL") {
		t.Errorf("the error does not name the URL: %v", err)
	}
}

// TestFailuresAreNotKept: errors are not cached.
func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	good := pack(t, "note", "1.2.3")
	var down atomic.Bool
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(good)
	}))
	defer server.Close()
	s := NewStore(Options{Workers: workers(), Client: server.Client(), MaxBytes: megabyte, Grace: time.Minute})
	a := Artifact{URL: server.URL, Digest: digest.FromBytes(good).String()}
	if _, _, err := s.Identify(t.Context(), a, "app"); err == nil {
		t.Fatal("a 503 is an error")
	}
	down.Store(false)
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil {
		t.Errorf("the second try failed: %v", err)
	}
}

// TestLoadDownloadsOnce: an artifact is downloaded once.
func TestLoadDownloadsOnce(t *testing.T) {
	t.Parallel()
	a, requests := artifactServer(t, pack(t, "note", "1.2.3"))
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute})
	for range 3 {
		if _, err := s.Load(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Identify(t.Context(), a, "app"); err != nil {
			t.Fatal(err)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the same digest was downloaded %d times", n)
	}
	// Artifacts with the same digest are equal, whatever their URL.
	elsewhere := Artifact{URL: a.URL + "?elsewhere", Digest: a.Digest}
	if _, err := s.Load(t.Context(), elsewhere); err != nil || requests.Load() != 1 {
		t.Errorf("known bytes were downloaded from another URL: %d requests, %v", requests.Load(), err)
	}
}

// TestEviction: the cache evicts the archive that was not used for the longest time.
func TestEviction(t *testing.T) {
	t.Parallel()
	const limit, size = 1000, 251
	c := newCache(limit)
	block := make([]byte, size)
	type want struct {
		size int64
		kept []string
	}
	check := func(reason string, w want) {
		t.Helper()
		if diff := cmp.Diff(w, want{size: c.archiveBytes, kept: c.archives.Keys()}, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		c.keepArchive(key, block)
	}
	check("three of four fit", want{size: 3 * size, kept: []string{"a", "b", "c"}})
	c.keepArchive("a", block)
	check("the same archive counts once", want{size: 3 * size, kept: []string{"a", "b", "c"}})
	c.archives.Get("a")
	c.keepArchive("d", block)
	check("the least recently used one is evicted", want{size: 3 * size, kept: []string{"c", "a", "d"}})
	c.keepArchive("huge", make([]byte, limit+1))
	check("an archive larger than the cache is not cached", want{size: 3 * size, kept: []string{"c", "a", "d"}})
	c.keepArchive("whole", make([]byte, limit))
	check("an archive as large as the cache evicts all others", want{size: limit, kept: []string{"whole"}})
}

// TestLoadEvicted: evicted archives are downloaded again, but their identity is known.
func TestLoadEvicted(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	a, requests := artifactServer(t, data)
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute})
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil {
		t.Fatal(err)
	}
	s.cache.archives.Purge()
	if s.cache.archiveBytes != 0 {
		t.Errorf("an empty cache holds %d bytes", s.cache.archiveBytes)
	}
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil || requests.Load() != 1 {
		t.Errorf("the identity of an evicted archive is unknown: %d requests, %v", requests.Load(), err)
	}
	if _, err := s.Load(t.Context(), a); err != nil || requests.Load() != 2 {
		t.Errorf("an evicted archive was not downloaded again: %d requests, %v", requests.Load(), err)
	}
}

// gate is a transport that responds once it is opened. It uses no sockets, so that synctest.Wait
// returns when all goroutines wait.
type gate struct {
	open     chan struct{}
	data     map[string][]byte
	requests atomic.Int32
}

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	g.requests.Add(1)
	select {
	case <-g.open:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	rec := httptest.NewRecorder()
	if data, ok := g.data[req.URL.Path]; ok {
		_, _ = rec.Write(data)
	} else {
		rec.WriteHeader(http.StatusNotFound)
	}
	return rec.Result(), nil
}

// TestConcurrentLoadsShareOneDownload: concurrent calls download an artifact once.
func TestConcurrentLoadsShareOneDownload(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/chart": data}}
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: g, Timeout: time.Minute}, MaxBytes: megabyte})
		a := Artifact{URL: "http://source/chart", Digest: digest.FromBytes(data).String()}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if got, err := s.Load(t.Context(), a); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		synctest.Wait()
		close(g.open)
		wg.Wait()
		if n := g.requests.Load(); n != 1 {
			t.Errorf("%d downloads of the same chart at the same time", n)
		}
	})
}

// TestCancelledCallerDoesNotAffectOthers: cancellation ends the wait of one caller, and not the
// download.
func TestCancelledCallerDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/chart": data}}
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: g, Timeout: time.Minute}, MaxBytes: megabyte})
		a := Artifact{URL: "http://source/chart", Digest: digest.FromBytes(data).String()}
		errs := map[string]chan error{"first": make(chan error, 1), "second": make(chan error, 1), "third": make(chan error, 1)}
		load := func(ctx context.Context, caller string) {
			go func() {
				_, err := s.Load(ctx, a)
				errs[caller] <- err
			}()
			// The next caller starts when this one waits.
			synctest.Wait()
		}
		first, cancelFirst := context.WithCancel(t.Context())
		third, cancelThird := context.WithCancel(t.Context())
		defer cancelThird()
		load(first, "first")
		load(t.Context(), "second")
		load(third, "third")

		cancelFirst()
		synctest.Wait()
		select {
		case err := <-errs["first"]:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller got %v", err)
			}
		default:
			t.Error("the cancelled caller still waits for the download")
		}
		cancelThird()
		synctest.Wait()
		select {
		case err := <-errs["third"]:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller that did not start the download got %v", err)
			}
		default:
			t.Error("a cancelled caller still waits for the download of another one")
		}
		close(g.open)
		if err := <-errs["second"]; err != nil {
			t.Errorf("the caller that was not cancelled got %v", err)
		}
		if n := g.requests.Load(); n != 1 {
			t.Errorf("%d downloads", n)
		}
	})
}

// TestTimeoutBoundsTheDownload: the client's timeout ends a download.
func TestTimeoutBoundsTheDownload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: g, Timeout: time.Minute}, MaxBytes: megabyte})
		begun := time.Now()
		_, err := s.Load(t.Context(), Artifact{URL: "http://source/chart", Digest: digest.FromString("never").String()})
		if err == nil || time.Since(begun) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// TestLostArtifactDoesNotAffectAnotherServer: an artifact that one server has lost is downloaded
// from another one.
func TestLostArtifactDoesNotAffectAnotherServer(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/there": data}}
		s := NewStore(Options{Workers: workers(), Client: &http.Client{Transport: g, Timeout: time.Minute}, MaxBytes: megabyte})
		lost, there := make(chan error, 1), make(chan error, 1)
		d := digest.FromBytes(data).String()
		go func() { _, err := s.Load(t.Context(), Artifact{URL: "http://a/lost", Digest: d}); lost <- err }()
		synctest.Wait()
		go func() { _, err := s.Load(t.Context(), Artifact{URL: "http://b/there", Digest: d}); there <- err }()
		synctest.Wait()
		close(g.open)
		if err := <-lost; !errors.Is(err, ErrNotFound) {
			t.Errorf("the lost artifact: %v", err)
		}
		if err := <-there; err != nil {
			t.Errorf("the artifact of the other server: %v", err)
		}
	})
}

// TestFacts: facts are cached with the identity, even if no archives are cached.
func TestFacts(t *testing.T) {
	t.Parallel()
	a, requests := artifactServer(t, pack(t, "note", "1.2.3"))
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute, NoCache: true})
	for range 2 {
		if got, err := s.Facts(t.Context(), a); err != nil || got != (remote.Facts{Name: "note", Version: "1.2.3", AppVersion: "9", Content: got.Content}) {
			t.Errorf("facts %+v, %v", got, err)
		}
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
	if _, err := s.Facts(t.Context(), Artifact{URL: "http://\x00"}); err == nil {
		t.Error("no error for an artifact with an invalid URL")
	}
}

// TestWorkerDies: the death of a worker is an error of one call.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	a, _ := artifactServer(t, pack(t, "note", "1.2.3"))
	s := NewStore(Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute})
	s.charts = remote.New(dying{})
	if _, _, err := s.Identify(t.Context(), a, "app"); err == nil || !strings.HasPrefix(err.Error(), "chart in "+a.URL+" cannot be read: reading the chart took more than 256 MiB of memory, and was ended") {
		t.Errorf("error %v", err)
	}
	s.charts = remote.New(workers())
	if id, _, err := s.Identify(t.Context(), a, "app"); err != nil || id.Name != "note" {
		t.Errorf("the next call: %+v, %v", id, err)
	}
}

// dying is a worker that dies.
type dying struct{}

func (dying) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Died{Limit: worker.Memory, MaxMemory: 256 << 20}
}

// TestNoWorker: without a worker, an artifact is downloaded, and read later.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	a, requests := artifactServer(t, pack(t, "note", "1.2.3"))
	var downloads []error
	s := NewStore(Options{
		Workers: absent{}, Client: http.DefaultClient, MaxBytes: megabyte, Grace: time.Minute,
		Now: time.Now, Downloaded: func(_ time.Duration, _ int64, err error) { downloads = append(downloads, err) },
	})
	for range 2 {
		_, _, err := s.Identify(t.Context(), a, "app")
		var unread *Unread
		if !errors.As(err, &unread) || err.Error() != "chart in "+a.URL+" has not been read: no worker process is available: starting one failed" {
			t.Errorf("error %v", err)
		}
	}
	s.charts = remote.New(workers())
	if id, _, err := s.Identify(t.Context(), a, "app"); err != nil || id.Name != "note" || requests.Load() != 1 {
		t.Errorf("with a worker: %+v, %v, after %d downloads", id, err, requests.Load())
	}
	if len(downloads) != 1 || downloads[0] != nil {
		t.Errorf("the downloads ended with %v", downloads)
	}
}

// absent is a worker that cannot be started.
type absent struct{}

func (absent) Call(context.Context, worker.Call, worker.Answer) ([]byte, error) {
	return nil, &worker.Unavailable{Cause: "starting one failed"}
}
