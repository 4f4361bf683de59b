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
)

// remoteTimeout bounds one request to another cluster, which may have gone away
// without a word.
const remoteTimeout = 30 * time.Second

// execExtension is the key of a cluster's extension meant for exec plugins.
const execExtension = "client.authentication.k8s.io/exec"

// KubeconfigOptions says what a kubeconfig may do beyond being data. Whoever may write a
// Secret writes kubeconfigs, and they are used by a process that may do more.
type KubeconfigOptions struct {
	// InsecureExec allows commands that are executed here to obtain credentials.
	InsecureExec bool
	// InsecureTLS allows not to verify the API server.
	InsecureTLS bool
}

// parse makes a config of a kubeconfig's current context. It takes over what it
// knows to be harmless and refuses what it would have to leave out. Its errors
// name fields and never quote.
func parse(raw []byte, trust KubeconfigOptions) (*rest.Config, error) {
	all, err := clientcmd.Load(raw)
	if err != nil {
		// The cause would quote what it could not read.
		return nil, errors.New("it is no kubeconfig")
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
	if err := refuse(cluster, user, trust); err != nil {
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

// refuse names the fields that would make us read files, execute commands or
// talk to somebody we do not know, unless we are told to.
func refuse(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, trust KubeconfigOptions) error {
	const inline = "it would be read from the controller's files; write it into the kubeconfig itself"
	for _, f := range []struct {
		field string
		used  bool
		why   string
	}{
		{"clusters[].cluster.certificate-authority", cluster.CertificateAuthority != "", inline},
		{"users[].user.client-certificate", user.ClientCertificate != "", inline},
		{"users[].user.client-key", user.ClientKey != "", inline},
		{"users[].user.tokenFile", user.TokenFile != "", inline},
		{"users[].user.auth-provider", user.AuthProvider != nil, "there are none here; use a token or a certificate"},
		{"users[].user.as", user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0, "use spec.serviceAccountName"},
		{"users[].user.exec", user.Exec != nil && !trust.InsecureExec, "only a controller with --insecure-kubeconfig-exec executes commands"},
		{"clusters[].cluster.insecure-skip-tls-verify", cluster.InsecureSkipTLSVerify && !trust.InsecureTLS, "only a controller with --insecure-kubeconfig-tls trusts anybody"},
	} {
		if f.used {
			return fmt.Errorf("%s is not allowed: %s", f.field, f.why)
		}
	}
	return nil
}

func proxy(raw string) (func(*http.Request) (*url.URL, error), error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		// It may hold a password.
		return nil, errors.New("clusters[].cluster.proxy-url is no URL")
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

// absolute gives the host its scheme. Without one it would be guessed from the
// TLS options, which are about to move into the transport.
func absolute(config *rest.Config) error {
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || u.User != nil {
		return errors.New("clusters[].cluster.server is no URL of an API server")
	}
	config.Host = u.String()
	return nil
}
