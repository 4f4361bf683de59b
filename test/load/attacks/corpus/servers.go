// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	tooMuch = "has more than 8388608 bytes"
	// tooManyGroups is the same for lists of API groups.
	tooManyGroups = "has more than 16777216 bytes"
	// redirected is the error of a request that is answered with a redirect.
	redirected = "answers with a redirect (307 Temporary Redirect), which is not followed"
	// gibibytes is the size of an answer of a hostile server, in mebibytes.
	gibibytes = 4 << 10
)

// servers returns attacks by API servers, which a kubeconfig of a tenant names. They forward the
// requests that they do not answer to the real API server.
func servers() []Attack {
	unusable := func(limits ...string) Outcome {
		return Outcome{Reason: helmv2.ReasonStateError, Limits: limits}
	}
	every := func(*http.Request) bool { return true }
	silent := func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	server := func(name string, on func(*http.Request) bool, answer http.HandlerFunc, outcome Outcome) Attack {
		return Attack{Name: "servers/" + name, Server: replacing(on, answer), Edit: Elsewhere, Outcome: outcome}
	}
	dwelling := func(a Attack) Attack { a.Dwell = 10 * time.Second; return a }
	compressed := server("compressed", secrets, gzipped, unusable(tooMuch))
	compressed.Worst = true
	endless := server("endless-list", secrets, pages, unusable("all pages together have more than 33554432 bytes"))
	endless.Worst = true
	slowWrites := server("slow-writes", every, nil, harmless())
	slowWrites.Server, slowWrites.Edit = delayed, func(hr *helmv2.HelmRelease) {
		Elsewhere(hr)
		hr.Spec.Timeout = &metav1.Duration{Duration: time.Minute}
	}
	return []Attack{
		server("silent", every, silent, unusable("no answer in time")),
		slowWrites,
		server("slow", every, drips, unusable("sends fewer than 65536 bytes a second")),
		server("silent-lists", secrets, silent, unusable("has sent no answer within 15s")),
		server("slow-discovery", discovery, drips, rejected(helmv2.ReasonInterrupted, "has been unavailable since")),
		server("endless", secrets, blanks, unusable(tooMuch)),
		compressed,
		server("compressed-discovery", discovery, gzipped, failed(tooManyGroups)),
		endless,
		server("redirects", secrets, redirects, unusable(redirected)),
		server("redirects-elsewhere", secrets, redirectsElsewhere, unusable(redirected)),
		server("redirected-probe", every, redirects, unusable(redirected)),
		server("other-json", secrets, otherJSON(http.StatusOK), unusable("is no API server: it answers 200 OK with application/json")),
		server("other-errors", secrets, otherJSON(http.StatusForbidden), unusable("403 Forbidden with application/json, which is no Status of Kubernetes")),
		server("deep-list", secrets, deep, unusable("exceeded max depth")),
		server("many-records", secrets, records(1<<30), unusable(tooMuch)),
		server("records-below-the-limit", secrets, records(45_000), unusable("its JSON is not that of a Helm release")),
		server("pages-of-records", secrets, recordPages, unusable("there are more than 50000 records of Helm", "all pages together have more than 33554432 bytes")),
		server("many-groups", discovery, groups, failed("versions of API groups, more than 2000")),
		server("headers", every, headers, unusable("headers exceeded 10485760 bytes")),
		dwelling(server("endless-page", lists, metadataPages, harmless())),
		dwelling(server("endless-watch", watches, events, harmless())),
	}
}

// replacing returns a server that answers some requests, and forwards the others.
func replacing(on func(*http.Request) bool, answer http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if on(r) {
				answer(rw, r)
				return
			}
			next.ServeHTTP(rw, r)
		})
	}
}

// delayed returns a server that takes each write just long enough for its action to release its slot,
// which it then needs again.
func delayed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(2010 * time.Millisecond):
			}
		}
		next.ServeHTTP(rw, r)
	})
}

// secrets reports whether a request reads the records of Helm.
func secrets(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/secrets") && !watches(r)
}

func discovery(r *http.Request) bool { return r.URL.Path == "/apis" || r.URL.Path == "/api" }

func watches(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// lists reports whether a request lists objects of a release.
func lists(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps") && !watches(r)
}

// send sends a formatted text, and reports whether the client is still there.
func send(rw http.ResponseWriter, format string, args ...any) bool {
	_, err := fmt.Fprintf(rw, format, args...)
	return err == nil
}

// drips sends a byte a second.
func drips(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	for {
		if _, err := rw.Write([]byte(" ")); err != nil || http.NewResponseController(rw).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// blanks sends blanks without end.
func blanks(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	blank := []byte(strings.Repeat(" ", 1<<16))
	for {
		if _, err := rw.Write(blank); err != nil {
			return
		}
	}
}

// gzipped sends gibibytes of blanks as mebibytes of gzip.
func gzipped(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(rw)
	blank := []byte(strings.Repeat(" ", 1<<20))
	for range gibibytes {
		if _, err := zip.Write(blank); err != nil {
			return
		}
	}
	_ = zip.Close() // the client has gone
}

// redirects leads back to itself.
func redirects(rw http.ResponseWriter, r *http.Request) {
	http.Redirect(rw, r, r.URL.String(), http.StatusTemporaryRedirect)
}

// redirectsElsewhere leads to another host, for the credentials of the kubeconfig.
func redirectsElsewhere(rw http.ResponseWriter, r *http.Request) {
	http.Redirect(rw, r, "http://localhost:9"+r.URL.Path, http.StatusTemporaryRedirect)
}

// otherJSON answers like a service of the internal network, for the error that quotes it.
func otherJSON(code int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(code)
		send(rw, `{"access_token":"of another service"}`)
	}
}

// deep sends a list that is nested without end.
func deep(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte(`{"kind":"SecretList","apiVersion":"v1","items":` + strings.Repeat("[", 7<<20))) // the client has gone
}

// records sends n records of Helm without content.
func records(n int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		send(rw, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}`)
		for i := range n {
			if !send(rw, `,{"metadata":{"name":"sh.helm.release.v1.a.v%d","namespace":"a","labels":{"owner":"helm","name":"a","status":"deployed","version":"%d"}},"data":{}}`, i, i) {
				return
			}
		}
		send(rw, "]}")
	}
}

// recordPages sends pages of records, each with a next one.
func recordPages(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	send(rw, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"more"},"items":[{}`)
	for range 70_000 {
		if !send(rw, `,{"metadata":{"name":"sh.helm.release.v1.a.v1","labels":{"a":"b","c":"d","e":"f","g":"h"}}}`) {
			return
		}
	}
	send(rw, "]}")
}

// pages sends pages of a list, each with a next one.
func pages(rw http.ResponseWriter, _ *http.Request) { page(rw, "SecretList", "v1", 5<<10) }

// metadataPages sends pages of metadata, each with a next one.
func metadataPages(rw http.ResponseWriter, _ *http.Request) {
	page(rw, "PartialObjectMetadataList", "meta.k8s.io/v1", 10<<10)
}

// page sends a page with a number of objects, of a kibibyte each.
func page(rw http.ResponseWriter, kind, version string, objects int) {
	rw.Header().Set("Content-Type", "application/json")
	send(rw, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1","continue":"more"},"items":[`, kind, version)
	text := strings.Repeat("x", 1<<10)
	for i := range objects {
		if i > 0 {
			send(rw, ",")
		}
		if !send(rw, `{"metadata":{"name":"a%d","namespace":"a","resourceVersion":"1","annotations":{"a":%q}}}`, i, text) {
			return
		}
	}
	send(rw, "]}")
}

// groups sends as many API groups as an answer may have.
func groups(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	send(rw, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`)
	for i := range 120_000 {
		if i > 0 {
			send(rw, ",")
		}
		send(rw, `{"name":"g%d","versions":[{"groupVersion":"g%d/v1","version":"v1"}],"preferredVersion":{"groupVersion":"g%d/v1","version":"v1"}}`, i, i, i)
	}
	send(rw, "]}")
}

// headers sends headers of mebibytes.
func headers(rw http.ResponseWriter, _ *http.Request) {
	for i := range 1000 {
		rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 100<<10))
	}
}

// events sends events of a watch without end, each for a new object.
func events(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json;stream=watch")
	encoder, text := json.NewEncoder(rw), strings.Repeat("x", 100<<10)
	for i := 0; ; i++ {
		err := encoder.Encode(map[string]any{"type": "ADDED", "object": map[string]any{
			"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
			"metadata": map[string]any{"name": fmt.Sprint("a", i), "namespace": "a", "resourceVersion": fmt.Sprint(i), "annotations": map[string]string{"a": text}},
		}})
		if err != nil {
			return
		}
	}
}
