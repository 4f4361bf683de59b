// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"
	"strings"
)

// cookie is the name of the cookie that has the token.
const cookie = "pintle-token"

// tokenOf returns the token of a request: that of an authenticating proxy, or that of the login; empty
// without one.
func tokenOf(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(cookie); err == nil {
		return c.Value
	}
	return ""
}

func (s *site) loginForm(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "login", &layout{Title: "Log in"})
}

// login keeps a valid token in a cookie.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	token := strings.TrimSpace(r.PostFormValue("token"))
	if _, err := s.User(r.Context(), token); err != nil || token == "" {
		s.render(w, r, http.StatusUnauthorized, "login", &layout{Title: "Log in", Error: "The API server does not accept this token."})
		return
	}
	http.SetCookie(w, s.cookie(token, 0))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie("", -1))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// cookie returns the cookie of a session of the browser.
func (s *site) cookie(token string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookie, Value: token, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode,
	}
}
