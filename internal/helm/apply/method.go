// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
)

// MethodRecords returns the apply methods in the records of a release; empty for records without one.
type MethodRecords interface{ ApplyMethod(version int) string }

// NextMethod returns the method by which the objects of the revision after last are applied. In mode
// auto it is the method of the given revision; 0 stands for the last one.
func NextMethod(store MethodRecords, mode helmv2.ServerSideApplyMode, version, last int, force bool) Method {
	if version == 0 {
		version = last
	}
	onServer := IsServerSide(store, mode, version)
	return Method{ServerSide: onServer, Migrate: changesMethod(store, last, onServer), Force: force && !onServer}
}

// IsServerSide reports whether a mode means server-side apply. In mode auto, it returns the method
// of the given revision.
func IsServerSide(store MethodRecords, mode helmv2.ServerSideApplyMode, version int) bool {
	switch mode {
	case helmv2.ServerSideApplyEnabled:
		return true
	case helmv2.ServerSideApplyDisabled:
		return false
	case helmv2.ServerSideApplyAuto:
	}
	return store.ApplyMethod(version) == storage.ServerSide
}

// changesMethod reports whether objects in the cluster may have been applied with the other method.
// An earlier change may not have reached all objects. Fields of client-side apply show when an
// object is applied, but fields of server-side apply do not, so each stored revision counts.
func changesMethod(store MethodRecords, last int, serverSide bool) bool {
	if serverSide {
		return last == 0 || store.ApplyMethod(last) != storage.ServerSide
	}
	for version := last; version > max(0, last-helmv2.DefaultMaxHistory); version-- {
		if store.ApplyMethod(version) == storage.ServerSide {
			return true
		}
	}
	return false
}

// MethodName returns the name of a method in records.
func MethodName(serverSide bool) string {
	if serverSide {
		return storage.ServerSide
	}
	return storage.ClientSide
}

// ModeOf returns the mode of an action without a revision to follow.
func ModeOf(serverSide bool) helmv2.ServerSideApplyMode {
	if serverSide {
		return helmv2.ServerSideApplyEnabled
	}
	return helmv2.ServerSideApplyDisabled
}
