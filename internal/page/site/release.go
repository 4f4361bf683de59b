// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
)

// releasePage is the content of the page of a release.
type releasePage struct {
	view.Why
	Related *related
}

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
	other, err := s.related(r.Context(), viewer, reader, hr)
	if err != nil {
		return err
	}
	content := &releasePage{Why: view.Explain(facts), Related: other}
	s.render(w, r, http.StatusOK, "release", &layout{Title: hr.Namespace + "/" + hr.Name, User: viewer.User, Content: content})
	return nil
}
