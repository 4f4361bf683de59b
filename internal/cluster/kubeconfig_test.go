// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// secretive returns a kubeconfig whose values no error may quote.
func secretive(cluster, user string) []byte {
	return fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: hunter-context
contexts: [{name: hunter-context, context: {cluster: hunter-cluster, user: hunter-user}}, {name: other, context: {cluster: other}}]
clusters: [{name: hunter-cluster, cluster: {%s}}, {name: other, cluster: {server: "https://other", certificate-authority: /file}}]
users: [{name: hunter-user, user: {%s}}]
`, cluster, user)
}

// TestParse: allowed fields are kept, and others are rejected without quoting values.
func TestParse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		cluster, user string
		options       KubeconfigOptions
		want          *rest.Config
		wantErr       string
	}{
		"Everything": {
			reason:  "data are kept",
			cluster: `server: "https://h/api", tls-server-name: name, certificate-authority-data: ` + encode([]byte("ca")),
			user:    `token: t, client-certificate-data: ` + encode([]byte("cert")) + `, client-key-data: ` + encode([]byte("key")),
			want: &rest.Config{Host: "https://h/api", BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{
				ServerName: "name", CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key"),
			}},
		},
		"Password": {
			reason: "basic authentication", cluster: `server: "https://h"`, user: `username: u, password: p`,
			want: &rest.Config{Host: "https://h", Username: "u", Password: "p"},
		},
		"Anonymous": {
			reason: "a user may have no credentials", cluster: `server: "http://h:80"`,
			want: &rest.Config{Host: "http://h:80"},
		},
		"HostWithCA": {
			reason: "with a CA the default scheme is https", cluster: `server: "h:6443", certificate-authority-data: ` + encode([]byte("ca")),
			want: &rest.Config{Host: "https://h:6443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}},
		},
		"CAFile":       {cluster: `server: "https://h", certificate-authority: /hunter`, wantErr: "clusters[].cluster.certificate-authority"},
		"CertFile":     {cluster: `server: "https://h"`, user: `client-certificate: /hunter`, wantErr: "users[].user.client-certificate"},
		"KeyFile":      {cluster: `server: "https://h"`, user: `client-key: /hunter`, wantErr: "users[].user.client-key"},
		"TokenFile":    {cluster: `server: "https://h"`, user: `tokenFile: /hunter`, wantErr: "users[].user.tokenFile"},
		"AuthProvider": {cluster: `server: "https://h"`, user: `auth-provider: {name: hunter}`, wantErr: "users[].user.auth-provider"},
		"As":           {cluster: `server: "https://h"`, user: `as: hunter`, wantErr: "users[].user.as"},
		"AsGroups":     {cluster: `server: "https://h"`, user: `as-groups: [hunter]`, wantErr: "users[].user.as"},
		"Exec": {
			cluster: `server: "https://h"`, user: `exec: {command: hunter, apiVersion: client.authentication.k8s.io/v1}`,
			options: KubeconfigOptions{InsecureTLS: true}, wantErr: "users[].user.exec is not allowed: only a controller with --insecure-kubeconfig-exec",
		},
		"ExecAllowed": {
			reason:  "exec plugins run without a terminal",
			cluster: `server: "https://h"`, user: `exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable}`,
			options: KubeconfigOptions{InsecureExec: true},
			want: &rest.Config{Host: "https://h", ExecProvider: &clientcmdapi.ExecConfig{
				Command: "x", APIVersion: "client.authentication.k8s.io/v1",
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode, StdinUnavailable: true,
			}},
		},
		"Insecure": {
			cluster: `server: "https://h", insecure-skip-tls-verify: true`, options: KubeconfigOptions{InsecureExec: true},
			wantErr: "clusters[].cluster.insecure-skip-tls-verify is not allowed: only a controller with --insecure-kubeconfig-tls",
		},
		"InsecureAllowed": {
			reason: "the option allows it", cluster: `server: "https://h", insecure-skip-tls-verify: true`, options: KubeconfigOptions{InsecureTLS: true},
			want: &rest.Config{Host: "https://h", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		},
		"NoServer":       {wantErr: "no cluster with a server"},
		"BadServer":      {cluster: `server: "https://hunter:2%zz"`, wantErr: "clusters[].cluster.server"},
		"ServerPassword": {cluster: `server: "https://hunter:hunter@h"`, wantErr: "clusters[].cluster.server"},
		"BadProxy":       {cluster: `server: "https://h", proxy-url: "http://hunter:hunter@%zz"`, wantErr: "clusters[].cluster.proxy-url"},
		"NoProxy":        {cluster: `server: "https://h", proxy-url: "hunter"`, wantErr: "clusters[].cluster.proxy-url"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(secretive(tc.cluster, tc.user), tc.options)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "hunter") {
					t.Errorf("got %v, want %s without values", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Timeout = remoteTimeout
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParseProxy: the transport uses the proxy of the kubeconfig.
func TestParseProxy(t *testing.T) {
	t.Parallel()
	config, err := parse(secretive(`server: "https://h", proxy-url: "http://proxy:1"`, ""), KubeconfigOptions{})
	if err != nil || config.Proxy == nil {
		t.Fatalf("no proxy: %v", err)
	}
	u, err := config.Proxy(&http.Request{})
	if err != nil || u.String() != "http://proxy:1" {
		t.Errorf("the proxy is %s, %v", u, err)
	}
	own, err := ownTransport(config, newTransport)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := own.Proxy(&http.Request{}); err != nil || u.String() != "http://proxy:1" {
		t.Errorf("the proxy of the transport is %s, %v", u, err)
	}
}

// TestParseInvalid: an invalid kubeconfig is rejected without quoting values.
func TestParseInvalid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ raw, want string }{
		"Nothing":       {"", "current-context"},
		"NoYAML":        {"hunter: [", "not a valid kubeconfig"},
		"Aliases":       {"a: &x hunter" + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*x,", 100) + "]", "the kubeconfig is too large: the content has more than 8388608 bytes after the expansion of its aliases"},
		"OtherType":     {"apiVersion: v1\nkind: Config\nclusters: hunter", "not a valid kubeconfig"},
		"OtherKind":     {"apiVersion: v1\nkind: hunter", "not a valid kubeconfig"},
		"NoContext":     {"apiVersion: v1\nkind: Config\ncurrent-context: hunter", "current-context"},
		"NoSuchCluster": {"apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: hunter}}]", "no cluster"},
		"NoSuchUser":    {"apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: k, cluster: {server: 'https://hunter'}}]\ncontexts: [{name: a, context: {cluster: k, user: hunter}}]", "no such user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := parse([]byte(tc.raw), KubeconfigOptions{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("got %v, %v; want an error with %q without values", config, err, tc.want)
			}
		})
	}
}

// TestCertificatesAreChecked: invalid certificates are rejected when the connection is made.
func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string][]byte{
		"CA":   secretive(`server: "https://h", certificate-authority-data: `+encode([]byte("hunter")), ""),
		"Cert": secretive(`server: "https://h"`, `client-certificate-data: `+encode([]byte("hunter"))+`, client-key-data: `+encode([]byte("hunter"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, _ := newPool(t, &rest.Config{Host: "http://local"})
			connection, err := pool.For(Identity{Kubeconfig: raw})
			if err == nil || !strings.Contains(err.Error(), "certificates and key") || strings.Contains(err.Error(), "hunter") {
				t.Errorf("got %v, %v", connection, err)
			}
		})
	}
}

// FuzzKubeconfig: a connection by any kubeconfig reads no files, executes no commands, verifies
// its server and impersonates no user. Errors quote no values.
func FuzzKubeconfig(f *testing.F) {
	for _, seed := range []struct{ cluster, user string }{
		{`server: "https://h"`, `token: hunter`},
		{`server: "https://hunter:hunter@h"`, `username: hunter, password: hunter`},
		{`server: "https://h?hunter=hunter"`, ``},
		{`server: "h:6443", certificate-authority: /hunter`, `tokenFile: /hunter`},
		{`server: "https://h", insecure-skip-tls-verify: true, tls-server-name: hunter`, `exec: {command: hunter, apiVersion: client.authentication.k8s.io/v1}`},
		{`server: "https://h", proxy-url: "http://hunter:hunter@proxy"`, `as: hunter, as-groups: [hunter]`},
		{`server: "https://h", certificate-authority-data: aHVudGVy`, `client-certificate: /hunter, client-key: /hunter`},
		{`server: "https://h"`, `auth-provider: {name: hunter, config: {hunter: hunter}}`},
		{`server: "https://h", proxy-url: "socks5://hunter"`, `client-certificate-data: aHVudGVy, client-key-data: aHVudGVy`},
		{`server: "https://h", proxy-url: "file:///hunter"`, `token: "hunter\nhunter"`},
	} {
		f.Add(secretive(seed.cluster, seed.user))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pool, _ := newPool(t, &rest.Config{Host: "http://local", BearerTokenFile: "/local", Username: "local"})
		connection, err := pool.For(Identity{Kubeconfig: raw})
		if err != nil {
			if strings.Contains(err.Error(), "hunter") || len(err.Error()) > 300 {
				t.Errorf("the error quotes a value: %s", err)
			}
			return
		}
		config, err := connection.ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		if config.BearerTokenFile != "" || config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || config.ExecProvider != nil ||
			config.AuthProvider != nil || config.Insecure || config.Impersonate.UserName != "" || config.Username == "local" ||
			strings.HasPrefix(config.Host, "http://local") && !strings.Contains(string(raw), "local") {
			t.Errorf("%q results in %+v", raw, config)
		}
		if own := connection.own; own == nil || own.TLSClientConfig != nil && own.TLSClientConfig.InsecureSkipVerify {
			t.Errorf("%q does not verify the server", raw)
		}
		if strings.Contains(connection.gate.host, "@") || strings.Contains(connection.gate.host, "?") {
			t.Errorf("%s is not just a host", connection.gate.host)
		}
	})
}
