// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package confined limits what the address in a kubeconfig can reach. Its author may have no
// access to the network of the controller. So requests are sent to one host only, and the text of
// an answer reaches messages only if the answer comes from an API server.
//
//	transport.go  sends requests to one host, and describes answers of other servers
//	object.go     recognizes an object of Kubernetes in a body while it is read
//	status.go     reads the Status in an answer
//	errors.go     errors of connections, without texts of the server
package confined
