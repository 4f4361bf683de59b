// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// slowStub reads the history from a server that takes some time, and so does each action.
type slowStub struct {
	*stub
	takes time.Duration
	// acted is the error of the read of an action.
	began bool
	acted error
}

// RoundTrip implements http.RoundTripper.
func (s *slowStub) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.takes):
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func (s *slowStub) request(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api/api/v1/secrets", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := apiretry.Deadline(s).RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *slowStub) History(ctx context.Context, _ genericclioptions.RESTClientGetter, _ release.Target, _ helmv2.Snapshots) ([]release.Revision, error) {
	return nil, s.request(ctx)
}

func (s *slowStub) Rerender(ctx context.Context, _ genericclioptions.RESTClientGetter, _ helm.Job, _ int) (release.RenderResult, error) {
	return release.RenderResult{}, s.request(ctx)
}

func (s *slowStub) Begin(ctx context.Context, _ types.NamespacedName, _ attempt.Info, _ attempt.Task) bool {
	s.takes = time.Hour
	s.began, s.acted = true, s.request(ctx)
	return true
}

// TestRenderingDeadline: the reads of a rendering in the background end at a deadline of their own.
func TestRenderingDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{}
		r, _ := rendering(t, s)
		r.helm = &slowStub{stub: s, takes: time.Hour}
		begun := time.Now()
		s.doAside(t)
		if took := time.Since(begun); took != deadline || remembered(r).renderings.Failure == nil {
			t.Errorf("it ended after %s: %+v", took, remembered(r).renderings)
		}
	})
}

// TestReconciliationDeadline: the reads of a reconciliation end at its deadline, which is no failure
// of the release. Those of an action do not.
func TestReconciliationDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []time.Duration{deadline - time.Second, deadline + time.Second} {
			s := &slowStub{stub: &stub{}, takes: takes}
			r := testReconciler(t, s.stub)
			r.helm, r.attempts = s, s
			begun := time.Now()
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			took, ends := time.Since(begun), takes > deadline
			if err != nil || s.began == ends || s.acted != nil || ends && took != deadline || hr.Status.Failures != 0 {
				t.Errorf("%s: began %t after %s: %v, %v, %d failures", takes, s.began, took, err, s.acted, hr.Status.Failures)
			}
		}
	})
}
