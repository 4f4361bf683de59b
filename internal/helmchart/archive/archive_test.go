// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// TestAddresses: only public addresses are allowed, and ranges that are named. An address that contains
// an IPv4 address counts as that one, or is not allowed.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "2001:4860:4860::8888": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "169.254.169.254": false, "::ffff:169.254.169.254": false,
		"fe80::1%eth0": false, "fd00::1": false, "fd00:ec2::254": false,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false, "100.64.0.1": false, "100.100.100.200": false, "192.0.0.192": false,
		"0.0.0.0": false, "::": false, "224.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false, "192.88.99.1": false,
		// IPv4-compatible, IPv4-translated, NAT64, local NAT64, 6to4, Teredo and others.
		"::7f00:1": false, "::a9fe:a9fe": false, "::ffff:0:7f00:1": false, "64:ff9b::a00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::5db8:d822": true,
		"64:ff9b:1::5db8:d822": false, "2002:a00:1::1": false, "2001:0:4136:e378::1": false, "fec0::1": false, "100::1": false, "5f00::1": false,
		"2001:db8::1": false, "ff02::1": false, "4000::1": false,
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "64:ff9b::a01:203": true,
	} {
		a := Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
		if got := a.Allows(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %t", address, got)
		}
	}
}

// loopback allows the address of test servers, which have other ports of it.
func loopback() Addresses {
	return Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
}

// reading returns a reader from some addresses.
func reading(from Addresses, access Access, chart *cattlev1.HelmChart) *Reader {
	return &Reader{
		Chart: func(_ context.Context, namespace, name string) (*cattlev1.HelmChart, error) {
			if namespace != chart.Namespace || name != chart.Name {
				return nil, errors.New("there is no such HelmChart")
			}
			return chart, nil
		},
		Access:    func(context.Context, *cattlev1.HelmChart) (Access, error) { return access, nil },
		Transport: func(config *tls.Config) http.RoundTripper { return from.Transport(config) },
		Timeout:   time.Minute, MaxBytes: 100,
	}
}

// serve returns the URL of a server that sends archives and redirects.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

const secret = "s3cr3t"

// TestRead: an archive is read from allowed addresses only, also after a redirect, and within the limit
// of its size. Errors name its URL without the query.
func TestRead(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere.tgz":
			http.Redirect(w, r, "http://127.0.0.2:1/web.tgz?token="+secret, http.StatusFound)
		case "/file.tgz":
			http.Redirect(w, r, "file:///etc/passwd?"+secret, http.StatusFound)
		case "/invalid.tgz":
			w.Header().Set("Location", "http://%zz?"+secret)
			w.WriteHeader(http.StatusFound)
		case "/loop.tgz":
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		case "/gone.tgz":
			http.NotFound(w, r)
		case "/large.tgz":
			_, _ = w.Write(make([]byte, 101))
		case "/cut.tgz":
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("a"))
		case "/packed.tgz":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("archive"))
		case "/same.tgz":
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = w.Write([]byte("archive"))
		}
	})
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/downgrade.tgz" {
			http.Redirect(w, r, server+"/web.tgz?"+secret, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("archive"))
	}))
	defer secure.Close()
	cas := Access{CAs: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))}
	archive := digest.FromString("archive").String()
	for name, tc := range map[string]struct {
		url    string
		from   Addresses
		access Access
		want   string
	}{
		"Allowed":     {server + "/web.tgz?token=" + secret, loopback(), Access{}, archive},
		"Forbidden":   {server + "/web.tgz?token=" + secret, Addresses{}, Access{}, "GET " + server + "/web.tgz: dial tcp 127.0.0.1"},
		"NotPublic":   {server + "/web.tgz", Addresses{Instead: "do this"}, Access{}, "the address 127.0.0.1 is not public: do this"},
		"Elsewhere":   {server + "/elsewhere.tgz", loopback(), Access{}, "GET http://127.0.0.2:1/web.tgz: dial tcp 127.0.0.2:1: the address 127.0.0.2 is not public"},
		"File":        {server + "/file.tgz", loopback(), Access{}, "the server redirects to file:///etc/passwd: only http and https"},
		"Invalid":     {server + "/invalid.tgz", loopback(), Access{}, "redirects to an invalid URL"},
		"Loop":        {server + "/loop.tgz", loopback(), Access{}, "redirects more than 5 times"},
		"Gone":        {server + "/gone.tgz?" + secret, loopback(), Access{}, "GET " + server + "/gone.tgz answered 404 Not Found"},
		"Large":       {server + "/large.tgz?" + secret, loopback(), Access{}, server + "/large.tgz is larger than the limit of 100 bytes"},
		"Cut":         {server + "/cut.tgz?" + secret, loopback(), Access{}, server + "/cut.tgz was not received completely"},
		"Packed":      {server + "/packed.tgz", loopback(), Access{}, archive},
		"Same":        {server + "/same.tgz", loopback(), Access{}, "answered 304"},
		"Unknown":     {secure.URL + "/web.tgz", loopback(), Access{}, "certificate signed by unknown authority"},
		"Certificate": {secure.URL + "/web.tgz", loopback(), cas, archive},
		"NoneInPEM":   {secure.URL + "/web.tgz", loopback(), Access{CAs: "PEM"}, "have no certificates in PEM"},
		"Downgrade":   {secure.URL + "/downgrade.tgz", loopback(), cas, "the server redirects from https to " + server + "/web.tgz"},
		"Password":    {"https://me:" + secret + "@charts.example/web.tgz", loopback(), Access{}, "spec.chart is not an http or https URL without credentials"},
	} {
		c := web(cattlev1.HelmChartSpec{Chart: tc.url})
		got, err := reading(tc.from, tc.access, c).Read(t.Context(), c, Version{})
		said := got.Digest
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tc.want) || strings.Contains(said, secret) {
			t.Errorf("%s: got %s", name, said)
		}
	}
}

// TestVersions: a server that names versions is only asked for another one.
func TestVersions(t *testing.T) {
	etag, modified, content := `"1"`, "", "one"
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", etag)
		w.Header().Set("Last-Modified", modified)
		if etag != "" && r.Header.Get("If-None-Match") == etag || modified != "" && r.Header.Get("If-Modified-Since") == modified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(content))
	})
	c := web(cattlev1.HelmChartSpec{Chart: server + "/web.tgz"})
	r := reading(loopback(), Access{}, c)
	read := func(known Version) Version {
		t.Helper()
		got, err := r.Read(t.Context(), c, known)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := read(Version{})
	if first.Digest != digest.FromString("one").String() || first.ETag != etag {
		t.Errorf("got %+v", first)
	}
	content = "two"
	if got := read(first); got != first {
		t.Errorf("the server was not believed: %+v", got)
	}
	etag, modified = "", "Sat, 01 Nov 2025 00:00:00 GMT"
	second := read(first)
	if second.Digest != digest.FromString("two").String() || second.ETag != "" || second.LastModified != modified {
		t.Errorf("got %+v", second)
	}
	if got := read(second); got != second {
		t.Errorf("got %+v", got)
	}
	// Without a digest, a version is not known.
	if got := read(Version{LastModified: modified}); got != second {
		t.Errorf("got %+v", got)
	}
}

// TestCredentials: credentials are sent to the scheme, host and port of the archive only, unless the
// HelmChart passes them on. No other server gets the query.
func TestCredentials(t *testing.T) {
	got := map[string]string{}
	record := func(name string, r *http.Request) {
		user, password, _ := r.BasicAuth()
		got[name] = user + ":" + password
		if referrer := r.Referer(); referrer != "" {
			t.Errorf("%s gets the referrer %s", name, referrer)
		}
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		record("other", r)
		_, _ = w.Write([]byte("archive"))
	})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/web.tgz":
			record("first", r)
			http.Redirect(w, r, "/second.tgz", http.StatusFound)
		default:
			record("second", r)
			// The same host, and another port.
			http.Redirect(w, r, other+"/third.tgz", http.StatusFound)
		}
	})
	c := web(cattlev1.HelmChartSpec{Chart: server + "/web.tgz?token=" + secret})
	for anywhere, want := range map[bool]string{false: ":", true: "me:" + secret} {
		if _, err := reading(loopback(), Access{User: "me", Password: secret, Anywhere: anywhere}, c).Read(t.Context(), c, Version{}); err != nil {
			t.Fatal(err)
		}
		if got["first"] != "me:"+secret || got["second"] != "me:"+secret || got["other"] != want {
			t.Errorf("%t: got %v", anywhere, got)
		}
	}
}

// TestTransport: the HelmChart decides what an artifact is read from. A URL that it does not have leads
// nowhere.
func TestTransport(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("archive " + r.URL.RawQuery))
	})
	inline := cattlev1.HelmChartSpec{ChartContent: base64.StdEncoding.EncodeToString([]byte("inline"))}
	atURL := cattlev1.HelmChartSpec{Chart: server + "/web.tgz?token=" + secret}
	artifact, _ := ArtifactURL(web(atURL))
	host := strings.TrimPrefix(server, "http://")
	for name, tc := range map[string]struct {
		url  string
		spec cattlev1.HelmChartSpec
		want string
	}{
		"URL":          {artifact, atURL, "archive token=" + secret},
		"OtherPath":    {"http://" + Host + "/apps/web/http/" + host + "/other.tgz", atURL, "has another archive now"},
		"OtherQuery":   {"http://" + Host + "/apps/web/http/" + host + "/web.tgz", atURL, "has another archive now"},
		"OtherScheme":  {strings.Replace(artifact, "/http/", "/https/", 1), atURL, "has another archive now"},
		"OtherHost":    {"http://" + Host + "/apps/web/http/127.0.0.1:1/web.tgz", atURL, "has another archive now"},
		"NoContent":    {"http://" + Host + "/apps/web", atURL, "has another archive now"},
		"Content":      {"http://" + Host + "/apps/web", inline, "inline"},
		"NoURL":        {artifact, inline, "has another archive now"},
		"OtherContent": {"http://" + Host + "/other/web", inline, "no such HelmChart"},
		"NotBase64":    {"http://" + Host + "/apps/web", cattlev1.HelmChartSpec{ChartContent: "%"}, "spec.chartContent is not base64"},
		"Nowhere":      {"http://" + Host + "/else", inline, "no such artifact"},
		"Base":         {server + "/web.tgz?q", inline, "archive q"},
	} {
		client := &http.Client{Transport: &Transport{Base: http.DefaultTransport, Reader: reading(loopback(), Access{}, web(tc.spec))}}
		said := ""
		if resp, err := client.Get(tc.url); err != nil { //nolint:noctx // a test
			said = err.Error()
		} else {
			raw, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			said = string(raw)
		}
		if !strings.Contains(said, tc.want) {
			t.Errorf("%s: got %s", name, said)
		}
	}
}
