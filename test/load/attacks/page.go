// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

// page is the web page of the controller.
type page struct {
	dir     string
	trusted *x509.CertPool
	// address and token are known once the page is served.
	address, token string
	// dialed counts connections.
	dialed atomic.Uint32
}

// newPage writes a certificate for the page into a folder.
func newPage(dir string) (*page, error) {
	if err := harness.Certificate(dir); err != nil {
		return nil, err
	}
	p := &page{dir: dir, trusted: x509.NewCertPool()}
	content, err := os.ReadFile(filepath.Join(dir, corev1.TLSCertKey))
	p.trusted.AppendCertsFromPEM(content)
	return p, err
}

// args returns the flags of the controller that serve the page.
func (p *page) args() []string {
	return []string{
		"--ui-addr=" + net.JoinHostPort(harness.PageHost, "0"),
		"--ui-tls-cert-file=" + filepath.Join(p.dir, corev1.TLSCertKey), "--ui-tls-key-file=" + filepath.Join(p.dir, corev1.TLSPrivateKeyKey),
	}
}

// find waits until the page is served, and makes a token for it.
func (p *page) find(ctx context.Context, env *harness.Environment) (err error) {
	if err := env.Until(ctx, "the page to be served", func() (string, bool) {
		p.address, err = env.Controller.Address(harness.PageHost)
		return fmt.Sprint(err), err == nil
	}); err != nil {
		return err
	}
	p.token, err = env.AdminToken(ctx, home, "visitor")
	return err
}

// of returns the page as an attack with a release sees it.
func (p *page) of(namespace, name string) corpus.Page {
	return corpus.Page{Dial: p.dial, Release: "/releases/" + namespace + "/" + name, Name: name, Token: p.token}
}

// dial connects from an address of loopback that no other connection has.
func (p *page) dial(ctx context.Context, protocol string) (net.Conn, error) {
	n := p.dialed.Add(1)
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 65, byte(n>>8), byte(n))}},
		Config:    &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.trusted, ServerName: harness.CertificateName, NextProtos: []string{protocol}},
	}
	return dialer.DialContext(ctx, "tcp", p.address)
}
