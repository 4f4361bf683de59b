// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cel compiles and evaluates the CEL expressions of a HelmRelease: spec.healthCheckExprs
// and the readyExpr of a dependency. The caller passes the objects; the package performs no I/O.
//
//	readiness.go  ReadinessChecks: the status of an object by spec.healthCheckExprs
//	cel.go        Expression: one expression that yields a bool, with a cost limit
package cel
