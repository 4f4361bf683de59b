// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// pageSecret is the value of a Secret that no page shows.
const pageSecret = "page-secret-value"

const (
	ok       = "200 OK"
	notFound = "404 Not Found"
	toLogin  = "to /login"
)

// pageRow is what visitors get of a route.
type pageRow struct {
	// route is its pattern, and path an address of it.
	route, path string
	// answers are those of visitors. Others go to the login.
	answers map[string]string
	// shown are texts, each with the visitors who see it. Others do not.
	shown map[string][]string
}

// answerAll returns the same answer for all visitors with some name.
func answerAll(answer string, names ...string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		all[name] = answer
	}
	return all
}

// pageTable has a row for each route of the site. Each visitor with a valid token, and the guest, may
// open lists; they show what the visitor may get.
func (p *pages) pageTable(other string) []pageRow {
	mine, theirs := "/releases/"+p.namespace+"/web", "/releases/"+other+"/web"
	known := []string{viewer, editor, unprivileged, guest}
	everybody := answerAll(ok, visitors()...)
	return []pageRow{
		{route: "GET /{$}", path: "/", answers: answerAll(ok, known...), shown: map[string][]string{
			"There are no HelmReleases that you may get.": {unprivileged},
		}},
		// The releases of all tests are more than one page.
		{route: "GET /{$}", path: "/?namespace=" + p.namespace, answers: answerAll(ok, known...), shown: map[string][]string{
			`href="` + mine + `"`: {viewer, editor, guest}, `href="` + theirs + `"`: nil,
		}},
		{route: "GET /{$}", path: "/?namespace=" + other, answers: answerAll(ok, known...), shown: map[string][]string{
			`href="` + theirs + `"`: {viewer}, `href="` + mine + `"`: nil,
		}},
		{
			route: "GET /releases/{namespace}/{name}", path: mine,
			answers: map[string]string{viewer: ok, editor: ok, guest: ok, unprivileged: notFound},
			shown: map[string][]string{
				"InstallSucceeded": {viewer, editor, guest}, "There is no such object, or you may not get it.": {unprivileged},
			},
		},
		{
			route: "GET /releases/{namespace}/{name}", path: theirs,
			answers: map[string]string{viewer: ok, editor: notFound, guest: notFound, unprivileged: notFound},
			shown:   map[string][]string{other: {viewer}},
		},
		{
			route: "GET /releases/{namespace}/{name}", path: "/releases/" + other + "/missing",
			answers: answerAll(notFound, known...), shown: map[string][]string{"There is no such object, or you may not get it.": known},
		},
		{
			route: "GET /releases/{namespace}/{name}/drift", path: mine + "/drift",
			answers: map[string]string{viewer: ok, editor: ok, guest: ok, unprivileged: notFound},
			shown: map[string][]string{
				"you need the right to get secrets in namespace " + p.namespace: {viewer, guest}, "Objects compared with revision 1: 1. Objects that differ: 1.": {editor},
				"<code>.data.message</code>": {editor}, "edited by hand ***": {editor},
			},
		},
		{
			route: "GET /releases/{namespace}/{name}/drift", path: theirs + "/drift",
			answers: map[string]string{viewer: ok, editor: notFound, guest: notFound, unprivileged: notFound},
			shown:   map[string][]string{other: {viewer}},
		},
		{
			route: "GET /operations", path: "/operations", answers: answerAll(ok, known...),
			shown: map[string][]string{"no Operations that you may get": known, other: nil},
		},
		{
			route: "GET /operations/{namespace}/{name}", path: "/operations/" + other + "/missing", answers: answerAll(notFound, known...),
			shown: map[string][]string{"There is no such object, or you may not get it.": known},
		},
		{route: "GET /rollouts", path: "/rollouts", answers: answerAll(ok, known...)},
		{route: "GET /events", path: "/events", answers: answerAll(ok, known...)},
		{route: "GET /login", path: "/login", answers: everybody, shown: map[string][]string{`name="token"`: visitors()}},
		{route: "POST /login", path: "/login", answers: answerAll("400 Bad Request", visitors()...)},
		{route: "POST /logout", path: "/logout"},
		{route: "GET /assets/", path: "/assets/page.css", answers: everybody},
		{route: "/", path: "/nothing", answers: answerAll(notFound, visitors()...)},
	}
}

// TestPage: what each visitor gets of each route of the web page. No route writes, no answer has a
// value of a Secret, and no request is sent to the API server before the first page.
func TestPage(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	p := w.servePages()
	w.secretValues("hidden", nil, map[string]string{"values.yaml": "hidden: " + pageSecret})
	w.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("web", map[string]any{"plain": "plain-value"}, from(helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "hidden"}))
	other.publish("web", "1.0.0", configMapChart(t, "1.0.0"))
	other.release("web", nil)
	w.untilReady(hr)
	edited := w.configMap("web")
	edited.Data["message"] = "edited by hand " + pageSecret
	w.must(suite.client.Update(t.Context(), edited))
	if n := p.recorder.count(); n > 0 {
		t.Errorf("%d requests before the first page: %v", n, p.recorder.requests)
	}

	tested := map[string]bool{}
	for _, row := range p.pageTable(other.namespace) {
		tested[row.route] = true
		for _, visitor := range visitors() {
			p.check(row, visitor)
		}
	}
	for _, route := range p.routes {
		if !tested[route] {
			t.Errorf("route %q has no row in pageTable", route)
		}
	}
	dryRuns := 0
	for _, request := range p.recorder.writes() {
		if request == "PATCH /api/v1/namespaces/"+w.namespace+"/configmaps/web"+dryRun {
			dryRuns++
			continue
		}
		if request != "POST /apis/authentication.k8s.io/v1/tokenreviews" && request != "POST /apis/authorization.k8s.io/v1/subjectaccessreviews" {
			t.Errorf("the page sent %s", request)
		}
	}
	if live := w.configMap("web"); dryRuns != 1 || live.ResourceVersion != edited.ResourceVersion {
		t.Errorf("%d dry runs, and the object is %v, not %v", dryRuns, live, edited)
	}
}

// check compares what a visitor gets with a row.
func (p *pages) check(row pageRow, visitor string) {
	p.t.Helper()
	method, _, found := strings.Cut(row.route, " ")
	if !found {
		method = http.MethodGet
	}
	want := row.answers[visitor]
	if want == "" {
		want = toLogin
	}
	answer, body := p.fetch(visitor, method, row.path)
	if answer != want {
		p.t.Errorf("%s %s of %s: %s, want %s", method, row.path, visitor, answer, want)
	}
	for text, who := range row.shown {
		if got := strings.Contains(body, text); got != slices.Contains(who, visitor) {
			p.t.Errorf("%s %s of %s: shows %q: %v\n%s", method, row.path, visitor, text, got, body)
		}
	}
	if strings.Contains(body, pageSecret) || strings.Contains(body, suite.config.Host) {
		p.t.Errorf("%s %s of %s shows a Secret or the address of the API server:\n%s", method, row.path, visitor, body)
	}
	for _, write := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if write == http.MethodPost && (row.path == "/login" || row.path == "/logout") {
			continue
		}
		if answer, _ := p.fetch(visitor, write, row.path); answer != "405 Method Not Allowed" {
			p.t.Errorf("%s %s of %s: %s", write, row.path, visitor, answer)
		}
	}
}
