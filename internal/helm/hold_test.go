// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestRollbackHolds: the record of a rollback that holds a release names the revision, which stays
// stored beyond the history limit. The next upgrade copies neither. The rollback of a remediation has
// no such effect.
func TestRollbackHolds(t *testing.T) {
	for name, hold := range map[string]bool{"Hold": true, "Remediation": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", note())
			install(t, w, artifact, "one", "two")
			j := job(release.Rollback{Timeout: time.Minute, Version: 1, Hold: hold}, chart.Artifact{}, "", nil)
			two := 2
			j.Spec.MaxHistory = &two
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err != nil {
				t.Fatal(out.Err)
			}
			want := 0
			if hold {
				want = 1
			}
			h := w.history()
			if out.Revisions[0].RolledBackTo != want || h[0].RolledBackTo != want || !h[0].Rollback {
				t.Errorf("rolled back to %d, stored %+v", out.Revisions[0].RolledBackTo, h[0])
			}
			if kept := h[len(h)-1].Version == 1; kept != hold {
				t.Errorf("revision 1 is kept: %t", kept)
			}
			up := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "three"})
			up.Spec.MaxHistory = &two
			if out := w.runner.Run(t.Context(), w.conn, up); out.Err != nil {
				t.Fatal(out.Err)
			}
			h = w.history()
			if h[0].RolledBackTo != 0 || h[1].RolledBackTo != want || len(h) != 2 {
				t.Errorf("after an upgrade: %+v", h)
			}
			back := job(release.Rollback{Timeout: time.Minute, Version: h[1].Version}, chart.Artifact{}, "", nil)
			if out := w.runner.Run(t.Context(), w.conn, back); out.Err != nil || out.Revisions[0].RolledBackTo != 0 {
				t.Errorf("after a remediation: %+v", out)
			}
		})
	}
}

// secretsOf returns the Secrets of the release.
func secretsOf(t *testing.T, w *world) corev1client.SecretInterface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	return clients.CoreV1().Secrets("prod")
}

// TestCopiedHoldLabel: Helm copies the labels of a record to the next revision, where they do not count.
func TestCopiedHoldLabel(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one", "two")
	secrets := secretsOf(t, w)
	record, err := secrets.Get(t.Context(), key+"2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record.Labels[helmv2.LabelRollback], record.Labels[helmv2.LabelRolledBackTo] = "1", "1"
	if _, err := secrets.Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if newest := w.history()[0]; newest.RolledBackTo != 0 {
		t.Errorf("the label counts: %+v", newest)
	}
}

// TestRevision: one revision is read from the API server. A record whose content is that of another
// revision is altered.
func TestRevision(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one", "two")
	read := func(version int) *release.Revision {
		found, err := w.runner.Revision(t.Context(), w.conn, target(), version, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := read(1); found == nil || found.Unread || found.Altered || found.Version != 1 || found.Digest == "" {
		t.Errorf("revision 1 is %+v", found)
	}
	if found := read(3); found != nil {
		t.Errorf("revision 3 is %+v", found)
	}
	secrets := secretsOf(t, w)
	other, err := secrets.Get(t.Context(), key+"2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := secrets.Get(t.Context(), key+"1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record.Data = other.Data
	if _, err := secrets.Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if found := read(1); found == nil || !found.Altered || found.Version != 1 {
		t.Errorf("revision 1 is %+v", found)
	}
}

// TestRequestedTests: tests run again for another request, also after a run that has succeeded. The
// record has the request.
func TestRequestedTests(t *testing.T) {
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", tested()), "one")
	created := 0
	w.Created = func(object map[string]any) {
		created++
		finished(true)(object)
	}
	for i, request := range []string{"", "a", "b"} {
		out := w.runner.Run(t.Context(), w.conn, job(release.Test{Timeout: time.Minute, Request: request}, chart.Artifact{}, "", nil))
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		if created != 2*(i+1) {
			t.Errorf("request %q: %d tests were created", request, created)
		}
		if newest := w.history()[0]; newest.TestRequest != request || out.Revisions[0].TestRequest != request || newest.Version != 1 {
			t.Errorf("request %q: %+v", request, newest)
		}
	}
}
