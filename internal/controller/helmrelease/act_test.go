// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestJobKnowsTheSettings(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	r.allowDNS, r.defaults = true, helmv2.Defaults{Helm3: true}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
		t.Fatalf("nothing was begun: %v", err)
	}
	s.begun(t.Context(), nil)
	if !s.job.AllowDNS || !s.job.Defaults.Helm3 {
		t.Errorf("the job has %+v, %t", s.job.Defaults, s.job.AllowDNS)
	}
}

// TestJobIsExamined: a job can find out why it fails, and gives up early unless its
// HelmRelease wants it otherwise.
func TestJobIsExamined(t *testing.T) {
	for value, patient := range map[string]bool{"": false, "true": false, "false": true} {
		s := &stub{}
		r := testReconciler(t, s)
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		hr.Annotations = map[string]string{helmv2.AnnotationFailEarly: value}
		if err := r.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
			t.Fatalf("nothing was begun: %v", err)
		}
		s.begun(t.Context(), nil)
		if s.job.Examiner == nil || s.job.Patient != patient {
			t.Errorf("%q: the job has %v, %t", value, s.job.Examiner, s.job.Patient)
		}
	}
}
