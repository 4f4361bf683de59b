// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage reads and writes release records: the Secrets in which Helm stores the
// revisions of a release. It is a storage driver for Helm's actions, and it reads the history
// of releases for decisions. It depends on no other package that runs Helm.
//
// Files, from the outside to the inside:
//
//   - store.go: Store, which all actions share, and Open, which returns the driver of one.
//   - driver.go: Driver, which labels new revisions and reports which revisions were stored.
//   - secrets.go, stored.go: the driver's reads and writes of one release.
//   - history.go: the revisions of a release for a decision; which of them are read.
//   - live.go: reads that use neither index nor cache.
//   - index.go: Index, the metadata of all records of a cluster from one watch.
//   - cache.go: revisions and Secrets that were read before.
//   - secretapi.go: requests about Secrets; most answers are metadata only.
//   - record.go: a record as its metadata describes it.
//   - labels.go: the labels of records.
//   - codec.go: the JSON of records, and the fields that only newer versions of Helm know.
//   - pack.go: compression of records.
//   - size.go: the size of a record, and its parts.
//   - digest.go: digests of revisions, for snapshots of Pintle and of helm-controller.
package storage
