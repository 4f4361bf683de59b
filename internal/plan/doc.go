// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan makes the status of a ReleasePlan from the changes that an action would make. It is
// pure: it has no client and no clock.
//
// Files, top-down:
//
//	plan.go    Changes, and Build: order, summary and redaction of a plan
//	limits.go  limits of the size of a plan
//	digest.go  the digest that is approved
//	values.go  Values: the changed keys of values, and the layers that set them
package plan
