// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloudauth requests access to clusters of cloud providers: the address of a cluster and a
// token for it, as a ServiceAccount or as the controller itself. It caches nothing. No other
// package imports the libraries of the providers.
//
//	gcp.go        errors of Google
//	azure.go      errors of Azure
//	cloud.go      Get: requests access to a cluster
//	errors.go     turns errors of the providers into causes
//	secrets.go    redacts secrets in causes
//	providers.go  the providers and their tokens
//	aws.go        errors of AWS
package cloudauth
