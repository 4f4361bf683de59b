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

// TestUsersComeBeforeTheStart: a release that somebody makes while a controller
// that was just started is still busy with all there is does not wait for that.
func TestUsersComeBeforeTheStart(t *testing.T) {
	const releases = 30
	w := newWorld(t)
	// The controllers that run at the beginning see none of these.
	labelled := func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: w.namespace} }
	// Each has a chart of its own, so that each visit asks for one.
	for i := range releases {
		name, version := fmt.Sprintf("old-%d", i), fmt.Sprintf("1.0.%d", i)
		w.publish(name, version, configMapChart(t, version))
		w.release(name, nil, labelled)
	}
	w.publish("new", "2.0.0", configMapChart(t, "2.0.0"))
	asked, answers := make(chan string, 2*releases), make(chan struct{})
	w.setAnswer(func(rw http.ResponseWriter, req *http.Request) {
		asked <- req.URL.Path
		select {
		case <-answers:
		case <-req.Context().Done():
		}
		http.Error(rw, "not today", http.StatusInternalServerError)
	})
	t.Cleanup(func() { w.setAnswer(nil) })
	// The answers must end before the controller can, and cleaning up goes backwards.
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
		// Time for the controller to see the new one, a hundredth of which is enough.
		time.Sleep(100 * time.Millisecond)
		answers <- struct{}{}
		order = append(order, w.next(asked))
	}
	if !slices.Contains(order, "/new-2.0.0.tgz") {
		t.Errorf("the new release was not visited before the %d old ones: %v", releases, order)
	}
	end()
}

// next returns what is asked for next.
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

// TestOthersKeepTheirFields: the cache does not hold who wrote what, which must
// not look as if we wanted it to be gone.
func TestOthersKeepTheirFields(t *testing.T) {
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
		t.Errorf("what we wrote, by subresource (-want +got):\n%s", diff)
	}
	others := slices.DeleteFunc(live.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == helmv2.FieldManager })
	if diff := cmp.Diff(before, others); diff != "" || len(before) == 0 {
		t.Errorf("what others wrote (-before +after):\n%s", diff)
	}
}
