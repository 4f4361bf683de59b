// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package planning stores the rendered text of plans, which the approved action applies.
//
// Files, top-down:
//
//	secret.go   the Secret with the content of a plan
//	content.go  Content: the rendered text, and all that the action needs besides
package planning
