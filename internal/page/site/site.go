// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/live"
)

// Options configure the site. All are required but Shard and Enter.
type Options struct {
	// User returns the user of a token. The token is empty for a request without one. The error is
	// access.ErrUnauthenticated for a token that is not valid.
	User func(ctx context.Context, token string) (*authenticationv1.UserInfo, error)
	// Source reads objects for users.
	Source *access.Source
	Now    func() time.Time
	// Live reports changes to open pages.
	Live *live.Hub
	// Health returns the state of this replica. It sends no request.
	Health func() Health
	// Shard is the label selector of the HelmReleases that this controller reconciles; empty if it
	// reconciles all.
	Shard string
	// Secure is true if the page is served by TLS.
	Secure bool
	// Enter counts a request of a user until leave is called. The code is not 0 if the request is
	// refused.
	Enter func(r *http.Request, user string) (leave func(), code int, text string)
}

// Site has all routes.
type Site struct {
	*routes
	site *site
}

// Routes returns the patterns of all routes.
func (s *Site) Routes() []string { return s.patterns }

// Refuse writes the page of an error. The text is for the user.
func (s *Site) Refuse(w http.ResponseWriter, r *http.Request, code int, text string) {
	s.site.refuse(w, r, code, text)
}

// routes is a ServeMux that lists its patterns.
type routes struct {
	*http.ServeMux
	patterns []string
}

// Handle registers the handler of a pattern.
func (r *routes) Handle(pattern string, handler http.Handler) {
	r.patterns = append(r.patterns, pattern)
	r.ServeMux.Handle(pattern, handler)
}

// HandleFunc registers the handler of a pattern.
func (r *routes) HandleFunc(pattern string, handler http.HandlerFunc) { r.Handle(pattern, handler) }

// New returns the site.
func New(o Options) (*Site, error) {
	parsed, err := parse()
	if err != nil {
		return nil, err
	}
	s := &site{Options: o, templates: parsed}
	mux := &routes{ServeMux: http.NewServeMux()}
	mux.Handle("GET /{$}", s.withUser(s.overview))
	mux.Handle("GET /releases/{namespace}/{name}", s.withUser(s.release))
	mux.Handle("GET /releases/{namespace}/{name}/drift", s.withUser(s.drift))
	mux.Handle("GET /operations", s.withUser(s.operations))
	mux.Handle("GET /operations/{namespace}/{name}", s.withUser(s.operation))
	mux.Handle("GET /rollouts", s.withUser(s.rollouts))
	mux.Handle("GET "+eventsPath, s.withUser(s.events))
	mux.HandleFunc("GET /login", s.loginForm)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.Handle("GET /assets/", assets())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "There is no such page.")
	})
	return &Site{routes: mux, site: s}, nil
}

// page writes the page for a request of a user. An error that it returns is answered by a page of its
// own.
type page func(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error

// withUser returns a handler that finds the user of a request. Requests without a valid token go
// to the login.
func (s *site) withUser(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := s.User(r.Context(), s.tokenOf(r))
		if err == nil {
			err = s.serve(p, w, r, user)
		}
		if err != nil {
			s.fail(w, r, user, err)
		}
	})
}

// serve writes a page for the user of a request.
func (s *site) serve(p page, w http.ResponseWriter, r *http.Request, user *authenticationv1.UserInfo) error {
	if s.Enter != nil {
		leave, code, text := s.Enter(r, user.Username)
		if code != 0 {
			w.Header().Set("Retry-After", "2")
			s.refuseUser(w, r, user, code, text)
			return nil
		}
		defer leave()
	}
	return p(w, r, &access.Viewer{Source: s.Source, User: user})
}
