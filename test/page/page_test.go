// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// TestPage: the page works in a browser with a realistic set of releases. A short run opens every
// page once.
func TestPage(t *testing.T) {
	s := newSet(t)
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	operator := newAccount(t, "kube-system", "operator", true, everything)
	viewer := newAccount(t, shop, "viewer", false, rbacv1.PolicyRule{
		APIGroups: []string{"", "apps", "batch", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "pintle.dev", "ops.vworkspace.io"},
		Resources: []string{"*"}, Verbs: []string{"get", "list"},
	})
	for _, c := range []struct {
		name string
		test func(*testing.T, set, account)
		user account
	}{
		{"pictures", testPictures, operator},
		{everyPage, testEveryPage, operator},
		{"one namespace", testOneNamespace, viewer},
		{"login", testLogin, viewer},
		{"another port", testAnotherPort, viewer},
		{"keyboard", testKeyboard, operator},
		{"search", testSearch, operator},
		{"copy", testCopy, operator},
		{"without script", testWithoutScript, operator},
		// The last one, since it changes a release.
		{"live", testLive, operator},
	} {
		if testing.Short() && c.name != everyPage {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, s, c.user) })
	}
}

const everyPage = "every page"

// testEveryPage: no page has errors, requests to other servers, violations of accessibility or
// content that is wider than a phone.
func testEveryPage(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.opens("/login")
	b.accessible()
	b.login(user)
	paths := b.crawl(func(b tab) {
		b.html()
		b.accessible()
	})
	for _, path := range []string{
		"/releases/shop/storefront", "/releases/shop/checkout", "/releases/billing/ledger", "/releases/billing/gateway", "/releases/billing/reports",
		"/releases/observability/alerts", "/releases/observability/probes", "/operations", "/operations/billing/invoices-migrate",
		"/operations/shop/exports-nightly", "/releases/observability/alerts/drift",
	} {
		if !slices.Contains(paths, path) {
			t.Errorf("no link leads to %s: the pages are %v", path, paths)
		}
	}
	for path, status := range map[string]int{
		"/?namespace=shop&q=c": http.StatusOK, "/?selector=!!": http.StatusBadRequest, "/?q=nothing-has-this-name": http.StatusOK,
		"/releases/shop/none": http.StatusNotFound, "/none": http.StatusNotFound,
	} {
		if got := b.open(path); got != status {
			t.Errorf("%s: HTTP status %d, want %d", path, got, status)
		}
		if links := b.text(`[...document.querySelectorAll("header nav a")].map((a) => a.textContent).join()`); links != "Releases,Operations,Rollouts" {
			t.Errorf("%s: the navigation is %q", path, links)
		}
		b.accessible()
		b.clean()
	}
}

// testOneNamespace: no page that a viewer of one namespace can open has a name of another namespace.
func testOneNamespace(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.login(user)
	others := []string{billing, observability, "ledger", "invoices", "gateway", "reports", "alerts", "probes", "dashboards", "tracing"}
	check := func(b tab) {
		b.Helper()
		html := b.html()
		for _, name := range others {
			if strings.Contains(html, name) {
				b.Errorf("%s contains %q", b.path(), name)
			}
		}
	}
	paths := b.crawl(check)
	if !slices.Contains(paths, "/releases/shop/checkout") || !slices.Contains(paths, "/operations/shop/exports-nightly") {
		t.Errorf("the pages of the viewer are %v", paths)
	}
	for _, path := range []string{
		"/releases/billing/ledger", "/releases/observability/alerts", "/releases/observability/none", "/operations/billing/invoices-migrate",
	} {
		if status := b.open(path); status != http.StatusNotFound {
			t.Errorf("%s: HTTP status %d", path, status)
		}
		check(b)
	}
}

// testLogin: a token that is not valid is refused, a valid one shows the page, and the end of the
// session shows nothing.
func testLogin(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.opens("/")
	if b.path() != "/login" {
		t.Errorf("without a token, / leads to %s", b.path())
	}
	b.eval(`document.getElementById("token").focus()`, nil)
	b.write("not-a-token")
	if status := b.follow(); status != http.StatusUnauthorized || b.text(`document.querySelector("[role=alert]").textContent`) == "" {
		t.Errorf("a token that is not valid: HTTP status %d", status)
	}
	b.accessible()
	b.clean()
	b.login(user)
	if text := b.text(`document.querySelector("header").textContent`); !strings.Contains(text, user.name) {
		t.Errorf("the header has no user: %s", text)
	}
	if cookies := b.text("document.cookie"); cookies != "" {
		t.Errorf("scripts can read the cookie %s", cookies)
	}
	b.eval(`document.querySelector("form[action='/logout'] button").focus()`, nil)
	b.follow()
	b.opens("/releases/shop/cart")
	if b.path() != "/login?to=%2Freleases%2Fshop%2Fcart" {
		t.Errorf("after the end of the session, a release leads to %s", b.path())
	}
	b.clean()
}

// testAnotherPort: a browser sends the cookie of the page to an app on another port of the same host,
// which cannot log in with it.
func testAnotherPort(t *testing.T, _ set, user account) {
	listener, err := net.Listen("tcp", harness.PageHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	cookies := make(chan string, 10)
	app := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies <- r.Header.Get("Cookie")
		_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>App</title><main><h1>App</h1></main></html>`)
	})}}
	app.Start()
	t.Cleanup(app.Close)
	b := newTab(t)
	b.login(user)
	b.do(func(ctx context.Context) error {
		_, err := b.page.Open(ctx, app.URL+"/")
		return err
	})
	cookie := <-cookies
	if !strings.HasPrefix(cookie, "pintle-token=") || strings.Contains(cookie, user.token) {
		t.Errorf("the app gets the cookie %q", cookie)
	}
	if keys := b.text("JSON.stringify(localStorage)"); keys != "{}" {
		t.Errorf("the app can read %s", keys)
	}
	var answer string
	b.eval(fmt.Sprintf(`fetch("%s/", {credentials: "include"}).then((a) => a.text(), String)`, suite.origin), &answer)
	if !strings.Contains(answer, "Failed to fetch") {
		t.Errorf("the app can read %s", answer)
	}
	replay, err := http.NewRequestWithContext(t.Context(), http.MethodGet, suite.origin+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	replay.Header.Set("Cookie", cookie)
	got, err := http.DefaultTransport.RoundTrip(replay)
	if err != nil {
		t.Fatal(err)
	}
	_ = got.Body.Close()
	if to := got.Header.Get("Location"); to != "/login" {
		t.Errorf("the cookie of the browser is answered by %s, %q", got.Status, to)
	}
	b.opens("/releases/shop/cart")
	if b.path() != "/releases/shop/cart" {
		t.Errorf("the login is lost: %s", b.path())
	}
}

// testKeyboard: the first Tab leads to the link that skips the frame, and further ones to the search.
func testKeyboard(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.login(user)
	b.press("Tab")
	if text := b.text("document.activeElement.textContent"); text != "Skip to content" {
		t.Errorf("the first Tab leads to %q", text)
	}
	var visible bool
	if b.eval(`document.activeElement.getBoundingClientRect().left >= 0`, &visible); !visible {
		t.Error("the link is not visible when it has the focus")
	}
	b.press("Enter")
	b.until(`document.activeElement.id === "content"`)
	for range 50 {
		b.press("Tab")
		if b.text("document.activeElement.id") == "q" {
			var outlined bool
			if b.eval(`getComputedStyle(document.activeElement).outlineStyle !== "none"`, &outlined); !outlined {
				t.Error("the search has no visible focus")
			}
			b.clean()
			return
		}
	}
	t.Error("Tab does not lead to the search")
}

// testSearch: the list is narrowed as the user types, and the search keeps the focus.
func testSearch(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.login(user)
	if all := b.names("row-"); len(all) < 12 {
		t.Fatalf("the rows are %v", all)
	}
	b.eval(`document.getElementById("q").focus(); window.marked = true`, nil)
	b.write("check")
	b.until(`document.querySelectorAll("[id^=row-]").length === 1`)
	b.write("out")
	b.until(`location.search === "?q=checkout"`)
	if rows := b.names("row-"); !slices.Equal(rows, []string{"shop/checkout"}) {
		t.Errorf("the search finds %v", rows)
	}
	if b.text(`document.activeElement.id + " " + document.activeElement.value + " " + window.marked`) != "q checkout true" {
		t.Error("the search loses its focus, its text or the page")
	}
	b.clean()
}

// testCopy: a button copies the command before it, or selects it if the browser does not let it.
func testCopy(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.login(user)
	b.opens("/releases/billing/ledger")
	const button = `document.querySelector("[data-copy]")`
	b.eval(button+`.focus()`, nil)
	b.press("Enter")
	b.until(button + `.textContent !== "Copy"`)
	if done := b.text(button + `.textContent`); done == "Selected" {
		if got, want := b.text(`getSelection().toString()`), b.text(button+`.previousElementSibling.textContent`); got != want {
			t.Errorf("%q is selected, and not %q", got, want)
		}
	} else if done != "Copied" {
		t.Errorf("the button says %q", done)
	}
	b.clean()
}

// testWithoutScript: behind a proxy that authenticates users, the search and the pages of releases work
// without the script. The login says that it needs it.
func testWithoutScript(t *testing.T, _ set, user account) {
	b := newTab(t)
	b.do(func(ctx context.Context) error { return b.page.WithoutScript(ctx) })
	// Here the HTTP status is that of the document: no script requests another one.
	open := func(path string) {
		var status int
		if b.do(func(ctx context.Context) (err error) {
			status, err = b.page.Open(ctx, suite.origin+path)
			return err
		}); status != http.StatusOK {
			t.Errorf("%s: HTTP status %d", path, status)
		}
	}
	open("/")
	if shown := b.text("document.body.innerText"); !strings.Contains(shown, "The login needs JavaScript") {
		t.Errorf("the login shows %q", shown)
	}
	b.do(func(ctx context.Context) error { return b.page.Authorize(ctx, user.token) })
	open("/")
	b.eval(`document.getElementById("q").focus()`, nil)
	b.write("ledger")
	b.do(func(ctx context.Context) error {
		_, err := b.page.Load(ctx, func() error { return b.page.Press(ctx, "Enter") })
		return err
	})
	if !strings.Contains(b.path(), "q=ledger") {
		t.Errorf("the search leads to %s", b.path())
	}
	if rows := b.names("row-"); !slices.Contains(rows, "billing/ledger") || slices.Contains(rows, "shop/cart") {
		t.Errorf("the search finds %v", rows)
	}
	for path, text := range map[string]string{
		"/releases/shop/checkout":              "CrashLoop",
		"/releases/billing/ledger":             "PersistentVolumeClaim",
		"/operations/shop/exports-nightly":     "no space left",
		"/operations/billing/invoices-migrate": "Succeeded",
	} {
		open(path)
		if !strings.Contains(b.html(), text) {
			t.Errorf("%s has no %q", path, text)
		}
	}
	b.clean()
}

// testLive: a change in the cluster appears without a reload.
func testLive(t *testing.T, s set, user account) {
	overview, release := newTab(t), newTab(t)
	for b, path := range map[*tab]string{&overview: "/", &release: "/releases/shop/cart"} {
		b.login(user)
		b.opens(path)
		b.eval("window.marked = true", nil)
	}
	row := `document.getElementById("row-shop/cart").textContent`
	before := overview.text(row)
	hr := &helmv2.HelmRelease{}
	hr.Namespace, hr.Name = shop, "cart"
	s.change(hr, values{"replicas": 3})
	s.worlds[shop].UntilRevision(hr, 2)
	overview.until(fmt.Sprintf("window.marked && %s !== %q && %[1]s.includes('Ready')", row, before))
	release.until(`window.marked && document.getElementById("content").textContent.includes("revision 2")`)
	if text := overview.text(`document.getElementById("live").textContent`); text == "" {
		t.Error("screen readers are not told about the change")
	}
	// The page of a running action is requested again and again. This one has none any more.
	release.eval(`document.getElementById("content").setAttribute("data-follow", "")`, nil)
	release.until(`!document.getElementById("content").hasAttribute("data-follow")`)
	overview.clean()
	release.clean()
}

// TestBrowserReports: the checks of this suite find faults.
func TestBrowserReports(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const faults = `<!doctype html><html lang="en"><title>Faults</title><main><h1>Faults</h1><input>
<div style="width: 900px">wide</div><img alt="" src="/missing"><script src="http://127.0.0.1:9/elsewhere.js"></script><script>console.error("broken")</script></main></html>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, faults)
	}))
	t.Cleanup(server.Close)
	b := newTab(t)
	b.show(phone)
	var violations, wide []string
	b.do(func(ctx context.Context) (err error) {
		if _, err = b.page.Open(ctx, server.URL+"/"); err != nil {
			return err
		}
		violations, err = b.page.Axe(ctx, suite.axe)
		return err
	})
	b.eval(overflow, &wide)
	if len(violations) != 1 || !strings.HasPrefix(violations[0], "label ") {
		t.Errorf("the violations are %q", violations)
	}
	if len(wide) != 1 {
		t.Errorf("the wide elements are %q", wide)
	}
	problems := strings.Join(b.page.Problems(server.URL), "\n")
	for _, part := range []string{"console error", "broken", "/missing: HTTP status 404", "request to another server: http://127.0.0.1:9/"} {
		if !strings.Contains(problems, part) {
			t.Errorf("no %q in %s", part, problems)
		}
	}
}
