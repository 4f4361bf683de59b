// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/view"
)

// remoteRelease returns a release in another cluster with one object.
func remoteRelease() *helmv2.HelmRelease {
	hr := newRelease("apps", "web")
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
	hr.Status.Inventory = &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{{ID: "apps_one__ConfigMap", Version: "v1"}}}
	return hr
}

// TestElsewhere: another cluster that does not answer, or fails, costs a few seconds, and the names
// are shown.
func TestElsewhere(t *testing.T) {
	ready := view.Tree{Nodes: []view.Node{{Object: view.Object{Kind: "ConfigMap", Name: "one"}, Status: "Ready"}}}
	for name, tc := range map[string]struct {
		read     Readiness
		answered bool
		status   string
		took     time.Duration
	}{
		"Answer": {func(context.Context, *helmv2.HelmRelease) (view.Tree, error) { return ready, nil }, true, "Ready", 0},
		"Error":  {func(context.Context, *helmv2.HelmRelease) (view.Tree, error) { return ready, errors.New("no") }, false, "Unknown", 0},
		"Panic":  {func(context.Context, *helmv2.HelmRelease) (view.Tree, error) { panic("the test panics") }, false, "Unknown", 0},
		"Silence": {func(ctx context.Context, _ *helmv2.HelmRelease) (view.Tree, error) {
			<-ctx.Done()
			return ready, ctx.Err()
		}, false, "Unknown", elsewhereTimeout},
		// Discovery does not end with the context.
		"Hang": {func(context.Context, *helmv2.HelmRelease) (view.Tree, error) {
			time.Sleep(time.Minute)
			return ready, nil
		}, false, "Unknown", elsewhereTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hr := remoteRelease()
				v, _ := newViewer(t, nil, hr)
				v.Readiness = tc.read
				began := time.Now()
				tree, answered := v.Elsewhere(t.Context(), hr)
				if answered != tc.answered || len(tree.Nodes) != 1 || tree.Nodes[0].Status != tc.status || time.Since(began) != tc.took {
					t.Errorf("%+v after %s, answered: %t", tree, time.Since(began), answered)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestPagesElsewhere: few pages read other clusters at the same time, even if the requests do not
// end.
func TestPagesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		find := func(context.Context, *helmv2.HelmRelease) (*cluster.Connection, error) {
			running.Add(1)
			time.Sleep(time.Minute)
			return nil, errors.New("the test ends it")
		}
		hr := remoteRelease()
		v, _ := newViewer(t, nil, hr)
		v.Readiness = ReadinessAsRelease(find, v.Scheme)
		for range maxElsewhere + 3 {
			if _, answered := v.Elsewhere(t.Context(), hr); answered {
				t.Error("a cluster has answered")
			}
		}
		if n := running.Load(); n != maxElsewhere {
			t.Errorf("%d pages read at the same time", n)
		}
		time.Sleep(time.Minute)
	})
}

// answering answers each request with a body.
type answering []byte

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a)), Request: req}, nil
}

// TestSmallAnswers: large answers of another cluster are cut, and nothing is written there.
func TestSmallAnswers(t *testing.T) {
	transport := smallAnswers(answering(make([]byte, maxAnswer+10)))
	for method, allowed := range map[string]bool{http.MethodGet: true, http.MethodPost: false, http.MethodDelete: false} {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://remote.example.com/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", method, err)
		}
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || len(body) != maxAnswer {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	}
}
