// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestAnnouncedForDeleted: a HelmRelease is deleted while its first action is announced, and may be
// created again under the same name. No action starts for the deleted one.
func TestAnnouncedForDeleted(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"gone": false, "recreated": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var meanwhile atomic.Pointer[func() error]
			// The controller does not receive the deletion until this is closed.
			seen := make(chan struct{})
			see := sync.OnceFunc(func() { close(seen) })
			t.Cleanup(see)
			deleted := func() error {
				ctx := context.WithoutCancel(t.Context())
				hr := &helmv2.HelmRelease{}
				err := suite.client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, hr)
				if err != nil {
					return err
				}
				hr.Finalizers = nil
				err = errors.Join(suite.client.Update(ctx, hr), suite.client.Delete(ctx, hr))
				if again {
					hr = &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name, Labels: hr.Labels}, Spec: hr.Spec}
					hr.Spec.Values = rawValues(t, map[string]any{"message": "again"})
					err = errors.Join(err, suite.client.Create(ctx, hr))
				}
				return err
			}
			meanwhile.Store(&deleted)
			answered := make(chan int, 1)
			// Before the controller starts, so that no event of the source reconciles a second time.
			w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
			var sent atomic.Int32
			mine := w.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
				return transport(func(req *http.Request) (*http.Response, error) {
					if req.URL.Query().Get("watch") != "" && strings.HasSuffix(req.URL.Path, "/helmreleases") {
						resp, err := next.RoundTrip(req)
						if err == nil {
							resp.Body = &delayed{resp.Body, &meanwhile, seen}
						}
						return resp, err
					}
					announcement := req.Method == http.MethodPatch && announces(req)
					if announcement {
						sent.Add(1)
					}
					do := meanwhile.Load()
					if !announcement || do == nil || !meanwhile.CompareAndSwap(do, nil) {
						return next.RoundTrip(req)
					}
					if err := (*do)(); err != nil {
						return nil, err
					}
					resp, err := next.RoundTrip(req)
					if err == nil {
						answered <- resp.StatusCode
					}
					return resp, err
				})
			}})
			hr := w.release("web", nil, mine)
			if again {
				if code := <-answered; code != http.StatusConflict {
					t.Errorf("the announcement is answered with %d", code)
				}
				see()
				w.untilReady(hr)
				if message := w.configMap("web").Data["message"]; message != "again" || len(w.stored("web")) != 1 {
					t.Errorf("%d revisions, with message %q; want one of the new HelmRelease", len(w.stored("web")), message)
				}
				return
			}
			if code := <-answered; code != http.StatusNotFound {
				t.Errorf("the announcement is answered with %d", code)
			}
			w.idle(hr)
			if n := sent.Load(); n != 1 {
				t.Errorf("the announcement is sent %d times, want once", n)
			}
			if n := len(w.stored("web")); n != 0 {
				t.Errorf("%d revisions are stored for a HelmRelease that is gone", n)
			}
		})
	}
}

// announces reports whether a request announces an install. The status may be written before that:
// the HelmRelease may be read before its source.
func announces(req *http.Request) bool {
	if !strings.HasSuffix(req.URL.Path, "/helmreleases/web/status") {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close() //nolint:errcheck // it is in memory
	patch, err := io.ReadAll(body)
	return err == nil && bytes.Contains(patch, []byte("Running 'install'"))
}

// delayed is the body of a watch. Once meanwhile has been received, reads block until seen is
// closed.
type delayed struct {
	io.ReadCloser
	meanwhile *atomic.Pointer[func() error]
	seen      <-chan struct{}
}

// Read implements io.Reader.
func (d *delayed) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if d.meanwhile.Load() == nil {
		<-d.seen
	}
	return n, err
}
