// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/rehearsal"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
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

// begins records the attempt that is begun.
type begins struct {
	*stub
	info attempt.Info
}

func (b *begins) Begin(ctx context.Context, key types.NamespacedName, info attempt.Info, task attempt.Task) bool {
	b.info = info
	return b.stub.Begin(ctx, key, info, task)
}

// slowLive corrects objects of an API server that takes three seconds for its answer.
type slowLive struct {
	*livestub
	t *testing.T
}

func (l slowLive) Correct(ctx context.Context, look drift.Request, _ bool) ([]release.DriftedObject, []release.ObjectError) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api/api/v1/configmaps", http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := look.Retrier.Transport(&slowStub{takes: 3 * time.Second}).RoundTrip(req)
	if err != nil {
		l.t.Error(err)
		return nil, nil
	}
	_ = resp.Body.Close()
	return nil, nil
}

// TestSlotOfActions: an action uses a slot as its cluster, and may release it while it waits. A
// correction of drift releases it while another cluster does not answer.
func TestSlotOfActions(t *testing.T) {
	far := cluster.Identity{Kubeconfig: []byte(`{apiVersion: v1, kind: Config, current-context: a,
		contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "https://far"}}], users: [{name: a, user: {token: b}}]}`)}
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			id       cluster.Identity
			action   release.HelmAction
			released int
		}{
			"Own/Upgrade":         {action: release.Upgrade{}},
			"Own/CorrectDrift":    {action: release.CorrectDrift{Timeout: time.Minute}},
			"Remote/Upgrade":      {id: far, action: release.Upgrade{}},
			"Remote/CorrectDrift": {id: far, action: release.CorrectDrift{Timeout: time.Minute}, released: 1},
		} {
			s := &begins{stub: &stub{}}
			r := testReconciler(t, s.stub)
			r.attempts, r.comparer.detector = s, slowLive{s.live, t}
			conn, err := r.connections.Clusters.For(tc.id)
			if err != nil {
				t.Fatal(err)
			}
			hr := current(t, r)
			rec := reconciliation{read: hr, hr: hr, conn: conn, decision: release.Decision{Action: tc.action}}
			rec.in.Observed.Revisions = []release.Revision{{Name: "web", Version: 1}}
			if !r.actor.start(t.Context(), rec) {
				t.Fatalf("%s: not begun", name)
			}
			if want := conn.Cluster(); conn.Local() != (s.info.Cluster == "") || !conn.Local() && s.info.Cluster != want {
				t.Errorf("%s: the cluster of the slot is %q, that of the release is %q", name, s.info.Cluster, want)
			}
			released := 0
			s.begun(t.Context(), func() func() { released++; return func() {} })
			if _, corrects := tc.action.(release.CorrectDrift); !corrects && s.job.Idle == nil {
				t.Errorf("%s: the action cannot release its slot", name)
			}
			if released != tc.released {
				t.Errorf("%s: released %d times, want %d", name, released, tc.released)
			}
		}
	})
}

// TestRehearsedReconciliation: a process that only observes begins no action and writes nothing to the
// HelmRelease. It reports the action.
func TestRehearsedReconciliation(t *testing.T) {
	for name, observes := range map[string]bool{"Acts": false, "Observes": true} {
		s := &stub{}
		r := testReconciler(t, s)
		if observes {
			r.rehearsal = rehearsal.NewReporter(r.events, r.metrics.Switch, time.Now)
		}
		before := current(t, r)
		reconcileOnce(t, r)
		written := current(t, r).ResourceVersion != before.ResourceVersion
		if begun := s.begun != nil; begun == observes || written == observes {
			t.Errorf("%s: begun %t, written %t", name, begun, written)
		}
		if !observes {
			continue
		}
		reported := ""
		select {
		case reported = <-r.events.(controllertest.Events):
		default:
		}
		if !strings.Contains(reported, "WouldInstall") {
			t.Errorf("reported %q", reported)
		}
	}
}
