// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package revision is the storage of releases as one action of Helm sees it. A new revision is
// checked before it is stored. The hooks of a revision are recorded as they run, so that an
// interrupted action can be resumed: Helm then begins anew, with the stored text in place of
// templates, and what has been done already is left out.
//
// Files, top-down:
//
//	gate.go    Gate, the storage driver: checks, and the revision that is resumed
//	hooks.go   Hooks, the progress of an action with its hooks
package revision
