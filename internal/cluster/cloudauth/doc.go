// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloudauth requests access to clusters of cloud providers: the address of a cluster and a
// token for it. The identity is a ServiceAccount or the controller. It caches nothing. No other
// package imports the libraries of the providers.
//
//	cloud.go      Get: requests access to a cluster
//	errors.go     turns errors of the providers into causes
//	aws.go        errors of AWS
//	azure.go      errors of Azure
//	gcp.go        errors of Google
//	answer.go     the cause in an answer of a server
//	secrets.go    redacts secrets in causes
//	providers.go  the providers and their tokens
package cloudauth
