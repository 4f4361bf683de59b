// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// Access is what an archive is downloaded with.
type Access struct {
	// User and Password are sent to the host in the URL of the archive; empty for none. With Anywhere,
	// they are sent to the targets of its redirects too.
	User, Password string
	Anywhere       bool
	// CAs are the certificates, in PEM, that are trusted in place of the system's; empty for
	// none.
	CAs string
}

// ReadAccess returns the access that a HelmChart names. The author of the HelmChart chooses where its
// contents are sent, so the reader must have no other rights than the author has.
func ReadAccess(ctx context.Context, reader client.Reader, c *cattlev1.HelmChart) (Access, error) {
	a := Access{Anywhere: c.Spec.AuthPassCredentials}
	if ref := c.Spec.AuthSecret; ref != nil {
		secret := &corev1.Secret{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, secret); err != nil {
			return a, fmt.Errorf("spec.authSecret: %w", err)
		}
		a.User, a.Password = string(secret.Data[corev1.BasicAuthUsernameKey]), string(secret.Data[corev1.BasicAuthPasswordKey])
		if a.User == "" && a.Password == "" {
			return a, fmt.Errorf("spec.authSecret: Secret '%s/%s' has no username and password", c.Namespace, ref.Name)
		}
	}
	var more map[string]string
	if ref := c.Spec.RepoCAConfigMap; ref != nil {
		cm := &corev1.ConfigMap{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, cm); err != nil {
			return a, fmt.Errorf("spec.repoCAConfigMap: %w", err)
		}
		more = cm.Data
	}
	a.CAs = helmchart.Certificates(c.Spec.RepoCA, more)
	if a.CAs == "" && c.Spec.RepoCAConfigMap != nil {
		return a, errNoCertificates
	}
	return a, nil
}

var errNoCertificates = errors.New("spec.repoCA and spec.repoCAConfigMap have no certificates in PEM")

// config returns the configuration of TLS; nil is the default.
func (a Access) config() (*tls.Config, error) {
	if a.CAs == "" {
		return nil, nil //nolint:nilnil // see above
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(a.CAs)) {
		return nil, errNoCertificates
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

// authorized sets the credentials of each request of a download. http.Client would send them to
// subdomains and other ports too, and the query of a URL as referrer to all targets of redirects.
type authorized struct {
	base         http.RoundTripper
	access       Access
	scheme, host string
}

// RoundTrip implements http.RoundTripper.
func (t *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	own := req.URL.Scheme == t.scheme && req.URL.Host == t.host
	if (own || t.access.Anywhere) && (t.access.User != "" || t.access.Password != "") {
		req.SetBasicAuth(t.access.User, t.access.Password)
	}
	return t.base.RoundTrip(req)
}
