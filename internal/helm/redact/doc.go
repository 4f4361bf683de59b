// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact prepares texts of Helm and of API servers for status, events and logs: it removes
// secrets and line breaks.
//
// Files, top-down:
//
//	log.go       Log, the last lines that Helm logged
//	oneline.go   errors about missing permissions in one line
//	redactor.go  Redactor, which removes secrets
//	secrets.go   the values in the Secrets of a revision
package redact
