// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/readiness"
)

// withRules returns a check that applies the user's readiness checks before another check.
func withRules(checks *cel.ReadinessChecks, check readiness.Check) readiness.Check {
	return readiness.WithRules(func(object *unstructured.Unstructured) (*status.Result, error) {
		result, err := checks.Evaluate(object)
		switch {
		case err != nil:
			return nil, err
		case result == cel.Current:
			return readiness.Current(), nil
		case result == cel.Failed:
			return &status.Result{Status: status.FailedStatus, Message: "failed by healthCheckExprs"}, nil
		case result == cel.InProgress:
			return readiness.InProgress("not current by healthCheckExprs"), nil
		}
		return nil, nil // there is no rule
	}, check)
}
