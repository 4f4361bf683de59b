// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// minForm is the minimum length of a value in bytes. Shorter values are words that occur
// everywhere.
const minForm = 8

// secretMatcher finds secret values in all forms in which texts contain them. It indexes the forms
// by their first bytes, since there are thousands of forms, and texts of many megabytes.
type secretMatcher struct {
	forms map[[minForm]byte][]form
	known map[string]bool
}

type form struct{ text, of, how string }

func newSecretMatcher() *secretMatcher {
	return &secretMatcher{forms: map[[minForm]byte][]form{}, known: map[string]bool{}}
}

// find describes the values that a text contains.
func (a *secretMatcher) find(where, text string) []string {
	var found []string
	for i := 0; i+minForm <= len(text); i++ {
		for _, f := range a.forms[[minForm]byte([]byte(text[i:i+minForm]))] {
			if strings.HasPrefix(text[i:], f.text) {
				found = append(found, fmt.Sprintf("%s: %s, %s", where, f.of, f.how))
			}
		}
	}
	return found
}

// add adds a value.
func (a *secretMatcher) add(name, value string) {
	if len(value) < minForm || a.known[value] {
		return
	}
	a.known[value] = true
	quoted, _ := json.Marshal(value)
	twice, _ := json.Marshal(inside(string(quoted)))
	a.form(name, "as it is", value)
	a.form(name, "quoted", inside(strconv.Quote(value)))
	a.form(name, "quoted", inside(strconv.QuoteToASCII(value)))
	a.form(name, "as JSON", inside(string(quoted)))
	a.form(name, "as JSON in JSON", inside(string(twice)))
	a.form(name, "in a query", url.QueryEscape(value))
	a.form(name, "in a path", url.PathEscape(value))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			// Characters that also encode bits of neighbouring bytes are left out.
			from, to := (8*before+5)/6, 8*(before+len(value))/6
			a.form(name, "in base64", encoding.EncodeToString([]byte(strings.Repeat("x", before) + value + "xxx"))[from:to])
		}
	}
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

func (a *secretMatcher) form(name, how, text string) {
	if len(text) < minForm || how != "as it is" && a.known[text] {
		return
	}
	a.known[text] = true
	start := [minForm]byte([]byte(text[:minForm]))
	a.forms[start] = append(a.forms[start], form{text: text, of: name, how: how})
}

// learn adds the values of a Secret.
func (c *Canaries) learn(o *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, encoded := range data {
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || kind == string(corev1.SecretTypeServiceAccountToken) && key != corev1.ServiceAccountTokenKey {
			continue
		}
		c.seen["Secret"]++
		c.matcher.document(fmt.Sprintf("Secret %s/%s, key %s", o.GetNamespace(), o.GetName(), key), string(value))
	}
}

// document adds a value that may be a structured document: its leaves, or else its parts.
func (a *secretMatcher) document(name, text string) {
	if block, _ := pem.Decode([]byte(text)); block != nil && !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		// Certificates and public keys are not secret.
		return
	}
	var content any
	if err := bounded.Values().Unmarshal([]byte(text), &content); err == nil {
		switch v := content.(type) {
		case map[string]any:
			a.leaves(name, secretOfKubeconfig(v))
			return
		case []any:
			a.leaves(name, v)
			return
		}
	}
	a.text(name, text)
}

// text adds a text that is no document, its lines, and what is in them: KEY=value, a URL, or the
// base64 encoding of user and password. It shares no code with the controller, whose errors it
// finds.
func (a *secretMatcher) text(name, text string) {
	a.add(name, text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") {
			continue
		}
		a.add(name, line)
		if key, value, ok := strings.Cut(line, "="); ok && !strings.ContainsAny(key, " \"'{:?&") {
			value = strings.Trim(value, "\"'")
			a.add(name+", "+key, value)
			a.url(name+", "+key, value)
		}
		a.url(name, line)
		if plain, err := base64.StdEncoding.DecodeString(line); err == nil && utf8.Valid(plain) {
			if _, password, ok := strings.Cut(string(plain), ":"); ok {
				a.add(name+", encoded password", password)
			}
		}
	}
}

// url adds password and query values of a URL.
func (a *secretMatcher) url(name, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return
	}
	if password, ok := u.User.Password(); ok {
		a.add(name+", password of the URL", password)
	}
	for key, all := range u.Query() {
		for _, value := range all {
			a.add(name+", "+key+" of the URL", value)
		}
	}
}

// secretOfKubeconfig returns the secret part of a kubeconfig, and any other document unchanged.
func secretOfKubeconfig(v map[string]any) map[string]any {
	users, ok := v["users"].([]any)
	if !ok || v["clusters"] == nil {
		return v
	}
	for i := range users {
		// Names of users are not secret.
		if user, ok := users[i].(map[string]any); ok {
			users[i] = user["user"]
		}
	}
	return map[string]any{"users": users}
}

func (a *secretMatcher) leaves(name string, part any) {
	switch v := part.(type) {
	case map[string]any:
		for key, inner := range v {
			a.leaves(name+"."+key, inner)
		}
	case []any:
		for i, inner := range v {
			a.leaves(fmt.Sprintf("%s[%d]", name, i), inner)
		}
	case float64:
		a.add(name, strconv.FormatFloat(v, 'f', -1, 64))
		a.add(name, fmt.Sprint(v))
	case string:
		a.text(name, v)
	}
}
