// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/storage"
)

// chooseMethod sets the apply method when the new revision is stored, since Helm has read the
// history by then. In mode auto it is the method of the given revision; 0 stands for the last one.
func (r *run) chooseMethod(mode helmv2.ServerSideApplyMode, version int, force bool) {
	r.gate.Choose = func(last int) {
		m := nextMethod(r.store, mode, version, last, force)
		if force && m.ServerSide {
			r.logs.Printf("force has no meaning for server-side apply and is ignored")
		}
		r.client.Begin(m)
		r.store.SetApplyMethod(methodName(m.ServerSide))
	}
}

// nextMethod returns the method of the revision after last; see chooseMethod.
func nextMethod(store *storage.Driver, mode helmv2.ServerSideApplyMode, version, last int, force bool) apply.Method {
	if version == 0 {
		version = last
	}
	serverSide := appliesServerSide(store, mode, version)
	return apply.Method{ServerSide: serverSide, Migrate: changesMethod(store, last, serverSide), Force: force && !serverSide}
}

// appliesServerSide reports whether a mode means server-side apply. In mode auto, the method is
// that of the given revision.
func appliesServerSide(store *storage.Driver, mode helmv2.ServerSideApplyMode, version int) bool {
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
// object is applied, but those of server-side apply do not, so each stored revision counts.
func changesMethod(store *storage.Driver, last int, serverSide bool) bool {
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

func methodName(serverSide bool) string {
	if serverSide {
		return storage.ServerSide
	}
	return storage.ClientSide
}

// modeOf returns the mode of an action without a revision to follow.
func modeOf(serverSide bool) helmv2.ServerSideApplyMode {
	if serverSide {
		return helmv2.ServerSideApplyEnabled
	}
	return helmv2.ServerSideApplyDisabled
}
