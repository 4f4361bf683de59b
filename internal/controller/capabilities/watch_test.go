// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package capabilities

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func crd(version string, generation int64, labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "things.example.com", UID: "1", ResourceVersion: version, Generation: generation, Labels: labels,
	}}
}

func service(version, available, message string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "v1.example.com", "resourceVersion": version},
		"spec":     map[string]any{"group": "example.com", "version": "v1"},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": message},
			map[string]any{"type": "Available", "status": available, "message": message},
		}},
	}}
}

// TestChanges: a write that does not change the capabilities is not reported.
func TestChanges(t *testing.T) {
	t.Parallel()
	deleting := crd("2", 1, nil)
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	elsewhere := service("2", "True", "")
	elsewhere.Object["spec"].(map[string]any)["service"] = map[string]any{"name": "x"}
	cases := map[string]struct {
		reason        string
		of            func(any) fingerprint
		before, after any
		want          int
	}{
		"Again":        {"a watch that is resumed may repeat itself", crdFingerprint, crd("1", 1, nil), crd("1", 1, nil), 0},
		"Spec":         {"another version perhaps", crdFingerprint, crd("1", 1, nil), crd("2", 2, nil), 1},
		"Status":       {"it may be established now, which metadata do not tell", crdFingerprint, crd("1", 1, nil), crd("2", 1, nil), 1},
		"Labels":       {"a label is no version", crdFingerprint, crd("1", 1, nil), crd("2", 1, map[string]string{"a": "b"}), 0},
		"SpecLabels":   {"one write can change both", crdFingerprint, crd("1", 1, nil), crd("2", 2, map[string]string{"a": "b"}), 1},
		"Deleting":     {"the server stops to serve it", crdFingerprint, crd("1", 1, nil), deleting, 1},
		"Available":    {"the server offers it again", serviceFingerprint, service("1", "False", ""), service("2", "True", ""), 1},
		"StillMissing": {"only the words changed", serviceFingerprint, service("1", "False", "timeout"), service("2", "False", "refused"), 0},
		"Elsewhere":    {"another server may offer other things", serviceFingerprint, service("1", "True", ""), elsewhere, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := 0
			m := newStore(tc.of, func() { changes++ })
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(m.Replace([]any{tc.before}, ""))
			must(m.Update(tc.after))
			if changes != tc.want {
				t.Errorf("%s: %d changes, want %d", tc.reason, changes, tc.want)
			}
			changes = 0
			must(m.Replace([]any{tc.after}, ""))
			if changes != 1 {
				t.Errorf("the watch was interrupted, but there are %d changes", changes)
			}
			changes = 0
			must(m.Delete(tc.after))
			must(m.Add(tc.after))
			if changes != 2 || len(m.seen) != 1 {
				t.Errorf("removed and added: %d changes, %d seen", changes, len(m.seen))
			}
		})
	}
}

type listener struct {
	mu      sync.Mutex
	watched []bool
}

func (l *listener) Watched(watched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched = append(l.watched, watched)
}

// TestForbidden: changes are reported as not watched, and Start does not fail.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"All": "", "Services": "apiservices"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var once sync.Once
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if refused != "" && !pathHas(r, refused) {
					w.Header().Set("Content-Type", "application/json")
					if r.URL.Query().Get("watch") == "" {
						_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`))
						return
					}
					w.WriteHeader(http.StatusOK)
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					return
				}
				http.Error(w, "refused by the test", http.StatusForbidden)
				once.Do(func() { time.AfterFunc(200*time.Millisecond, cancel) })
			}))
			t.Cleanup(server.Close)
			tell := &listener{}
			d, err := New(&rest.Config{Host: server.URL}, server.Client(), Observer{Changed: func() {}, Watched: tell.Watched})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Start(ctx); err != nil {
				t.Error(err)
			}
			for _, watched := range tell.watched {
				if watched {
					t.Error("changes are reported as watched")
				}
			}
		})
	}
}

func pathHas(r *http.Request, resource string) bool {
	return len(r.URL.Path) >= len(resource) && r.URL.Path[len(r.URL.Path)-len(resource):] == resource
}
