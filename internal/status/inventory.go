// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// inventory lists objects by the identifier other tools of this family read:
// "<namespace>_<name>_<group>_<kind>", with the version beside it.
func inventory(objects []release.Object) *helmv2.ResourceInventory {
	inv := &helmv2.ResourceInventory{Entries: make([]helmv2.ResourceRef, 0, len(objects))}
	for _, o := range objects {
		inv.Entries = append(inv.Entries, helmv2.ResourceRef{
			ID:      o.Namespace + "_" + identifierName(o) + "_" + o.Group + "_" + o.Kind,
			Version: o.Version,
		})
	}
	return inv
}

// identifierName is an object's name as identifiers spell it. Only the kinds of
// RBAC may have a colon in their names, which the readers of identifiers expect
// to be two underscores.
func identifierName(o release.Object) string {
	if o.Group != "rbac.authorization.k8s.io" {
		return o.Name
	}
	return strings.ReplaceAll(o.Name, ":", "__")
}
