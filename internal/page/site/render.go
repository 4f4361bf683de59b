// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
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
	// Anonymous is true for a user without a token, who can log in.
	Anonymous bool
	// Login is true for the form of the login. The script shows it, since it needs the script.
	Login bool
	// Attention is the number of releases that need attention. The title starts with it if it is not 0.
	Attention int
	Shard     string
	Error     string
	Content   any
	// Follow is true while an action runs. Objects that become ready are no changes that are reported, so
	// that the script requests the page again and again.
	Follow bool
	// Locked is true if the script shows another page in place of this one, if the browser has the key of
	// a login: the page that the login leads to, or this address as it is for a user.
	Locked bool
	// path is the path of the request.
	path string
}

// Current returns the value of aria-current for the link to a list: "page" on the list, "true" on
// the pages below it, else "".
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

// Live returns the prefixes of the paths whose changes the page shows; empty before the login, and
// for a page that is not updated. A page of an error does not name the object.
func (l *layout) Live() string {
	switch parts := strings.Split(l.path, "/"); {
	case l.User == nil, l.Error != "":
		return ""
	case l.path == "/", l.path == "/rollouts":
		return "/releases"
	case len(parts) > 4 && parts[1] == "releases":
		// A comparison costs requests, and is made on request only.
		return ""
	case len(parts) > 3 && parts[1] == "releases":
		// The page of a release shows its Operations.
		return l.path + " /operations/" + parts[2]
	}
	return l.path
}

// templates are the pages, each with the frame.
type templates struct{ pages map[string]*template.Template }

// parse parses the templates. Files whose names start with an underscore are parts of others.
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
	data.Shard, data.path, data.Anonymous, data.Login = s.Shard, r.URL.Path, s.tokenOf(r) == "", name == "login"
	data.Locked = data.Locked || data.Anonymous && !data.Login && r.Method == http.MethodGet
	var page bytes.Buffer
	if err := s.templates.pages[name].ExecuteTemplate(&page, "layout", data); err != nil {
		s.Source.Log.Error(err, "template of the web page", "name", name)
		http.Error(w, "This page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A client that is gone needs no answer.
	_, _ = w.Write(visible(page.Bytes()))
}

// fail writes the page of an error. The message is one of this function: errors may have addresses,
// and names of objects that the user may not see.
func (s *site) fail(w http.ResponseWriter, r *http.Request, user *authenticationv1.UserInfo, err error) {
	refuse := func(code int, text string) { s.refuseUser(w, r, user, code, text) }
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		s.toLogin(w, r)
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// A user may not learn which names exist.
		refuse(http.StatusNotFound, "There is no such object, or you may not get it.")
	case errors.Is(err, context.Canceled):
		// The client is gone.
	case errors.Is(err, context.DeadlineExceeded):
		refuse(http.StatusGatewayTimeout, "The API server did not answer in time.")
	default:
		s.Source.Log.Error(err, "web page", "path", r.URL.Path)
		refuse(http.StatusInternalServerError, "This page could not be made. The log of the controller has the error.")
	}
}

// refuse writes the page of an error. The text is for the user.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, code int, text string) {
	s.refuseUser(w, r, nil, code, text)
}

// refuseUser writes the page of an error for a user; nil before the login.
func (s *site) refuseUser(w http.ResponseWriter, r *http.Request, user *authenticationv1.UserInfo, code int, text string) {
	s.render(w, r, code, "error", &layout{Title: http.StatusText(code), Error: text, User: user})
}

// assets serves the stylesheet and the script.
func assets() http.Handler {
	return http.FileServerFS(files)
}
