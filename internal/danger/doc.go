// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package danger finds what an action may harm: data, availability, rights and the origin of images. It
// compares the objects before and after the action, and reads what the forecast says of them. It is
// pure: it has no client and no clock.
//
// A danger is a fact about one object, and no forecast of a failure. What each upgrade does is none: one
// Pod that is restarted, a chart with another image, an object that is created.
//
// Files, top-down:
//
//	find.go       Find: all dangers, in order
//	data.go       claims and their owners, Namespaces, CRDs
//	immutable.go  fields that the API server does not let change
//	workload.go   replicas, restarts, disruption budgets, requests of resources
//	traffic.go    Services without endpoints, hosts that are lost
//	access.go     Roles, their bindings, and Pods with access to their node
//	supply.go     images that are not pinned, or come from another registry
//	object.go     objects and their fields
package danger
