// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

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
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/internal/readiness"
)

const (
	// legacyInterval is the poll interval of Helm 3.
	legacyInterval = 2 * time.Second
	// legacyErrors is the number of consecutive errors that Helm 3 tolerates for an object.
	legacyErrors = 30
)

// legacy returns the condition of Helm 3. Its readiness checks read the kinds that they know;
// all others are ready from the start. Only the loop is not Helm's, because Helm's cannot be
// cancelled.
func legacy(ctx context.Context, clients func() (*kubernetes.Clientset, error), log func(string, ...any), jobs bool) (condition, error) {
	api, err := clients()
	if err != nil {
		return condition{}, err
	}
	checker := kube.NewReadyChecker(api, log, kube.PausedAsReady(true), kube.CheckJobs(jobs))
	var mu sync.Mutex
	failed := map[*resource.Info]int{}
	ask := func(info *resource.Info) (*status.Result, error) {
		ready, err := isReady(context.WithoutCancel(ctx), checker, info)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			failed[info] = 0
			if ready {
				return readiness.Current(), nil
			}
			return readiness.InProgress("not ready"), nil
		}
		failed[info]++
		if failed[info] > legacyErrors || !retryable(err) {
			return &status.Result{Status: status.FailedStatus, Message: err.Error()}, nil
		}
		return nil, err
	}
	return condition{ask: ask, interval: func(time.Duration) time.Duration { return legacyInterval }}, nil
}

// isReady calls Helm's check, which panics if the API server has not set a default. It returns
// an error then.
func isReady(ctx context.Context, checker kube.ReadyChecker, info *resource.Info) (ready bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("judging %s panicked: %v", ObjectName(info), p)
		}
	}()
	return checker.IsReady(ctx, info)
}

// retryable reports whether Helm 3 tolerates an error.
func retryable(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}
