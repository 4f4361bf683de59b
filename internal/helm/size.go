// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/pintle-dev/pintle/internal/release"
)

// limitRecord makes the job refuse a new revision whose record would be too large, before it
// writes anything.
func (r *run) limitRecord() {
	r.gate.weigh = func(key string, rls *helmrelease.Release) error {
		size, err := r.store.Stage(key, rls)
		if err != nil {
			return err
		}
		return r.checkSize(size)
	}
}

// checkSize keeps a size that is reported, and refuses a record that would be too large.
func (r *run) checkSize(size *release.RecordSize) error {
	if !size.NearlyTooLarge() && !size.TooLarge() {
		return nil
	}
	r.size = size
	if size.TooLarge() {
		return fmt.Errorf("nothing was changed: the record of the revision would take %d bytes, compressed, and may take %d when the action begins",
			size.Bytes, size.Limit-size.Reserved)
	}
	return nil
}
