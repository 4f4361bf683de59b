// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/resource"
)

const (
	// legacyPace is how often Helm 3 looks.
	legacyPace = 2 * time.Second
	// legacyErrors is how many errors in a row Helm 3 forgives an object.
	legacyErrors = 30
)

// legacy returns how Helm 3 waits: by its own judgement of the kinds it knows, all
// others being ready from the start. Only the waiting is ours, because Helm's
// cannot be ended.
func (c *client) legacy(jobs bool) (watch, error) {
	clients, err := c.Factory.KubernetesClientSet()
	if err != nil {
		return watch{}, err
	}
	checker := kube.NewReadyChecker(clients, c.Log, kube.PausedAsReady(true), kube.CheckJobs(jobs))
	var mu sync.Mutex
	failed := map[*resource.Info]int{}
	see := func(info *resource.Info) (*status.Result, error) {
		ready, err := isReady(context.WithoutCancel(c.ctx), checker, info)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			failed[info] = 0
			if ready {
				return current(), nil
			}
			return inProgress("not ready"), nil
		}
		failed[info]++
		if failed[info] > legacyErrors || !passing(err) {
			return &status.Result{Status: status.FailedStatus, Message: err.Error()}, nil
		}
		return nil, err
	}
	return watch{see: see, pace: func(time.Duration) time.Duration { return legacyPace }}, nil
}

// isReady asks Helm, which takes for granted that the API server fills in defaults.
// A server that does not must not end the process.
func isReady(ctx context.Context, checker kube.ReadyChecker, info *resource.Info) (ready bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("judging %s panicked: %v", subject(info), p)
		}
	}()
	return checker.IsReady(ctx, info)
}

// passing reports whether an error may be gone at the next look, in Helm's view.
func passing(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}
