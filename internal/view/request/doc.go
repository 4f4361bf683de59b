// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package request makes the requests that users send to the controller by annotations and fields of
// a HelmRelease, and decides from its status whether a request was carried out. It is pure.
//
// Files, top-down:
//
//	operation.go  Operations that run hooks
//	plan.go       requests for plans
//	request.go    Request: reconcile, suspend, resume, roll back, unhold, test
//	progress.go   Progress: how far a request is
package request
