// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pintle-dev/pintle/internal/page/access"
)

//go:embed templates/*.html assets
var files embed.FS

// site serves the pages.
type site struct {
	Options
	templates *templates
}

// layout is the data of the frame of all pages. Content is the data of one page.
type layout struct {
	Title string
	// User is nil before the login.
	User *authenticationv1.UserInfo
	// Attention is the number of releases that need attention. It begins the title if it is not 0.
	Attention int
	Shard     string
	Error     string
	Content   any
	// path is that of the request.
	path string
}

// Current returns the value of aria-current for the link to a list: "page" on the list, "true" on the
// pages below it, else "".
func (l *layout) Current(list string) string {
	below := list + "/"
	if list == "/" {
		below = "/releases/"
	}
	switch {
	case l.path == list:
		return "page"
	case strings.HasPrefix(l.path, below):
		return "true"
	}
	return ""
}

// templates are the pages, each with the frame.
type templates struct{ pages map[string]*template.Template }

// parse parses the templates. Those whose name begins with an underscore are parts of others.
func parse() (*templates, error) {
	names, err := fs.Glob(files, "templates/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	t := &templates{pages: map[string]*template.Template{}}
	for _, name := range names {
		page, err := template.New("").Funcs(functions()).ParseFS(files, "templates/_*.html", name)
		if err != nil {
			return nil, err
		}
		t.pages[name[len("templates/"):len(name)-len(".html")]] = page
	}
	return t, nil
}

// render writes a page.
func (s *site) render(w http.ResponseWriter, r *http.Request, code int, name string, data *layout) {
	data.Shard, data.path = s.Shard, r.URL.Path
	var page bytes.Buffer
	if err := s.templates.pages[name].ExecuteTemplate(&page, "layout", data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A client that is gone needs no answer.
	_, _ = w.Write(visible(page.Bytes()))
}

// fail writes the page of an error.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, text := http.StatusInternalServerError, err.Error()
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// A user may not learn which names exist.
		code, text = http.StatusNotFound, "There is no such object, or you may not get it."
	}
	s.render(w, r, code, "error", &layout{Title: http.StatusText(code), Error: text})
}

// assets serves the stylesheet and the script.
func assets() http.Handler {
	return http.FileServerFS(files)
}
