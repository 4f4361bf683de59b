// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
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
	helmchart "helm.sh/helm/v3/pkg/chart"
)

const megabyte = 1 << 20

// pack makes the archive of a chart with one template.
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
		// down closes the server before it is asked.
		down   bool
		digest string
		limit  int64
		want   want
	}{
		"Good": {
			reason:  "a chart whose digest matches is loaded",
			handler: serve(good), digest: goodDigest,
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"OtherAlgorithm": {
			reason:  "the digest says by itself how it was made",
			handler: serve(good), digest: digest.SHA512.FromBytes(good).String(),
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"ExactlyTheLimit": {
			reason:  "the limit itself is allowed",
			handler: serve(good), digest: goodDigest, limit: int64(len(good)),
			want: want{identity: &Identity{Name: "note", Version: "1.2.3", AppVersion: "9"}},
		},
		"LargerThanTheLimit": {
			reason:  "one byte more than the limit is refused, whatever its digest",
			handler: serve(good), digest: goodDigest, limit: int64(len(good)) - 1,
			want: want{err: fmt.Sprintf("is larger than the limit of %d bytes", len(good)-1)},
		},
		"NotFound": {
			reason:  "a missing artifact can be told apart: its source has moved on",
			handler: status(http.StatusNotFound), digest: goodDigest,
			want: want{err: "artifact not found: ", notFound: true},
		},
		"ServerError": {
			reason:  "any other answer is an error of its own",
			handler: status(http.StatusInternalServerError), digest: goodDigest,
			want: want{err: "answered 500 Internal Server Error"},
		},
		"ServerDown": {
			reason:  "a server that cannot be reached is no missing artifact",
			handler: serve(good), down: true, digest: goodDigest,
			want: want{err: "artifact cannot be downloaded: "},
		},
		"CutOff": {
			reason: "a body shorter than announced is never taken for the whole",
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(good)))
				_, _ = w.Write(good[:len(good)/2])
			},
			digest: goodDigest,
			want:   want{err: "broke off: unexpected EOF"},
		},
		"DigestMismatch": {
			reason:  "other bytes than announced are refused",
			handler: serve(pack(t, "note", "6.6.6")), digest: goodDigest,
			want: want{err: "but its source announced " + goodDigest},
		},
		"NoDigest": {
			reason:  "what cannot be verified is not downloaded",
			handler: serve(good), digest: "",
			want: want{err: `has no usable digest ""`},
		},
		"UnknownAlgorithm": {
			reason:  "an algorithm that cannot be computed verifies nothing",
			handler: serve(good), digest: "md5:d41d8cd98f00b204e9800998ecf8427e",
			want: want{err: `has no usable digest "md5:d41d8cd98f00b204e9800998ecf8427e"`},
		},
		"NoArchive": {
			reason:  "bytes that are no archive are an error and no panic",
			handler: serve([]byte("not a chart")), digest: digest.SHA256.FromString("not a chart").String(),
			want: want{err: "cannot be read: "},
		},
		"NoChart": {
			reason:  "an archive without Chart.yaml is no chart",
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
			s := NewStore(&http.Client{Timeout: 10 * time.Second}, limit).WithGrace(time.Minute)
			a := Artifact{URL: server.URL + "/chart.tgz", Digest: tc.digest}

			var got want
			c, err := s.Load(t.Context(), a)
			if err == nil {
				got.identity = &Identity{Name: c.Metadata.Name, Version: c.Metadata.Version, AppVersion: c.Metadata.AppVersion}
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
				if diff := cmp.Diff(*tc.want.identity, id); diff != "" {
					t.Errorf("%s: Identify (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestLoadBadURL(t *testing.T) {
	t.Parallel()
	s := NewStore(http.DefaultClient, megabyte).WithGrace(time.Minute)
	_, err := s.Load(t.Context(), Artifact{URL: "http://\x00", Digest: digest.FromString("").String()})
	if err == nil || !strings.Contains(err.Error(), "artifact URL") {
		t.Errorf("a URL that cannot be parsed must be named: %v", err)
	}
}

// A failure must not be remembered: the server may be back the next time.
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
	s := NewStore(server.Client(), megabyte).WithGrace(time.Minute)
	a := Artifact{URL: server.URL, Digest: digest.FromBytes(good).String()}
	if _, _, err := s.Identify(t.Context(), a, "app"); err == nil {
		t.Fatal("a 503 is an error")
	}
	down.Store(false)
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil {
		t.Errorf("the second try must ask again: %v", err)
	}
}

func TestLoadDownloadsOnce(t *testing.T) {
	t.Parallel()
	a, requests := artifactServer(t, pack(t, "note", "1.2.3"))
	s := NewStore(http.DefaultClient, megabyte).WithGrace(time.Minute)
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
	// The digest is the identity: the same chart at another place is the same chart.
	elsewhere := Artifact{URL: a.URL + "?elsewhere", Digest: a.Digest}
	if _, err := s.Load(t.Context(), elsewhere); err != nil || requests.Load() != 1 {
		t.Errorf("known bytes were downloaded from another URL: %d requests, %v", requests.Load(), err)
	}
}

// Helm changes the chart it renders; the next release must not see it.
func TestChartsAreIndependent(t *testing.T) {
	t.Parallel()
	a, _ := artifactServer(t, pack(t, "note", "1.2.3"))
	s := NewStore(http.DefaultClient, megabyte).WithGrace(time.Minute)
	load := func() *helmchart.Chart {
		t.Helper()
		c, err := s.Load(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	spoiled := load()
	spoiled.Metadata.Version = "6.6.6"
	spoiled.Values["message"] = "spoiled"
	for i := range spoiled.Templates[0].Data {
		spoiled.Templates[0].Data[i] = 'x'
	}
	for i := range spoiled.Raw[0].Data {
		spoiled.Raw[0].Data[i] = 'x'
	}
	fresh := load()
	if fresh.Metadata.Version != "1.2.3" || fresh.Values["message"] != "default" ||
		!strings.HasPrefix(string(fresh.Templates[0].Data), "apiVersion: v1") {
		t.Errorf("a change of one chart reached another: %+v, %v, %q", fresh.Metadata, fresh.Values, fresh.Templates[0].Data)
	}
	if id, _, err := s.Identify(t.Context(), a, "app"); err != nil || id.Version != "1.2.3" {
		t.Errorf("a change of a chart reached its identity: %+v, %v", id, err)
	}
}

// Only bytes are dropped for room; what they were is remembered.
func TestEviction(t *testing.T) {
	t.Parallel()
	const room, size = 1000, 251
	c := newCache(room)
	block := make([]byte, size)
	type want struct {
		held int64
		kept []string
	}
	check := func(reason string, w want) {
		t.Helper()
		if diff := cmp.Diff(w, want{held: c.bytesHeld, kept: c.bytes.Keys()}, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		c.keepBytes(key, block)
	}
	check("three of four fit", want{held: 3 * size, kept: []string{"a", "b", "c"}})
	c.keepBytes("a", block)
	check("keeping the same bytes twice does not count them twice", want{held: 3 * size, kept: []string{"a", "b", "c"}})
	c.bytes.Get("a")
	c.keepBytes("d", block)
	check("the one unused for longest goes", want{held: 3 * size, kept: []string{"c", "a", "d"}})
	c.keepBytes("huge", make([]byte, room+1))
	check("what would evict everything is not kept at all", want{held: 3 * size, kept: []string{"c", "a", "d"}})
	c.keepBytes("whole", make([]byte, room))
	check("what just fits takes the room of all others", want{held: room, kept: []string{"whole"}})
}

// Bytes can be had again only by a download, a parsed chart from the bytes: these
// have the room that is left.
func TestParsedChartsMakeRoom(t *testing.T) {
	t.Parallel()
	parsed := func(size int) *helmchart.Chart {
		return &helmchart.Chart{Raw: []*helmchart.File{{Data: make([]byte, size-fileOverhead-valueOverhead)}}}
	}
	const room = 10_000
	c := newCache(room)
	type want struct {
		held int64
		kept []string
	}
	check := func(reason string, w want) {
		t.Helper()
		if diff := cmp.Diff(w, want{held: c.parsedHeld, kept: c.parsed.Keys()}, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	c.keepBytes("a", make([]byte, 1000))
	for _, key := range []string{"a", "b", "c"} {
		c.keepParsed(key, parsed(3000))
	}
	check("what fits beside the bytes is kept", want{held: 9000, kept: []string{"a", "b", "c"}})
	c.keepParsed("a", parsed(3000))
	check("the same twice does not count twice", want{held: 9000, kept: []string{"a", "b", "c"}})
	c.keepParsed("d", parsed(3000))
	check("the one unused for longest goes", want{held: 9000, kept: []string{"b", "c", "d"}})
	c.keepParsed("huge", parsed(9001))
	check("what does not fit beside the bytes is not kept", want{held: 9000, kept: []string{"b", "c", "d"}})
	c.keepBytes("e", make([]byte, 1000))
	check("bytes push out parsed charts", want{held: 6000, kept: []string{"c", "d"}})
	if got := c.bytes.Keys(); len(got) != 2 {
		t.Errorf("parsed charts pushed out bytes: %v", got)
	}
}

// The same memory in several places is counted once, as is what a subchart has of
// its parent's files; values count too.
func TestSizeOf(t *testing.T) {
	t.Parallel()
	data := make([]byte, 1000)
	sub := &helmchart.Chart{Raw: []*helmchart.File{{Data: data}}}
	c := &helmchart.Chart{
		Raw: []*helmchart.File{{Data: data}}, Templates: []*helmchart.File{{Data: data}}, Files: []*helmchart.File{{Data: make([]byte, 10)}},
		Values: map[string]any{"key": []any{"value", 1.0}},
	}
	c.AddDependency(sub)
	want := int64(1000 + 10 + 4*fileOverhead + len("key") + len("value") + 5*valueOverhead)
	if got := sizeOf(c); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// A chart larger than the cache can still be used.
func TestLoadEvicted(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	a, requests := artifactServer(t, data)
	s := NewStore(http.DefaultClient, megabyte).WithGrace(time.Minute)
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil {
		t.Fatal(err)
	}
	s.cache.bytes.Purge()
	if s.cache.bytesHeld != 0 {
		t.Errorf("an empty cache holds %d bytes", s.cache.bytesHeld)
	}
	if _, _, err := s.Identify(t.Context(), a, "app"); err != nil || requests.Load() != 1 {
		t.Errorf("the identity of evicted bytes is still known: %d requests, %v", requests.Load(), err)
	}
	if _, err := s.Load(t.Context(), a); err != nil || requests.Load() != 2 {
		t.Errorf("evicted bytes are downloaded again: %d requests, %v", requests.Load(), err)
	}
}

// gate is a transport that answers once it is opened; it works without sockets,
// so that synctest can tell when everybody waits.
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

func TestConcurrentLoadsShareOneDownload(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/chart": data}}
		s := NewStore(&http.Client{Transport: g, Timeout: time.Minute}, megabyte)
		a := Artifact{URL: "http://source/chart", Digest: digest.FromBytes(data).String()}
		charts := make(chan *helmchart.Chart, 8)
		var wg sync.WaitGroup
		for range cap(charts) {
			wg.Go(func() {
				c, err := s.Load(t.Context(), a)
				if err != nil {
					t.Error(err)
				}
				charts <- c
			})
		}
		synctest.Wait()
		close(g.open)
		wg.Wait()
		close(charts)
		if n := g.requests.Load(); n != 1 {
			t.Errorf("%d downloads of the same chart at the same time", n)
		}
		seen := map[*helmchart.Chart]bool{}
		for c := range charts {
			if seen[c] {
				t.Error("two callers were given the same chart")
			}
			seen[c] = true
		}
	})
}

func TestCancelledCallerDoesNotPoisonOthers(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/chart": data}}
		s := NewStore(&http.Client{Transport: g, Timeout: time.Minute}, megabyte)
		a := Artifact{URL: "http://source/chart", Digest: digest.FromBytes(data).String()}
		errs := map[string]chan error{"first": make(chan error, 1), "second": make(chan error, 1), "third": make(chan error, 1)}
		load := func(ctx context.Context, who string) {
			go func() {
				_, err := s.Load(ctx, a)
				errs[who] <- err
			}()
			// Everybody is where he waits before the next one comes.
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
				t.Errorf("the caller who did not download and was cancelled got %v", err)
			}
		default:
			t.Error("a cancelled caller waits for somebody else's download")
		}
		close(g.open)
		if err := <-errs["second"]; err != nil {
			t.Errorf("the caller who was not cancelled got %v", err)
		}
		if n := g.requests.Load(); n != 1 {
			t.Errorf("%d downloads", n)
		}
	})
}

// A download that nobody waits for any more ends by the client's timeout.
func TestTimeoutBoundsTheDownload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		s := NewStore(&http.Client{Transport: g, Timeout: time.Minute}, megabyte)
		begun := time.Now()
		_, err := s.Load(t.Context(), Artifact{URL: "http://source/chart", Digest: digest.FromString("never").String()})
		if err == nil || time.Since(begun) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// Two servers may hold the same bytes; that one has lost them says nothing about
// the other.
func TestLostArtifactDoesNotPoisonAnotherServer(t *testing.T) {
	t.Parallel()
	data := pack(t, "note", "1.2.3")
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), data: map[string][]byte{"/there": data}}
		s := NewStore(&http.Client{Transport: g, Timeout: time.Minute}, megabyte)
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
			t.Errorf("the other server has it: %v", err)
		}
	})
}

// Random bytes of every size must be refused without a panic.
func TestLoadRandomBytes(t *testing.T) {
	t.Parallel()
	for size := 0; size < 4096; size += 511 {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		a, _ := artifactServer(t, data)
		if _, err := NewStore(http.DefaultClient, megabyte).Load(t.Context(), a); err == nil {
			t.Errorf("%d random bytes are no chart", size)
		}
	}
}
