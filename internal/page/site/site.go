// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/pintle-dev/pintle/internal/page/access"
)

// Options configure the site. All are required but Shard.
type Options struct {
	// User returns the user of a token. The token is empty for a request without one. The error is
	// access.ErrUnauthenticated for a token that is not valid.
	User func(ctx context.Context, token string) (*authenticationv1.UserInfo, error)
	// Source reads objects for users.
	Source *access.Source
	Now    func() time.Time
	// Health returns the state of this replica. It sends no request.
	Health func() Health
	// Shard is the label selector of the HelmReleases that this controller reconciles; empty if it
	// reconciles all.
	Shard string
	// Secure is true if the page is served by TLS.
	Secure bool
}

// New returns the handler of all routes.
func New(o Options) (http.Handler, error) {
	parsed, err := parse()
	if err != nil {
		return nil, err
	}
	s := &site{Options: o, templates: parsed}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.authenticated(s.overview))
	mux.Handle("GET /releases/{namespace}/{name}", s.authenticated(s.release))
	mux.Handle("GET /operations", s.authenticated(s.operations))
	mux.Handle("GET /operations/{namespace}/{name}", s.authenticated(s.operation))
	mux.Handle("GET /sources", s.authenticated(s.sources))
	mux.HandleFunc("GET /login", s.loginForm)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.Handle("GET /assets/", assets())
	return mux, nil
}

// page writes the page for a request of a user. An error that it returns is answered by a page of its
// own.
type page func(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error

// authenticated returns a handler that finds the user of a request. Requests without a valid token go
// to the login.
func (s *site) authenticated(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := s.User(r.Context(), tokenOf(r))
		if err == nil {
			err = p(w, r, &access.Viewer{Source: s.Source, User: user})
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}
