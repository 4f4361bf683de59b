// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/pintle-dev/pintle/internal/page/access"
)

// maxPage is the maximum size of a page with hostile data.
const maxPage = 4 << 20

// hostile are texts of users that try to become a part of a page.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title></style></textarea><svg onload=alert(1)>`,
		`javascript:alert(1)`, `data:text/html,<script>alert(1)</script>`, `//elsewhere.example/x`, `\\elsewhere.example`, `{{.}}`, `x--><!--`, `&lt;script&gt;&#0;`,
		"\x1b[31mred\x1b]0;title\x07", "\x00\x08\r\n\v\u0085", "user\u202egnp.exe\u2066\u2069", "zero\u200bwidth\ufeff\u00ad", "\xff\xfe\xc3\x28", "tag\U000e0041",
		strings.Repeat("W", 2000), "a b\tc\nd",
	}
}

// contents returns the type of the content of each page.
func contents() map[string]any {
	return map[string]any{
		"error": nil, "login": "", "overview": overviewPage{}, "release": releasePage{}, "drift": driftPage{},
		"operations": operationsPage{}, "operation": operationPage{}, "rollouts": rolloutsPage{},
	}
}

// harmless returns a text of the same length, with as many lines.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return 'h'
	}, text)
}

// filler fills values with a text and a truth value.
type filler struct {
	text string
	yes  bool
}

// fill returns a value of a type with the text of the filler. Each list has two entries.
func (f *filler) fill(of reflect.Type, depth int) reflect.Value {
	v := reflect.New(of).Elem()
	if depth > 12 {
		return v
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString(f.text)
	case reflect.Bool:
		v.SetBool(f.yes)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Pointer:
		p := reflect.New(of.Elem())
		p.Elem().Set(f.fill(of.Elem(), depth+1))
		v.Set(p)
	case reflect.Slice:
		for range 2 {
			v.Set(reflect.Append(v, f.fill(of.Elem(), depth+1)))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(f.fill(of.Key(), depth+1), f.fill(of.Elem(), depth+1))
	case reflect.Interface:
		if of.NumMethod() == 0 {
			v.Set(reflect.ValueOf(f.text))
		}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)))
			return v
		}
		for i := range of.NumField() {
			if field := of.Field(i); field.IsExported() {
				v.Field(i).Set(f.fill(field.Type, depth+1))
			}
		}
	default:
	}
	return v
}

var parsed = sync.OnceValues(parse)

// page renders a template with the text of the filler.
func (f *filler) page(t *testing.T, name string, content any) []byte {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{templates: all, Options: Options{Shard: f.text, Source: &access.Source{}}}
	data := &layout{Title: f.text, User: &authenticationv1.UserInfo{Username: f.text}, Error: f.text, Attention: 2, Locked: f.yes}
	if content != nil {
		filled := f.fill(reflect.TypeOf(content), 0)
		data.Content = reflect.New(filled.Type()).Interface()
		reflect.ValueOf(data.Content).Elem().Set(filled)
	}
	if name == "login" {
		data.Content = "/x/" + f.text
	}
	w := httptest.NewRecorder()
	s.render(w, httptest.NewRequest(http.MethodGet, "/", nil), http.StatusOK, name, data)
	if w.Code != http.StatusOK {
		t.Fatalf("page %s: %s", name, w.Body)
	}
	return w.Body.Bytes()
}

// TestHostileTexts: texts of users do not become elements, attributes, addresses elsewhere or invisible
// characters of any page. Each page has the same elements and attributes as with harmless texts.
func TestHostileTexts(t *testing.T) {
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	for name := range all.pages {
		content, known := contents()[name]
		if !known {
			t.Errorf("template %s has no hostile data: add the type of its content to contents", name)
			continue
		}
		for i, text := range hostile() {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				for _, yes := range []bool{true, false} {
					page := (&filler{text: text, yes: yes}).page(t, name, content)
					checkPage(t, page, shapeOf(t, (&filler{text: harmless(text), yes: yes}).page(t, name, content)))
				}
			})
		}
	}
}

// checkPage checks a page with hostile texts, given the elements of one without.
func checkPage(t *testing.T, page []byte, harmless []string) {
	t.Helper()
	if len(page) > maxPage {
		t.Errorf("the page has %d bytes", len(page))
	}
	if shape := shapeOf(t, page); !slices.Equal(shape, harmless) {
		for i := range min(len(shape), len(harmless)) {
			if shape[i] != harmless[i] {
				t.Fatalf("element %d is %s, not %s", i, shape[i], harmless[i])
			}
		}
		t.Errorf("the page has %d elements, not %d", len(shape), len(harmless))
	}
	if !utf8.Valid(page) {
		t.Error("the page is not valid UTF-8")
	}
	for _, r := range string(page) {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("the page has the character %U", r)
			break
		}
	}
}

// shapeOf returns the elements of a page with the names of their attributes, and checks the addresses.
func shapeOf(t *testing.T, page []byte) []string {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var shape []string
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			element := n.Data
			for _, a := range n.Attr {
				element += " " + a.Key
				checkAddress(t, a)
			}
			shape = append(shape, element)
		case html.CommentNode:
			t.Errorf("the page has the comment %q", n.Data)
		default:
		}
	}
	return shape
}

// checkAddress checks that an attribute leads only to this site and to the documentation.
func checkAddress(t *testing.T, a html.Attribute) {
	t.Helper()
	if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" {
		t.Errorf("the page has the attribute %s", a.Key)
	}
	if !slices.Contains([]string{"href", "src", "action", "formaction", "data", "poster", "srcset", "ping", "data-unlock"}, a.Key) {
		return
	}
	// Browsers remove tabs and line breaks.
	u, err := url.Parse(strings.NewReplacer("\t", "", "\n", "").Replace(a.Val))
	switch {
	case a.Key == "data-unlock" && a.Val == "":
	case err != nil:
		t.Errorf("%s %q: %v", a.Key, a.Val, err)
	case strings.HasPrefix(a.Val, "https://github.com/pintle-dev/pintle/"):
	case u.Scheme != "" || u.Host != "" || !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#"), strings.HasPrefix(a.Val, "//"), strings.HasPrefix(a.Val, `/\`):
		t.Errorf("%s leads to %q", a.Key, a.Val)
	}
}

// TestEscaping: a function of templates cannot switch the escaping off.
func TestEscaping(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[template.HTML](), reflect.TypeFor[template.URL](), reflect.TypeFor[template.JS](), reflect.TypeFor[template.HTMLAttr](), reflect.TypeFor[template.CSS](), reflect.TypeFor[template.Srcset]()} {
		for name, f := range functions() {
			if of := reflect.TypeOf(f); of.NumOut() > 0 && of.Out(0) == kind {
				t.Errorf("the function %s returns %s, which is not escaped", name, kind)
			}
		}
	}
}
