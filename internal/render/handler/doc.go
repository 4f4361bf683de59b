// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package handler contains the functions of the workers that parse and render charts. It does not
// run in the controller.
//
//	handler.go  New: the functions
//	dryrun.go   an install or upgrade of Helm as a dry run, with records in memory
//	cache.go    parsed charts of earlier requests
//	dns.go      a resolver that sends the names of templates to the caller
//	lookups.go  a connection that sends the reads of templates to the caller
//	trace.go    which template or schema a traced call works on
//
// testdata/attacks holds templates that do not end or take all memory or stack without limits.
package handler
