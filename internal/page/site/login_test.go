// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pintle-dev/pintle/internal/page/access"
)

// newSite returns a site for the tokens "good" and "proxy", and for the anonymous user if there is
// one. The token "down" gets no answer.
func newSite(t *testing.T, secure bool, anonymous string, edit ...func(*Options)) *Site {
	t.Helper()
	o := Options{Secure: secure, Source: &access.Source{}, User: func(_ context.Context, token string) (*authenticationv1.UserInfo, error) {
		switch {
		case token == "down":
			return nil, errors.New("https://10.0.0.1: connection refused")
		case token == "" && anonymous != "":
			return &authenticationv1.UserInfo{Username: anonymous}, nil
		case token == "good" || token == "proxy":
			return &authenticationv1.UserInfo{Username: token}, nil
		}
		return nil, access.ErrUnauthenticated
	}}
	for _, e := range edit {
		e(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// post returns the request that a form sends.
func post(path string, values url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// TestLogin: a token that the API server accepts becomes a cookie that scripts, other hosts and other
// sites do not get.
func TestLogin(t *testing.T) {
	for name, tc := range map[string]struct {
		token  string
		secure bool
		code   int
		cookie string
		text   string
	}{
		"Plain":   {token: " good\n", code: 303, cookie: "pintle-token=good; Path=/; HttpOnly; SameSite=Strict"},
		"TLS":     {token: "good", secure: true, code: 303, cookie: "__Host-pintle-token=good; Path=/; HttpOnly; Secure; SameSite=Strict"},
		"Wrong":   {token: "bad", code: 401, text: "The API server does not accept this token."},
		"Down":    {token: "down", code: 503, text: "The API server could not check this token."},
		"Empty":   {token: " ", code: 400, text: "the token is not valid: it is empty"},
		"Long":    {token: strings.Repeat("x", 3801), code: 400, text: "it has 3801 characters, and browsers keep at most 3800. Use a token of a ServiceAccount, or an authenticating proxy"},
		"Space":   {token: "a b", code: 400, text: "it has a character that tokens do not have"},
		"Cookie":  {token: "a;b", code: 400, text: "it has a character that tokens do not have"},
		"Unicode": {token: "é", code: 400, text: "it has a character that tokens do not have"},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(newSite(t, tc.secure, ""), post("/login", url.Values{"token": {tc.token}}))
			if got.Code != tc.code || got.Header().Get("Set-Cookie") != tc.cookie || !strings.Contains(got.Body.String(), tc.text) {
				t.Errorf("%d %q\n%s", got.Code, got.Header().Get("Set-Cookie"), got.Body)
			}
			if body := got.Body.String(); strings.Contains(body, "10.0.0.1") || strings.Contains(body, "xxxx") {
				t.Errorf("the page has an address or the token:\n%s", body)
			}
			if got.Code == 303 && got.Header().Get("Location") != "/" {
				t.Errorf("redirects to %q", got.Header().Get("Location"))
			}
		})
	}
}

// TestLogout: the cookie is removed with the attributes that it was set with.
func TestLogout(t *testing.T) {
	got := send(newSite(t, true, ""), post("/logout", nil))
	want := "__Host-pintle-token=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict"
	if got.Code != 303 || got.Header().Get("Set-Cookie") != want || got.Header().Get("Location") != "/login" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

// TestReturns: the login returns to the page that was requested, and to no other site.
func TestReturns(t *testing.T) {
	s := newSite(t, false, "")
	for to, want := range map[string]string{
		"/releases/apps/web?from=1&to=2": "/releases/apps/web?from=1&to=2",
		"/":                              "/",
		"":                               "/",
		"/?state=Failing":                "/?state=Failing",
		"https://evil.example/":          "/",
		"//evil.example/":                "/",
		"/\\evil.example":                "/",
		"\\\\evil.example":               "/",
		"///evil.example":                "/evil.example",
		"/.//evil.example":               "/evil.example",
		"/%09/evil.example":              "/",
		"/%5cevil.example":               "/",
		"/%2fevil.example":               "/evil.example",
		"javascript:alert(1)":            "/",
		"evil.example":                   "/",
		"http:evil.example":              "/",
		"/login":                         "/",
		"/logout":                        "/",
		"/a\r\nSet-Cookie: x":            "/",
	} {
		got := send(s, post("/login", url.Values{"token": {"good"}, "to": {to}})).Header().Get("Location")
		if got != want {
			t.Errorf("%q: redirects to %q, want %q", to, got, want)
		}
	}
	for path, want := range map[string]string{
		"/releases/apps/web?from=1": "/login?to=%2Freleases%2Fapps%2Fweb%3Ffrom%3D1", "/": "/login",
	} {
		if got := send(s, httptest.NewRequest(http.MethodGet, path, nil)); got.Code != 303 || got.Header().Get("Location") != want {
			t.Errorf("%s: %d, redirects to %q", path, got.Code, got.Header().Get("Location"))
		}
	}
	form := send(s, httptest.NewRequest(http.MethodGet, "/login?to=%2Freleases%2Fa%2Fb", nil)).Body.String()
	if !strings.Contains(form, `name="to" value="/releases/a/b"`) {
		t.Errorf("the form does not have the address:\n%s", form)
	}
	form = send(s, httptest.NewRequest(http.MethodGet, "/login?to=https://evil.example", nil)).Body.String()
	if strings.Contains(form, "evil.example") {
		t.Errorf("the form has the address of another site:\n%s", form)
	}
}

// TestTokenOf: the token of an authenticating proxy is preferred to that of the cookie. By TLS, only a
// cookie of this host is read.
func TestTokenOf(t *testing.T) {
	for name, tc := range map[string]struct {
		secure                bool
		authorization, cookie string
		want                  string
	}{
		"None":          {},
		"Cookie":        {cookie: "pintle-token=good", want: "good"},
		"CookieTLS":     {secure: true, cookie: "__Host-pintle-token=good", want: "good"},
		"CookieOfOther": {secure: true, cookie: "pintle-token=good"},
		"Proxy":         {authorization: "Bearer proxy", cookie: "pintle-token=good", want: "proxy"},
		"LowerCase":     {authorization: "bearer proxy", want: "proxy"},
		"Basic":         {authorization: "Basic eDp5", cookie: "pintle-token=good", want: "good"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tc.secure, "")
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", tc.authorization)
			r.Header.Set("Cookie", tc.cookie)
			if got := s.site.tokenOf(r); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestInvalidCookie: a token that is not valid any more is removed, so that the anonymous user is not
// sent to the login forever.
func TestInvalidCookie(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Cookie", "pintle-token=old")
	got := send(newSite(t, false, "guest"), r)
	if got.Code != 303 || !strings.HasPrefix(got.Header().Get("Set-Cookie"), "pintle-token=; Path=/; Max-Age=0") {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

// TestFail: the pages of errors have none of their texts.
func TestFail(t *testing.T) {
	resource := schema.GroupResource{Resource: "helmreleases"}
	s := newSite(t, false, "")
	bodies := map[int]string{}
	for _, tc := range []struct {
		err  error
		code int
	}{
		{apierrors.NewNotFound(resource, "secret-name"), 404},
		{apierrors.NewForbidden(resource, "secret-name", errors.New("10.0.0.1")), 404},
		{&access.Denied{}, 404},
		{context.DeadlineExceeded, 504},
		{errors.New("https://10.0.0.1: connection refused"), 500},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		s.site.fail(w, r, tc.err)
		body := w.Body.String()
		if w.Code != tc.code || strings.Contains(body, "10.0.0.1") || strings.Contains(body, "secret-name") || !strings.Contains(body, `role="alert"`) {
			t.Errorf("%v: %d\n%s", tc.err, w.Code, body)
		}
		if earlier := bodies[tc.code]; earlier != "" && earlier != body {
			t.Errorf("%v: a missing object and one that the user may not get differ:\n%s", tc.err, body)
		}
		bodies[tc.code] = body
	}
}

// TestUnknownPage: an address without a page has a page of its own.
func TestUnknownPage(t *testing.T) {
	got := send(newSite(t, false, ""), httptest.NewRequest(http.MethodGet, "/nothing", nil))
	if got.Code != 404 || !strings.Contains(got.Body.String(), "There is no such page.") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestEnter: each request of a user is counted until it ends.
func TestEnter(t *testing.T) {
	open, refused := 0, 0
	s := newSite(t, false, "", func(o *Options) {
		o.Enter = func(_ *http.Request, user string) (func(), int, string) {
			if user != "good" {
				t.Errorf("user %q", user)
			}
			if open++; refused != 0 {
				return nil, refused, "Wait."
			}
			return func() { open-- }, 0, ""
		}
	})
	p := func(http.ResponseWriter, *http.Request, *access.Viewer) error {
		if open != 1 {
			t.Errorf("%d requests are open", open)
		}
		return nil
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer good")
	if got := send(s.site.authenticated(p), r); got.Code != 200 || open != 0 {
		t.Errorf("%d, %d requests are open", got.Code, open)
	}
	for _, path := range []string{"/", "/login", "/assets/page.css", "/nothing"} {
		send(s, httptest.NewRequest(http.MethodGet, path, nil))
		if open != 0 {
			t.Errorf("%s before the login is counted", path)
		}
	}
	refused = http.StatusServiceUnavailable
	if got := send(s.site.authenticated(p), r); got.Code != 503 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "Wait.") {
		t.Errorf("%d %v\n%s", got.Code, got.Header(), got.Body)
	}
}
