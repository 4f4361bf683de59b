// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package planning computes the changes of an action for its plan, and stores the rendered text that
// the approved action applies. It writes no object and no release record.
//
// Files, top-down:
//
//	forecast.go  Changes: what an action would change
//	change.go    the change of one object
//	secret.go    the Secret with the content of a plan
//	content.go   Content: the rendered text, and all that the action needs besides
package planning
