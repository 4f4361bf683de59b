// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
)

// release shows one release.
func (s *site) release(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	hr, err := viewer.Release(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		return err
	}
	reader, err := viewer.Reader(r.Context(), hr)
	if err != nil {
		return err
	}
	facts, err := reader.Why(r.Context(), hr.Namespace, hr.Name)
	if err != nil {
		return err
	}
	s.render(w, r, http.StatusOK, "release", &layout{Title: hr.Namespace + "/" + hr.Name, User: viewer.User, Content: view.Explain(facts)})
	return nil
}
