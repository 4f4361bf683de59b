// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"context"
	"encoding/base64"
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

// testKey returns a key as the script makes one, and login sends the form of the login with it.
func testKey(digit string) string { return strings.Repeat(digit, 2*keySize) }

func login(token string, more ...string) *http.Request {
	values := url.Values{"token": {token}, "key": {testKey("a")}}
	for i := 0; i < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return post("/login", values)
}

// TestLogin: a token that the API server accepts becomes a cookie that scripts, other hosts and other
// sites do not get. The cookie has the token sealed with the key of the browser.
func TestLogin(t *testing.T) {
	for name, tc := range map[string]struct {
		token, key string
		secure     bool
		code       int
		// cookie are the name and the attributes.
		cookie string
		text   string
	}{
		"Plain":   {token: " good\n", code: 303, cookie: "pintle-token=; Path=/; HttpOnly; SameSite=Strict"},
		"TLS":     {token: "good", secure: true, code: 303, cookie: "__Host-pintle-token=; Path=/; HttpOnly; Secure; SameSite=Strict"},
		"NoKey":   {token: "good", key: "-", code: 400, text: "The login needs JavaScript"},
		"BadKey":  {token: "good", key: "abcd", code: 400, text: "The login needs JavaScript"},
		"Wrong":   {token: "bad", code: 401, text: "The API server does not accept this token."},
		"Down":    {token: "down", code: 503, text: "The API server could not check this token."},
		"Empty":   {token: " ", code: 400, text: "the token is not valid: it is empty"},
		"Long":    {token: strings.Repeat("x", 2801), code: 400, text: "it has 2801 characters, and browsers keep at most 2800. Use a token of a ServiceAccount, or an authenticating proxy"},
		"Space":   {token: "a b", code: 400, text: "it has a character that tokens do not have"},
		"Cookie":  {token: "a;b", code: 400, text: "it has a character that tokens do not have"},
		"Unicode": {token: "é", code: 400, text: "it has a character that tokens do not have"},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(newSite(t, tc.secure, ""), login(tc.token, "key", cmp.Or(tc.key, testKey("a"))))
			name, value, attributes := cutCookie(got.Header().Get("Set-Cookie"))
			if unseal(value, testKey("a")) != strings.TrimSpace(tc.token) && tc.cookie != "" {
				t.Errorf("the cookie has %q", value)
			}
			if got.Code != tc.code || name+attributes != tc.cookie || !strings.Contains(got.Body.String(), tc.text) {
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

// cutCookie returns the name with its equals sign, the value and the attributes of a cookie.
func cutCookie(cookie string) (name, value, attributes string) {
	pair, attributes, _ := strings.Cut(cookie, ";")
	name, value, _ = strings.Cut(pair, "=")
	if name != "" {
		name, attributes = name+"=", ";"+attributes
	}
	return name, value, attributes
}

// TestLongestToken: browsers keep the cookie of the longest token. They keep 4096 bytes, with its name
// and attributes.
func TestLongestToken(t *testing.T) {
	token := strings.Repeat("x", maxToken)
	s := newSite(t, true, "", func(o *Options) {
		o.User = func(context.Context, string) (*authenticationv1.UserInfo, error) {
			return &authenticationv1.UserInfo{Username: "ann"}, nil
		}
	})
	got := send(s, login(token))
	if cookie := got.Header().Get("Set-Cookie"); got.Code != 303 || len(cookie) > 4000 {
		t.Errorf("%d, and a cookie of %d bytes", got.Code, len(cookie))
	}
}

// TestReplay: the cookie alone is no token and no login, whoever sends it, and neither is the key. Both
// are one on each replica, and after a restart.
func TestReplay(t *testing.T) {
	const token = "good"
	set := send(newSite(t, false, ""), login(token)).Header().Get("Set-Cookie")
	_, sealed, _ := cutCookie(set)
	cookie := "pintle-token=" + sealed
	for name, tc := range map[string]struct {
		path, cookie, key, authorization string
		code                             int
	}{
		"OwnPage":          {cookie: cookie, key: testKey("a"), code: 200},
		"Stream":           {path: "/events?key=" + testKey("a"), cookie: cookie, code: 200},
		"OtherPort":        {cookie: cookie, code: 303},
		"OtherProgram":     {cookie: cookie, key: testKey("b"), code: 303},
		"NoKey":            {cookie: cookie, key: "-", code: 303},
		"CookieAsToken":    {authorization: "Bearer " + sealed, code: 303},
		"CookieAsKey":      {cookie: cookie, key: sealed, code: 303},
		"KeyAlone":         {key: testKey("a"), code: 303},
		"KeyAsToken":       {authorization: "Bearer " + testKey("a"), code: 303},
		"PlainToken":       {cookie: "pintle-token=" + token, key: testKey("a"), code: 303},
		"KeyInAddress":     {path: "/?key=" + testKey("a"), cookie: cookie, code: 303},
		"StreamAlone":      {path: "/events", cookie: cookie, code: 303},
		"OtherPortsCookie": {cookie: "pintle-token=x; " + cookie, key: testKey("a"), code: 200},
	} {
		t.Run(name, func(t *testing.T) {
			// Another replica has its own site. Nothing is kept by one.
			var seen string
			replica := newSite(t, false, "", func(o *Options) {
				find := o.User
				o.User = func(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
					seen = token
					return find(ctx, token)
				}
			})
			shown := func(http.ResponseWriter, *http.Request, *access.Viewer) error { return nil }
			r := httptest.NewRequest(http.MethodGet, cmp.Or(tc.path, "/"), nil)
			for header, value := range map[string]string{"Cookie": tc.cookie, "Pintle-Key": tc.key, "Authorization": tc.authorization} {
				if value != "" {
					r.Header.Set(header, value)
				}
			}
			got := send(replica.site.withUser(shown), r)
			if got.Code != tc.code || (seen == token) != (tc.code == 200) {
				t.Errorf("%d, with the token %q", got.Code, seen)
			}
			if c := got.Header().Get("Set-Cookie"); c != "" {
				t.Errorf("a request without the key changes the cookie: %s", c)
			}
		})
	}
	if strings.Contains(set, token) || strings.Contains(set, base64.RawURLEncoding.EncodeToString([]byte(token))) {
		t.Errorf("the cookie %q has the token", set)
	}
}

// TestUnlock: the login, and another page for a request without a token, say that the script requests a
// page with the key, if it has one. A page for a token and a login that fails are shown as they are.
func TestUnlock(t *testing.T) {
	withKey := func(r *http.Request) *http.Request {
		_, sealed, _ := cutCookie(send(newSite(t, false, ""), login("good")).Header().Get("Set-Cookie"))
		r.Header.Set("Cookie", "pintle-token="+sealed)
		r.Header.Set("Pintle-Key", testKey("a"))
		return r
	}
	get := func(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }
	for name, tc := range map[string]struct {
		r              *http.Request
		unlock, hidden string
	}{
		"Login":       {r: get("/login?to=%2Freleases%2Fa%2Fb%3Ffrom%3D1"), unlock: ` data-unlock="/releases/a/b?from=1"`, hidden: " hidden"},
		"LoginOfSite": {r: get("/login?to=https%3A%2F%2Fevil.example"), unlock: ` data-unlock="/"`, hidden: " hidden"},
		"Failed":      {r: login("bad"), hidden: " hidden"},
		"Missing":     {r: get("/nothing?x=1"), unlock: ` data-unlock=""`},
		"Shown":       {r: withKey(get("/nothing"))},
	} {
		t.Run(name, func(t *testing.T) {
			body := send(newSite(t, false, "guest"), tc.r).Body.String()
			if want := `<main id="content" tabindex="-1"` + tc.unlock + tc.hidden + ">"; !strings.Contains(body, want) {
				t.Errorf("no %q in\n%s", want, body)
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
		got := send(s, login("good", "to", to)).Header().Get("Location")
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
	sealed, err := seal("good", testKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		secure                bool
		authorization, cookie string
		want                  string
	}{
		"None":          {},
		"Cookie":        {cookie: "pintle-token=" + sealed, want: "good"},
		"CookieTLS":     {secure: true, cookie: "__Host-pintle-token=" + sealed, want: "good"},
		"CookieOfOther": {secure: true, cookie: "pintle-token=" + sealed},
		"Proxy":         {authorization: "Bearer proxy", cookie: "pintle-token=" + sealed, want: "proxy"},
		"LowerCase":     {authorization: "bearer proxy", want: "proxy"},
		"Basic":         {authorization: "Basic eDp5", cookie: "pintle-token=" + sealed, want: "good"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tc.secure, "")
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", tc.authorization)
			r.Header.Set("Cookie", tc.cookie)
			r.Header.Set("Pintle-Key", testKey("a"))
			if got := s.site.tokenOf(r); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestInvalidCookie: a token that is no longer valid is removed, so that the anonymous user is not
// sent to the login forever.
func TestInvalidCookie(t *testing.T) {
	sealed, err := seal("old", testKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Cookie", "pintle-token="+sealed)
	r.Header.Set("Pintle-Key", testKey("a"))
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
		s.site.fail(w, r, &authenticationv1.UserInfo{Username: "ada"}, tc.err)
		body := w.Body.String()
		if w.Code != tc.code || strings.Contains(body, "10.0.0.1") || strings.Contains(body, "secret-name") || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, `href="/operations"`) || !strings.Contains(body, "ada") {
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
	if body := got.Body.String(); got.Code != 404 || !strings.Contains(body, "There is no such page.") || !strings.Contains(body, `<li><a href="/">Releases</a></li>`) {
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
	if got := send(s.site.withUser(p), r); got.Code != 200 || open != 0 {
		t.Errorf("%d, %d requests are open", got.Code, open)
	}
	for _, path := range []string{"/", "/login", "/assets/page.css", "/nothing"} {
		send(s, httptest.NewRequest(http.MethodGet, path, nil))
		if open != 0 {
			t.Errorf("%s before the login is counted", path)
		}
	}
	refused = http.StatusServiceUnavailable
	if got := send(s.site.withUser(p), r); got.Code != 503 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "Wait.") {
		t.Errorf("%d %v\n%s", got.Code, got.Header(), got.Body)
	}
}
