// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote calls workers that parse and render charts, and defines the requests and responses
// of these calls. Archives, templates and schemas are parsed in the worker only.
//
// Each request has all data that its function needs. A call that ends its worker is repeated once. A
// worker may be killed by something else, and the second one reports what it works on, so that the
// error names a template or a file.
//
//	client.go     Client: the functions of a worker
//	call.go       calls, their repetitions and their errors
//	lookups.go    reads of templates, which the caller sends to the API server
//	encode.go     the encoding of requests and responses
//	limits.go     limits of rendered text
//	functions.go  the requests and responses of the functions
package remote
