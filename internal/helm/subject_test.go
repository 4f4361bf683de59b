// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestSubject: annotations change jobs and not the HelmRelease, and reads require a proof.
func TestSubject(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "web", UID: "uid-1", Annotations: map[string]string{helmv2.AnnotationFailEarly: "false"},
	}}
	hr.Status.History = helmv2.Snapshots{{Version: 3}}
	s := Subject{HelmRelease: hr}
	job := s.Job(release.Uninstall{})
	if job.Spec.GetUninstall().DisableHooks || !job.Patient || len(job.History) != 1 || job.Origin != (Origin{Name: "web", Namespace: "apps"}) {
		t.Errorf("job %+v", job)
	}
	s.Deleted, s.Deletion.NoHooks = true, true
	if job = s.Job(release.Uninstall{}); !job.Spec.GetUninstall().DisableHooks || hr.Spec.Uninstall != nil {
		t.Errorf("the uninstall of a deletion without hooks has %+v, and the spec %+v", job.Spec.Uninstall, hr.Spec.Uninstall)
	}
	s.Deleted = false
	if job = s.Job(release.Uninstall{}); job.Spec.GetUninstall().DisableHooks {
		t.Error("hooks are disabled without a deletion")
	}
	if q := s.ReadRequest(release.Target{Name: "web"}, 3); q.UID != "uid-1" || len(q.History) != 1 || q.Version != 3 || q.Target.Name != "web" {
		t.Errorf("read request %+v", q)
	}
}
