// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

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
