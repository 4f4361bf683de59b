// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// remoteTimeout bounds one request to another cluster, which may stop answering without closing
// connections.
const remoteTimeout = 30 * time.Second

// execExtension is the key of the cluster extension that exec plugins receive.
const execExtension = "client.authentication.k8s.io/exec"

// KubeconfigOptions are fields of a kubeconfig that are rejected unless they are allowed. A
// kubeconfig comes from a Secret, and its author may have fewer rights than this process.
type KubeconfigOptions struct {
	// InsecureExec allows exec plugins, which this process executes to obtain credentials.
	InsecureExec bool
	// InsecureTLS allows insecure-skip-tls-verify.
	InsecureTLS bool
}

// parse returns the configuration of the current context of a kubeconfig. It rejects a kubeconfig
// with a field that is not allowed. Its errors name fields and quote no values.
func parse(raw []byte, o KubeconfigOptions) (*rest.Config, error) {
	if err := bounded.Values().Check(raw); err != nil {
		return nil, fmt.Errorf("the kubeconfig is too large: %w", err)
	}
	all, err := clientcmd.Load(raw)
	if err != nil {
		// The cause quotes the content.
		return nil, errors.New("the content is not a valid kubeconfig")
	}
	current := all.Contexts[all.CurrentContext]
	if current == nil {
		return nil, errors.New("current-context names no context")
	}
	cluster, user := all.Clusters[current.Cluster], all.AuthInfos[current.AuthInfo]
	if cluster == nil || cluster.Server == "" {
		return nil, errors.New("the current context has no cluster with a server")
	}
	if user == nil {
		if current.AuthInfo != "" {
			return nil, errors.New("the current context has no such user")
		}
		user = clientcmdapi.NewAuthInfo()
	}
	if err := reject(cluster, user, o); err != nil {
		return nil, err
	}
	config := &rest.Config{
		Host:        cluster.Server,
		Username:    user.Username,
		Password:    user.Password,
		BearerToken: user.Token,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure:   cluster.InsecureSkipTLSVerify,
			ServerName: cluster.TLSServerName,
			CAData:     cluster.CertificateAuthorityData,
			CertData:   user.ClientCertificateData,
			KeyData:    user.ClientKeyData,
		},
		DisableCompression: cluster.DisableCompression,
		Timeout:            remoteTimeout,
	}
	if config.Proxy, err = proxy(cluster.ProxyURL); err != nil {
		return nil, err
	}
	if user.Exec != nil {
		config.ExecProvider = plugin(cluster, user)
	}
	return config, absolute(config)
}

// reject returns an error for fields with which this process would read files, execute commands or
// connect to an unverified server, unless o allows them.
func reject(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, o KubeconfigOptions) error {
	const inline = "it is a path of the controller's file system; write the data into the kubeconfig itself"
	for _, f := range []struct {
		field string
		used  bool
		why   string
	}{
		{"clusters[].cluster.certificate-authority", cluster.CertificateAuthority != "", inline},
		{"users[].user.client-certificate", user.ClientCertificate != "", inline},
		{"users[].user.client-key", user.ClientKey != "", inline},
		{"users[].user.tokenFile", user.TokenFile != "", inline},
		{"users[].user.auth-provider", user.AuthProvider != nil, "auth providers are not supported; use a token or a certificate"},
		{"users[].user.as", user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0, "use spec.serviceAccountName"},
		{"users[].user.exec", user.Exec != nil && !o.InsecureExec, "only a controller with --insecure-kubeconfig-exec executes commands"},
		{"clusters[].cluster.insecure-skip-tls-verify", cluster.InsecureSkipTLSVerify && !o.InsecureTLS, "only a controller with --insecure-kubeconfig-tls skips verification"},
	} {
		if f.used {
			return fmt.Errorf("%s is not allowed: %s", f.field, f.why)
		}
	}
	return nil
}

func proxy(raw string) (func(*http.Request) (*url.URL, error), error) {
	if raw == "" {
		return nil, nil //nolint:nilnil // there is no proxy
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		// The value may contain a password.
		return nil, errors.New("clusters[].cluster.proxy-url is not a URL")
	}
	return http.ProxyURL(u), nil
}

func plugin(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) *clientcmdapi.ExecConfig {
	exec := user.Exec.DeepCopy()
	exec.InteractiveMode, exec.StdinUnavailable = clientcmdapi.NeverExecInteractiveMode, true
	if exec.ProvideClusterInfo {
		exec.Config = cluster.Extensions[execExtension]
	}
	return exec
}

// absolute adds the scheme to the host. client-go derives a missing scheme from the TLS options,
// which ownTransport moves into the transport.
func absolute(config *rest.Config) error {
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || u.User != nil {
		return errors.New("clusters[].cluster.server is not a URL of an API server")
	}
	config.Host = u.String()
	return nil
}
