// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestUsersComeBeforeTheStart: a new release is reconciled before the existing ones that a starting
// controller has enqueued.
func TestUsersComeBeforeTheStart(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	const releases = 30
	w := newWorld(t)
	// The suite's controllers ignore these. They have no charts.
	labelled := func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} }
	for i := range releases {
		w.release(fmt.Sprintf("old-%d", i), nil, labelled)
	}
	begun, held := make(chan string, 2*releases), make(chan struct{})
	// Each first reconciliation waits for the write of the finalizer.
	w.ownController(config{concurrent: 1, wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			dir, name := path.Split(req.URL.Path)
			if req.Method != http.MethodPatch || !strings.HasSuffix(dir, "/namespaces/"+w.namespace+"/helmreleases/") {
				return next.RoundTrip(req)
			}
			select {
			case begun <- name:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
			select {
			case <-held:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
			return next.RoundTrip(req)
		})
	}})
	// Cleanups run in reverse order: the writes must end before the controller can stop.
	end := sync.OnceFunc(func() { close(held) })
	t.Cleanup(end)

	order := []string{w.next(begun)}
	w.received(w.release("new", nil, labelled))
	end()
	for !slices.Contains(order, "new") {
		order = append(order, w.next(begun))
	}
	if len(order) > releases {
		t.Errorf("the new release was not reconciled before the %d old ones: %v", releases, order)
	}
}

// next returns the next release whose reconciliation begins.
func (w *world) next(begun <-chan string) string {
	w.t.Helper()
	return <-begun
}

// TestOthersKeepTheirFields: fields of other managers are kept, although the cache drops
// managedFields.
func TestOthersKeepTheirFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("owned", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("owned", nil)
	before := hr.ManagedFields
	w.untilReady(hr)
	live := &helmv2.HelmRelease{}
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), live))
	var ours []string
	for _, e := range live.ManagedFields {
		if e.Manager == helmv2.FieldManager {
			ours = append(ours, e.Subresource)
		}
	}
	slices.Sort(ours)
	if diff := cmp.Diff([]string{"", "status"}, ours); diff != "" {
		t.Errorf("own fields by subresource (-want +got):\n%s", diff)
	}
	others := slices.DeleteFunc(live.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == helmv2.FieldManager })
	if diff := cmp.Diff(before, others); diff != "" || len(before) == 0 {
		t.Errorf("fields of other managers (-before +after):\n%s", diff)
	}
}
