// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestAddresses: only public addresses are allowed, and ranges that are named.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "169.254.169.254": false, "fe80::1%eth0": false, "fd00::1": false,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false, "100.64.0.1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false,
		"64:ff9b::a00:1": false, "2002:a00:1::1": false, "255.255.255.255": false,
		"10.1.2.3": true, "::ffff:10.1.2.3": true,
	} {
		a := Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
		if got := a.Allows(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %t", address, got)
		}
	}
}

// client returns a client whose archives may have some addresses.
func client(content string, allowed ...netip.Prefix) *http.Client {
	return &http.Client{Transport: &Transport{
		Base:     http.DefaultTransport,
		Archives: &http.Client{Transport: Addresses{Allowed: allowed}.Transport()},
		Content: func(_ context.Context, namespace, name string) (string, error) {
			if namespace != "apps" || name != "web" {
				return "", errors.New("there is no such HelmChart")
			}
			return content, nil
		},
	}}
}

// artifact returns the URL of the artifact of an archive.
func artifact(t *testing.T, archive string) string {
	t.Helper()
	u, err := url.Parse(archive)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + Host + "/" + u.Scheme + "/" + u.Host + u.Path
}

// TestDownload: an archive is downloaded from allowed addresses only, also after a redirect.
func TestDownload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere.tgz" {
			http.Redirect(w, r, "http://127.0.0.2:1/web.tgz", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("archive"))
	}))
	defer server.Close()
	own := netip.MustParsePrefix("127.0.0.1/32")
	for name, tc := range map[string]struct {
		url     string
		allowed []netip.Prefix
		max     int64
		want    string
	}{
		"Allowed":   {artifact(t, server.URL+"/web.tgz"), []netip.Prefix{own}, 100, digest.FromString("archive").String()},
		"Forbidden": {artifact(t, server.URL+"/web.tgz"), nil, 100, "the address 127.0.0.1 is not public"},
		"Redirect":  {artifact(t, server.URL+"/elsewhere.tgz"), []netip.Prefix{own}, 100, "the address 127.0.0.2 is not public"},
		"TooLarge":  {artifact(t, server.URL+"/web.tgz"), []netip.Prefix{own}, 3, "larger than the limit"},
		"Content":   {"http://" + Host + "/content/apps/web", nil, 100, digest.FromString("inline").String()},
		"NoContent": {"http://" + Host + "/content/apps/other", nil, 100, "no such HelmChart"},
		"Other":     {"http://" + Host + "/else", nil, 100, "no such artifact"},
		"Base":      {server.URL + "/web.tgz", nil, 100, digest.FromString("archive").String()},
	} {
		got, err := Digest(t.Context(), client(base64.StdEncoding.EncodeToString([]byte("inline")), tc.allowed...), tc.url, tc.max)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
