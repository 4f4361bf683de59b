// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package operations shows Operations: a list of them, and one with its Jobs, Pods and logs. It is
// pure. Its files, from the top:
//
//	list.go       Of: a page of the list
//	query.go      Query: which Operations are listed, from the parameters of an address
//	operation.go  Explain: one Operation
//	pods.go       the Pods of an Operation
//	row.go        Row: one Operation in a list, and the HelmRelease that it is for
package operations
