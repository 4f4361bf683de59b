// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestUsersComeBeforeTheStart: a new release is reconciled before the existing ones that a starting
// controller has enqueued.
func TestUsersComeBeforeTheStart(t *testing.T) {
	t.Parallel()
	const releases = 30
	w := newWorld(t)
	// The suite's controllers ignore these.
	labelled := func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} }
	// Each has its own chart, so that each reconciliation downloads one.
	for i := range releases {
		name, version := fmt.Sprintf("old-%d", i), fmt.Sprintf("1.0.%d", i)
		w.publish(name, version, configMapChart(t, version))
		w.release(name, nil, labelled)
	}
	w.publish("new", "2.0.0", configMapChart(t, "2.0.0"))
	asked, answers := make(chan string, 2*releases), make(chan struct{})
	w.setAnswer(func(rw http.ResponseWriter, req *http.Request) {
		select {
		case asked <- req.URL.Path:
		case <-req.Context().Done():
			return
		}
		select {
		case <-answers:
		case <-req.Context().Done():
		}
		http.Error(rw, "not today", http.StatusInternalServerError)
	})
	t.Cleanup(func() { w.setAnswer(nil) })
	// Cleanups run in reverse order: the answers must end before the controller can stop.
	w.ownController(config{concurrent: 1})
	var once bool
	end := func() {
		if !once {
			once = true
			close(answers)
		}
	}
	t.Cleanup(end)

	order := []string{w.next(asked)}
	w.release("new", nil, labelled)
	for len(order) < releases && !slices.Contains(order, "/new-2.0.0.tgz") {
		// Time for the controller to receive the new one, a hundred times as long as needed.
		time.Sleep(100 * time.Millisecond)
		answers <- struct{}{}
		order = append(order, w.next(asked))
	}
	if !slices.Contains(order, "/new-2.0.0.tgz") {
		t.Errorf("the new release was not reconciled before the %d old ones: %v", releases, order)
	}
	end()
}

// next returns the next downloaded file.
func (w *world) next(asked <-chan string) string {
	w.t.Helper()
	select {
	case path := <-asked:
		return path
	case <-time.After(patience):
		w.t.Fatalf("waited %s in vain for a request", patience)
	}
	return ""
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
