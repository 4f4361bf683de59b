// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func secretOf(kind string, data map[string]string) *unstructured.Unstructured {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Secret", "type": kind, "metadata": map[string]any{"namespace": "apps", "name": "s"}, "data": encoded,
	}}
}

func newCanaries() *Canaries {
	return &Canaries{matcher: newSecretMatcher(), texts: map[string]string{}, seen: map[string]int{}, logs: map[string]bool{}, metrics: map[int]metricsSource{}}
}

// TestCanaryForms: a value is found in every form in which a text quotes it, and the description
// does not contain it.
func TestCanaryForms(t *testing.T) {
	const value = "Yp4Vogl\"\\<&>\tWm81 Bird"
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(string(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	forms := []string{value, strconv.Quote(value), strconv.QuoteToASCII(value), string(asJSON), string(inJSON), url.QueryEscape(value), url.PathEscape(value)}
	for before := range 4 {
		text := []byte(strings.Repeat("a", before) + value + "bb")
		forms = append(forms, base64.StdEncoding.EncodeToString(text), base64.RawURLEncoding.EncodeToString(text))
	}
	for _, form := range forms {
		// The order of the Secret and the text does not matter.
		c, d := newCanaries(), newCanaries()
		c.Read("Event", "apps/x .message", "it says "+form+" there")
		c.learn(secretOf("Opaque", map[string]string{"a": value}))
		d.learn(secretOf("Opaque", map[string]string{"a": value}))
		d.Read("Event", "apps/x .message", "it says "+form+" there")
		for _, c := range []*Canaries{c, d} {
			leaks, err := c.Leaks(t.Context())
			if err != nil || len(leaks) == 0 || !strings.HasPrefix(leaks[0], "Event apps/x .message: Secret apps/s, key a, ") || strings.Contains(fmt.Sprint(leaks), "Vogl") {
				t.Errorf("%q: %q, %v", form, leaks, err)
			}
		}
	}
}

// TestCanaries: the secret parts of a Secret are searched for, and no others.
func TestCanaries(t *testing.T) {
	const public, private = "PublicXq7Zk93hW2", "PrivateGn2Pd48VcS"
	kubeconfig := "clusters: [{name: c, cluster: {server: '" + public + "', certificate-authority-data: " + public + "}}]\nusers: [{name: " + public + ", user: {token: " + private + "}}]\n"
	for name, data := range map[string]*unstructured.Unstructured{
		"a kubeconfig":      secretOf("Opaque", map[string]string{"value": kubeconfig}),
		"values":            secretOf("Opaque", map[string]string{"values.yaml": "a: [{b: " + private + "}]\nPublic: 1\n"}),
		"lines":             secretOf("Opaque", map[string]string{"a": "one: [\n  " + private + "\n"}),
		"credentials":       secretOf("kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"` + public + `":{"password":"` + private + `"}}}`}),
		"encoded":           secretOf("kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"` + public + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(public+":"+private)) + `"}}}`}),
		"variables":         secretOf("Opaque", map[string]string{".env": "# of the app\nPASSWORD='" + private + "'\nMODE=off\n"}),
		"a URL":             secretOf("Opaque", map[string]string{"url": "postgres://" + public + ":" + private + "@" + public + "/x"}),
		"a query":           secretOf("Opaque", map[string]string{"a": "b: [\"https://" + public + "/x?sig=" + private + "\"]\n"}),
		"a URL in a line":   secretOf("Opaque", map[string]string{".env": "A=b\nURL=amqp://u:" + private + "@" + public + "\n"}),
		"a token":           secretOf("kubernetes.io/service-account-token", map[string]string{"token": private, "namespace": public}),
		"a certificate":     secretOf("kubernetes.io/tls", map[string]string{"tls.crt": "-----BEGIN CERTIFICATE-----\n" + public + "\n-----END CERTIFICATE-----\n", "tls.key": private}),
		"a number":          secretOf("Opaque", map[string]string{"a": "pin: 7351928463\nword: " + private}),
		"words, not values": secretOf("Opaque", map[string]string{"a": "short", "b": private}),
	} {
		c := newCanaries()
		c.learn(data)
		c.Read("Event", "x", "short "+public)
		if leaks, err := c.Leaks(t.Context()); err != nil || len(leaks) != 0 {
			t.Errorf("%s: %q, %v", name, leaks, err)
		}
		c.Read("Event", "x", private)
		if leaks, err := c.Leaks(t.Context()); err != nil || len(leaks) == 0 {
			t.Errorf("%s: %q, %v", name, leaks, err)
		}
	}
}

// TestCanaryPlaces: statuses, metadata, logs, metrics and messages are searched, and specs are not.
func TestCanaryPlaces(t *testing.T) {
	const value = "PrivateGn2Pd48VcS"
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo "+value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	release := func(part string, content any) func(*Canaries) {
		return func(c *Canaries) {
			parts("metadata", "status")(c, &unstructured.Unstructured{Object: map[string]any{"kind": "HelmRelease", part: content}})
		}
	}
	for want, read := range map[string]func(*Canaries){
		"HelmRelease / .status.conditions[0].message": release("status", map[string]any{"conditions": []any{map[string]any{"message": value}}}),
		"HelmRelease / .metadata.annotations (key)":   release("metadata", map[string]any{"annotations": map[string]any{value: "x"}}),
		"log " + path + ":2":                          func(c *Canaries) { c.Log(path) },
		"metric of it": func(c *Canaries) {
			c.Metrics("it", func(context.Context) ([]string, error) { return []string{"a{b=\"" + value + "\"}"}, nil })(t.Context())
		},
		"notification to it": func(c *Canaries) { c.Read("notification", "to it", value) },
		"":                   release("spec", map[string]any{"values": value}),
	} {
		c := newCanaries()
		c.Add("it", value)
		read(c)
		leaks, err := c.Leaks(t.Context())
		if err != nil || (want == "") != (len(leaks) == 0) || want != "" && !strings.HasPrefix(leaks[0], want+": it, as it is") {
			t.Errorf("%s: %q, %v", want, leaks, err)
		}
	}
}
