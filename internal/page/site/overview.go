// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
)

// overview shows all releases that the user may get.
func (s *site) overview(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	all, err := viewer.Releases(r.Context())
	if err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "overview", &layout{Title: "Releases", User: viewer.User, Content: view.Releases(all, s.Now())})
	return nil
}
