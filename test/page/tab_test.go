// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/browser"
)

var (
	desktop = browser.Look{Width: 1280, Height: 800}
	phone   = browser.Look{Width: 360, Height: 740}
)

func dark(l browser.Look) browser.Look {
	l.Dark = true
	return l
}

// account is a ServiceAccount with a token.
type account struct{ name, token string }

// newAccount creates a ServiceAccount with a ClusterRole: in its own namespace, or everywhere.
func newAccount(t *testing.T, namespace, name string, everywhere bool, rules ...rbacv1.PolicyRule) account {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
	sa := &corev1.ServiceAccount{ObjectMeta: meta}
	objects := []client.Object{sa, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}}
	if everywhere {
		objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: role, Subjects: subjects})
	} else {
		objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects})
	}
	for _, o := range objects {
		if err := suite.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	seconds := int64(time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := suite.Client.SubResource("token").Create(t.Context(), sa, request); err != nil {
		t.Fatal(err)
	}
	return account{name: "system:serviceaccount:" + namespace + ":" + name, token: request.Status.Token}
}

// tab is a page of the browser. Each step fails the test if it does not succeed.
type tab struct {
	*testing.T

	page *browser.Page
}

// newTab opens an empty page with the size of a desktop.
func newTab(t *testing.T) tab {
	t.Helper()
	b := tab{T: t}
	b.do(func(ctx context.Context) (err error) {
		b.page, err = suite.browser.NewPage(ctx)
		return err
	})
	t.Cleanup(func() { b.do(func(ctx context.Context) error { return b.page.Close(context.WithoutCancel(ctx)) }) })
	b.show(desktop)
	return b
}

// do runs a step.
func (b tab) do(step func(context.Context) error) {
	b.Helper()
	// The context of a test has ended when its cleanups run.
	if err := step(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
}

func (b tab) show(l browser.Look) {
	b.Helper()
	b.do(func(ctx context.Context) error { return b.page.Show(ctx, l) })
}

// open opens a path, and returns its HTTP status.
func (b tab) open(path string) (status int) {
	b.Helper()
	b.do(func(ctx context.Context) error {
		_, err := b.page.Open(ctx, suite.origin+path)
		return err
	})
	return b.unlocked()
}

// unlocked waits until the script has shown the page, or the login, and returns the HTTP status.
func (b tab) unlocked() (status int) {
	b.Helper()
	b.until(`!document.querySelector("main[hidden]") && !(localStorage.getItem("pintle-key") && document.querySelector("main[data-unlock]"))`)
	return b.page.Status()
}

// opens opens a path that exists.
func (b tab) opens(path string) {
	b.Helper()
	if status := b.open(path); status != http.StatusOK {
		b.Fatalf("%s: HTTP status %d", path, status)
	}
}

// eval evaluates an expression, and decodes its result.
func (b tab) eval(expression string, into any) {
	b.Helper()
	b.do(func(ctx context.Context) error { return b.page.Evaluate(ctx, expression, into) })
}

func (b tab) text(expression string) (text string) {
	b.Helper()
	b.eval(expression, &text)
	return text
}

func (b tab) until(expression string) {
	b.Helper()
	b.do(func(ctx context.Context) error { return b.page.Until(ctx, expression) })
}

func (b tab) press(key string) {
	b.Helper()
	b.do(func(ctx context.Context) error { return b.page.Press(ctx, key) })
}

func (b tab) write(text string) {
	b.Helper()
	b.do(func(ctx context.Context) error { return b.page.Type(ctx, text) })
}

// follow presses Enter, which leads to another page. It returns the HTTP status of that page.
func (b tab) follow() (status int) {
	b.Helper()
	b.do(func(ctx context.Context) error {
		_, err := b.page.Load(ctx, func() error { return b.page.Press(ctx, "Enter") })
		return err
	})
	return b.unlocked()
}

// html returns the document. Values of Secrets are searched in it at the end of the suite.
func (b tab) html() (html string) {
	b.Helper()
	b.do(func(ctx context.Context) (err error) {
		html, err = b.page.HTML(ctx)
		return err
	})
	suite.Canaries.Read("page", b.path(), html)
	return html
}

func (b tab) path() string { b.Helper(); return b.text("location.pathname + location.search") }

// login logs in by the form.
func (b tab) login(a account) {
	b.Helper()
	b.opens("/login")
	b.eval(`document.getElementById("token").focus()`, nil)
	b.write(a.token)
	if status := b.follow(); status != http.StatusOK || b.path() != "/" {
		b.Fatalf("the login leads to %s with HTTP status %d", b.path(), status)
	}
}

// clean checks that nothing went wrong since the last call.
func (b tab) clean() {
	b.Helper()
	for _, p := range b.page.Problems(suite.origin) {
		b.Errorf("%s: %s", b.path(), p)
	}
}

// overflow returns the elements that are wider than the page, unless a part of the page scrolls.
const overflow = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 0.5 && !e.closest(".scroll, pre, .visually-hidden, .skip"))
    .slice(0, 5).map((e) => e.outerHTML.slice(0, 200));
})()`

// accessible checks the page for violations and overflow, in both themes and sizes, or in one of
// each in a short run.
func (b tab) accessible() {
	b.Helper()
	looks := []browser.Look{desktop, dark(desktop), dark(phone), phone}
	if testing.Short() {
		looks = looks[:1]
	}
	for _, l := range looks {
		b.show(l)
		b.do(func(ctx context.Context) error {
			violations, err := b.page.Axe(ctx, suite.axe)
			for _, v := range violations {
				b.Errorf("%s at %d pixels, dark %t: %s", b.path(), l.Width, l.Dark, v)
			}
			return err
		})
		var wide []string
		b.eval(overflow, &wide)
		if len(wide) > 0 {
			b.Errorf("%s at %d pixels: wider than the page: %s", b.path(), l.Width, strings.Join(wide, "\n"))
		}
	}
	b.show(desktop)
}

// maxQueries is the number of queries of one path that a crawl opens.
const maxQueries = 3

// crawl opens all pages that links lead to, beginning with the overview, and calls a function on
// each. It returns their paths.
func (b tab) crawl(on func(tab)) (paths []string) {
	b.Helper()
	queries, queue := map[string]int{}, []string{"/"}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		paths = append(paths, next)
		b.opens(next)
		b.until(`document.readyState === "complete"`)
		on(b)
		b.clean()
		var links []string
		b.eval(`[...document.querySelectorAll("a[href]")].map((a) => a.href)`, &links)
		for _, link := range links {
			path, inside := strings.CutPrefix(link, suite.origin)
			path, _, _ = strings.Cut(path, "#")
			if !inside || slices.Contains(paths, path) || slices.Contains(queue, path) {
				continue
			}
			parsed, err := url.Parse(path)
			if err != nil {
				b.Fatal(err)
			}
			if parsed.RawQuery != "" {
				queries[parsed.Path]++
			}
			if queries[parsed.Path] <= maxQueries {
				queue = append(queue, path)
			}
		}
	}
	return paths
}

// names returns the IDs of elements with a prefix.
func (b tab) names(prefix string) (names []string) {
	b.Helper()
	b.eval(fmt.Sprintf(`[...document.querySelectorAll("[id^='%s']")].map((e) => e.id.slice(%d))`, prefix, len(prefix)), &names)
	return names
}
