// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookjob makes Jobs from the hooks that are stored with a revision of a Helm release: it
// selects the hooks, clones their manifests without fields that belong to Helm, and determines the
// objects that they need.
//
// The package is pure. Its input are manifests as text, its output are objects. Its messages do not
// quote manifests, which may be Secrets.
//
//	order.go     the order in which the hooks of a release run
//	needs.go     the objects that hooks need
//	job.go       makes a Job from the manifest of a hook
//	metadata.go  labels and annotations of clones
//	names.go     names and digests
//	choose.go    selects hooks by name or event, or rejects the Operation
//	hookjob.go   Make: the Plan for an Input
package hookjob
