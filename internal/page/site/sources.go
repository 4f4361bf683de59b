// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view/sources"
)

// sourcesPage is the content of the list of sources.
type sourcesPage struct {
	*sources.List
	// Problems are what is wrong with the parameters. Then no sources are shown.
	Problems []string
	// Unread is why kinds are left out.
	Unread []string
}

// sources lists the sources that the user may get and that the parameters select.
func (s *site) sources(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	query, problems := sources.Parse(r.URL.Query())
	all, unread, err := viewer.Sources(r.Context())
	if err != nil {
		return err
	}
	releases, err := viewer.Releases(r.Context())
	if err != nil {
		return err
	}
	content := &sourcesPage{List: sources.Of(all, releases, query), Problems: problems, Unread: unread}
	s.render(w, r, codeOf(problems), "sources", &layout{Title: "Sources", User: viewer.User, Content: content})
	return nil
}
