// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/pintle-dev/pintle/internal/page/access"
)

// Names of the cookie that has the sealed token. Browsers accept the prefix only from this host, by
// TLS.
const (
	cookieName       = "pintle-token"
	secureCookieName = "__Host-" + cookieName
)

const (
	// keyHeader has the key of the cookie. A browser sends cookies to all ports of a host, and cannot be
	// made to send this header by a page of another port.
	keyHeader = "Pintle-Key"
	// keyField is its name in the form of the login, and in the address of an event stream: scripts
	// cannot set the headers of one.
	keyField = "key"
)

// maxToken is the length of the longest token that browsers keep sealed in a cookie. They keep 4096
// bytes, with the name and the attributes.
const maxToken = 2800

// tokenOf returns the token of a request: from an authenticating proxy, or from the login; empty
// without one.
func (s *site) tokenOf(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return s.tokenOfLogin(r)
}

// tokenOfLogin returns the token in the cookie, if the request has its key; otherwise empty. Programs
// on other ports of the host can set cookies of the same name.
func (s *site) tokenOfLogin(r *http.Request) string {
	key := r.Header.Get(keyHeader)
	if r.URL.Path == eventsPath {
		key = r.URL.Query().Get(keyField)
	}
	for _, c := range r.CookiesNamed(s.cookieName()) {
		if token := unseal(c.Value, key); token != "" {
			return token
		}
	}
	return ""
}

// toLogin redirects to the login, which returns to the address of the request. A token that is no
// longer valid is removed.
func (s *site) toLogin(w http.ResponseWriter, r *http.Request) {
	if s.tokenOfLogin(r) != "" {
		http.SetCookie(w, s.cookie("", -1))
	}
	target := "/login"
	if to := local(r.URL.RequestURI()); to != "/" && r.URL.Path != eventsPath {
		target += "?" + url.Values{"to": {to}}.Encode()
	}
	w.Header().Set("Cache-Control", "no-store")
	// Without a type, the answer has no body.
	w.Header()["Content-Type"] = nil
	http.Redirect(w, r, target, http.StatusSeeOther)
}

func (s *site) loginForm(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "login", &layout{Title: "Log in", Content: local(r.URL.Query().Get("to")), Locked: true})
}

func (s *site) refuseLogin(w http.ResponseWriter, r *http.Request, code int, to, text string) {
	s.render(w, r, code, "login", &layout{Title: "Log in", Error: text, Content: local(to)})
}

// login keeps a valid token in a cookie, sealed with the key of the browser.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	token, to := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("to")
	sealed, err := seal(token, r.PostFormValue(keyField))
	if err == nil {
		err = s.checkToken(r, token)
	}
	switch {
	case err == nil:
		http.SetCookie(w, s.cookie(sealed, 0))
		http.Redirect(w, r, local(to), http.StatusSeeOther)
	case errors.Is(err, errKey):
		s.refuseLogin(w, r, http.StatusBadRequest, to, "The browser has sent no key. The login needs JavaScript and storage for this site.")
	case errors.Is(err, errToken):
		s.refuseLogin(w, r, http.StatusBadRequest, to, err.Error())
	case errors.Is(err, access.ErrUnauthenticated):
		s.refuseLogin(w, r, http.StatusUnauthorized, to, "The API server does not accept this token.")
	default:
		s.Source.Log.Error(err, "login to the web page")
		s.refuseLogin(w, r, http.StatusServiceUnavailable, to, "The API server could not check this token.")
	}
}

// errToken is the error for a token that is not sent to the API server.
var errToken = errors.New("the token is not valid")

// checkToken returns an error unless a cookie can have the token, and the API server accepts it. The
// error contains no part of the token.
func (s *site) checkToken(r *http.Request, token string) error {
	if token == "" {
		return fmt.Errorf("%w: it is empty", errToken)
	}
	if len(token) > maxToken {
		return fmt.Errorf("%w: it has %d characters, and browsers keep at most %d. Use a token of a ServiceAccount, or an authenticating proxy", errToken, len(token), maxToken)
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`",;\`, c) }) {
		return fmt.Errorf("%w: it has a character that tokens do not have, such as a space", errToken)
	}
	_, err := s.User(r.Context(), token)
	return err
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie("", -1))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *site) cookieName() string {
	if s.Secure {
		return secureCookieName
	}
	return cookieName
}

// cookie returns the cookie of a session of the browser.
func (s *site) cookie(sealed string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: sealed, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode,
	}
}

// local returns an address without scheme and host. It returns "/" for an address of another site, and
// for the login.
func local(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return "/"
	}
	clean := path.Clean(u.Path)
	if strings.HasPrefix(clean, "//") || strings.ContainsAny(clean, "\\\r\n\t") || clean == "/login" || clean == "/logout" {
		return "/"
	}
	return (&url.URL{Path: clean, RawQuery: u.RawQuery}).String()
}
