// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// listPage returns a page of a list, whose items are those of a text.
func listPage(next, items string) string {
	return fmt.Sprintf(`{"kind":"SecretList","items":[%s],"metadata":{"resourceVersion":"7","continue":%q},"apiVersion":"v1"}`, items, next)
}

// recordItem returns an item of a list.
func recordItem(n int) string {
	return fmt.Sprintf(`{"metadata":{"name":"sh.helm.release.v1.app.v%d","labels":{"version":"%d"}}}`, n, n)
}

// TestListPages: the pages of a list are read one by one, and only records are returned. A list of one
// page takes one request.
func TestListPages(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		pages []string
		want  string
	}{
		"one page":        {[]string{listPage("", recordItem(2)+","+recordItem(1))}, "2 1"},
		"the own cluster": {[]string{listPage("", recordItem(1))}, "1"},
		"two pages":       {[]string{listPage("more", recordItem(3)+`,{"metadata":{"name":"other"}}`), listPage("", recordItem(2))}, "3 2"},
		"no items":        {[]string{listPage("", "")}, ""},
		"a null list":     {[]string{`{"items":null,"metadata":{"resourceVersion":"7"}}`}, ""},
		"items are first": {[]string{`{"items":[` + recordItem(1) + `],"metadata":{"resourceVersion":"7"},"more":{"items":[1]}}`}, "1"},
	} {
		requests := 0
		api := secretsAt(t, func(rw http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			if (query.Get("limit") == "500") == (reason == "the own cluster") || query.Get("labelSelector") != "name=app,owner=helm" || (query.Get("continue") == "more") != (requests == 1) {
				t.Errorf("%s: request %d: %s", reason, requests, r.URL)
			}
			_, _ = rw.Write([]byte(tc.pages[requests])) // the client reads it
			requests++
		})
		api.own = reason == "the own cluster"
		all, at, err := api.list(t.Context(), recordSelector("app"))
		var got []string
		for _, rec := range all {
			got = append(got, fmt.Sprint(rec.version()))
		}
		if strings.Join(got, " ") != tc.want || at != "7" || err != nil || requests != len(tc.pages) {
			t.Errorf("%s: got %v at %s, %v, %d requests", reason, got, at, err, requests)
		}
	}
}

// TestListLimits: the size of a page, of all pages, and the number of records are limited.
func TestListLimits(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(recordItem(1)+",", n), ",") }
	for reason, tc := range map[string]struct {
		page string
		most int
		want string
	}{
		"pages without end":   {listPage("more", "{}"+strings.Repeat(" ", maxAnswer-200)), maxListBytes/maxAnswer + 1, "all pages together have more than 33554432 bytes"},
		"records without end": {listPage("more", many(20_000)), 3, "there are more than 50000 records of Helm"},
		"deep nesting":        {listPage("", strings.Repeat("[", 1<<20)), 1, "exceeded max depth"},
		"no object":           {"[]", 1, "the answer is no list"},
		"no list":             {`{"items":{}}`, 1, "the answer is no list"},
		"an incomplete list":  {`{"items":[`, 1, "EOF"},
		"an incomplete page":  {`{"items":[]`, 1, "EOF"},
	} {
		requests := 0
		api := secretsAt(t, func(rw http.ResponseWriter, _ *http.Request) {
			requests++
			_, _ = rw.Write([]byte(tc.page)) // the client reads it
		})
		all, _, err := api.list(t.Context(), recordSelector("app"))
		if err == nil || !strings.Contains(err.Error(), tc.want) || all != nil || requests != tc.most {
			t.Errorf("%s: %d requests, %v", reason, requests, err)
		}
		if _, limit := errors.AsType[*bounded.Error](err); limit != strings.Contains(tc.want, "more than") {
			t.Errorf("%s: %T", reason, err)
		}
	}
	api := secretsAt(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(make([]byte, maxAnswer+1)) })
	if _, _, err := api.list(t.Context(), recordSelector("app")); !errors.As(err, new(*apiretry.TooLargeError)) {
		t.Errorf("a large page: %v", err)
	}
	if _, err := api.get(t.Context(), "a"); !errors.As(err, new(*apiretry.TooLargeError)) {
		t.Errorf("a large Secret: %v", err)
	}
	api.own = true
	if _, _, err := api.list(t.Context(), recordSelector("app")); err == nil || errors.As(err, new(*apiretry.TooLargeError)) {
		t.Errorf("a large list of the own cluster: %v", err)
	}
}

// secretsAt returns the Secrets of a server.
func secretsAt(t *testing.T, handler http.HandlerFunc) secretClient {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		handler(rw, r)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	config.Wrap(apiretry.LimitAnswers)
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return secretClient{rest: client.RESTClient(), namespace: "prod"}
}
