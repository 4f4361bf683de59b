// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply creates, updates and deletes the objects of one action of Helm. Its Client replaces
// Helm's own client: it applies on the server, labels all objects with their HelmRelease, takes no
// objects of other releases, and checks a new revision with dry runs before the revision is stored.
//
// Files, top-down:
//
//	client.go        Client, which implements Helm's kube.Interface
//	changes.go       what an action would change, for plans and diffs
//	compared.go      the objects of two revisions, in which dangers are looked for
//	forecast.go      what an action would do to an object
//	target.go        the check of a target before a release moves there
//	crds.go          the CRDs of a chart: create, replace, wait until they are served
//	preflight.go     dry runs of a new revision, and their results
//	leftovers.go     objects that only failed revisions created
//	hooks.go         live objects that hooks would replace
//	serverside.go    server-side apply
//	delete.go        deletion, and pruning of objects that a revision drops
//	ownership.go     conflicts with other releases and concurrent actions, and adoption of objects
//	owners.go        reads of other releases: stored revisions and HelmReleases
//	lookups.go       answers to Helm's question whether an object exists
//	dryrun.go        dry runs, server-side and client-side
//	builds.go        the objects of stored and new manifests, and those that are skipped
//	builder.go       manifests to objects
//	method.go        whether the server or the client applies, and from when on
//	managedfields.go managed fields when the method changes
//	images.go        the images that an action changes
//	changelog.go     the changes of one action
//	objects.go       identity, comparison and encoding of objects, their labels and annotations
package apply
