// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage reads and writes release records: the Secrets in which Helm stores the
// revisions of a release. It is a storage driver for Helm's actions, and it reads the history
// of releases for decisions. It depends on no other package that runs Helm.
//
// Records are read in two ways. Their metadata, from a list or from the Index, tells which revisions
// exist, their statuses and labels. The content of one record is decoded as a whole, within limits,
// and compared with its seal.
//
// Files, top-down:
//
//	live.go         reads that use neither index nor cache
//	history.go      the revisions of a release for a decision, and which of them are read
//	attempt.go      the attempts of a driver: begin and resume
//	driver.go       Driver, and what it reports besides Helm's interface
//	store.go        Store, which all actions share, and access, which reads records both ways
//	secrets.go      Helm's interface of drivers: reads and writes of one release
//	stored.go       revisions that the driver knows, and their Secrets
//	seal.go         seals of records, which show that a controller has written them
//	sealkey.go      the key of seals, in a Secret of the controller's namespace
//	index.go        Index, the metadata of all records of a cluster from one watch
//	cache.go        revisions and Secrets that were read before
//	secretapi.go    requests about Secrets; most answers are metadata only, and lists have limits
//	size.go         the size of a record, and its parts
//	digest.go       digests of revisions, for snapshots of Pintle and of helm-controller
//	compression.go  compression of records
//	record.go       a record as its metadata describes it, and the labels and attempts of records
//	content.go      a record in full: the one way from a Secret to a revision
//	json.go         the JSON of records that are written
package storage
