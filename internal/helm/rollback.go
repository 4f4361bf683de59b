// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/release"
)

func (r *run) rollback(_ Job, _ release.Rollback) error {
	return errors.New("not there yet")
}
