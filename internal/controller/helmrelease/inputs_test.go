// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// pending returns the error of a reconciliation during a download.
func pending() (end func(), err error) {
	ended := make(chan struct{})
	return func() { close(ended) }, &release.Blocked{
		Reason: helmv2.ReasonArtifactFailed, Progressing: true, Brief: true, Retry: release.After(5 * time.Second),
		Err: &chart.Pending{URL: "http://mute/a", Ended: ended},
	}
}

// TestEndedDownloadEnqueues: the end of a download enqueues its HelmRelease once, regardless of the
// number of reconciliations, also while an attempt runs. Until then nothing is written.
func TestEndedDownloadEnqueues(t *testing.T) {
	for name, edit := range map[string]func(s *stub, err error){
		"Resolving": func(s *stub, err error) { s.unresolved = err },
		"ResolvingRunning": func(s *stub, err error) {
			s.unresolved, s.running = err, &release.Running{Action: helmv2.ActionInstall}
		},
		"Holding": func(s *stub, err error) { s.unheld = err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stub{}
				r := testReconciler(t, s)
				enqueued := 0
				r.inputs.enqueue = func(types.NamespacedName) { enqueued++ }
				end, err := pending()
				edit(s, err)
				for range 3 {
					if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
						t.Fatal(err)
					}
				}
				hr := &helmv2.HelmRelease{}
				if err := r.client.Get(t.Context(), key, hr); err != nil || len(hr.Status.Conditions) > 0 || s.begun != nil {
					t.Errorf("something was written or begun: %v, %v", hr.Status, err)
				}
				synctest.Wait()
				if enqueued != 0 {
					t.Errorf("enqueued %d times before it has ended", enqueued)
				}
				end()
				synctest.Wait()
				if enqueued != 1 {
					t.Errorf("enqueued %d times", enqueued)
				}
				r.memory.With(key, func(m *memory) {
					if m.download != nil {
						t.Error("the download is still awaited")
					}
				})
			})
		})
	}
}

// TestOtherDownloadsDoNotEnqueue: of a chart that is no longer wanted, or by no HelmRelease.
func TestOtherDownloadsDoNotEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enqueued := 0
		r := testReconciler(t, &stub{})
		r.inputs.enqueue = func(types.NamespacedName) { enqueued++ }
		d := r.inputs
		former, latter, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
		other := types.NamespacedName{Namespace: "apps", Name: "other"}
		d.awaitDownload(key, former)
		d.awaitDownload(key, latter)
		d.awaitDownload(other, gone)
		d.awaitDownload(other, nil)
		r.memory.Forget(other)
		close(former)
		close(gone)
		synctest.Wait()
		if enqueued != 0 {
			t.Errorf("enqueued %d times in vain", enqueued)
		}
		close(latter)
		synctest.Wait()
		if enqueued != 1 {
			t.Errorf("enqueued %d times", enqueued)
		}
	})
}

// TestActionsHoldTheirChart: those that need one, and it is the held one that the
// action is given.
func TestActionsHoldTheirChart(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
		t.Fatalf("nothing was begun: %v", err)
	}
	s.begun(t.Context(), nil)
	if s.job.Artifact.URL != "held" {
		t.Errorf("the action is given the chart as it was %s", s.job.Artifact.URL)
	}
	_, err := pending()
	for _, a := range []release.HelmAction{release.Rollback{}, release.Uninstall{}, release.Test{}, release.Unlock{}, release.Recheck{}} {
		s.unheld = err
		want, _ := s.Resolve(t.Context(), nil, release.Suspension{})
		if _, err := r.inputs.withChart(t.Context(), &helmv2.HelmRelease{}, want, a); err != nil {
			t.Errorf("%s needs no chart and waits for one", release.Name(a))
		}
	}
}

// TestLongNameMakesNoHelmChart: a name that is no value of a label is rejected before policies are
// asked and the HelmChart is applied.
func TestLongNameMakesNoHelmChart(t *testing.T) {
	t.Parallel()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: strings.Repeat("a", 64)}}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "note"}}
	_, err := (&inputReader{}).ensureSource(t.Context(), reconciliation{hr: hr})
	if blocked, ok := errors.AsType[*release.Blocked](err); !ok || !blocked.Terminal || blocked.Reason != helmv2.ReasonUnsupportedField {
		t.Errorf("error %v", err)
	}
}
