// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Clouds simulates those endpoints of AWS, Azure and Google that return connections to clusters,
// under their real names. It is a proxy that answers the requests itself. Clients must trust its
// certificate authority.
type Clouds struct {
	// Cluster is the cluster that all endpoints return.
	Cluster CloudTarget

	listener net.Listener
	bundle   string
	ca       *authority
	conns    *acceptedListener
	server   *http.Server
	front    *front

	mu sync.Mutex
	// trouble is the status of all answers; 0 means normal answers, Silence no answers.
	trouble int
	// secrets are the issued and the received credentials.
	secrets []string
	// asked counts requests by "<host><path>", without variable parts.
	asked map[string]int
}

// Silence makes the clouds accept requests without answering.
const Silence = -1

// CloudTarget is a cluster and a token that it accepts.
type CloudTarget struct {
	Address string
	CA      []byte
	Token   string
}

// StartClouds starts the endpoints on the loopback interface. It writes the certificates to trust
// into dir.
func StartClouds(ctx context.Context, dir string, to CloudTarget) (*Clouds, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c := &Clouds{Cluster: to, ca: ca, bundle: filepath.Join(dir, "clouds.pem"), asked: map[string]int{}}
	c.secrets = append(c.secrets, to.Token)
	if err := os.WriteFile(c.bundle, ca.pem, 0o600); err != nil {
		return nil, err
	}
	if c.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if c.front, err = startFront(ctx, c); err != nil {
		return nil, errors.Join(err, c.listener.Close())
	}
	c.conns = &acceptedListener{conns: make(chan net.Conn), done: make(chan struct{}), addr: c.listener.Addr()}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(c.conns) }()
	go c.accept()
	return c, nil
}

// Close stops the endpoints.
func (c *Clouds) Close() error {
	return errors.Join(c.listener.Close(), c.server.Close(), c.front.server.Close())
}

// Env is the environment of a process that uses these endpoints.
func (c *Clouds) Env() []string {
	return []string{
		"HTTPS_PROXY=http://" + c.listener.Addr().String(), "https_proxy=", "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE=" + c.bundle, "SSL_CERT_DIR=/nowhere",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CA_BUNDLE=", "AWS_CONFIG_FILE=/nowhere", "AWS_SHARED_CREDENTIALS_FILE=/nowhere",
	}
}

// Trouble makes all endpoints answer with a status, or not at all with Silence; 0 restores normal
// answers.
func (c *Clouds) Trouble(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = status
}

// Secrets are the credentials that must not leak.
func (c *Clouds) Secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.secrets)
}

// Asked returns the number of requests to a host.
func (c *Clouds) Asked(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[host]
}

func (c *Clouds) secret(texts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = append(c.secrets, texts...)
}

// ServeHTTP implements http.Handler.
func (c *Clouds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	c.mu.Lock()
	trouble := c.trouble
	c.asked[host]++
	c.mu.Unlock()
	if trouble == Silence {
		<-r.Context().Done()
		return
	}
	for suffix, serve := range map[string]func(http.ResponseWriter, *http.Request, int){
		".amazonaws.com": c.serveAWS, "login.microsoftonline.com": c.serveAzure, "management.azure.com": c.serveAzure, ".googleapis.com": c.serveGCP,
	} {
		if strings.HasSuffix(host, suffix) {
			serve(w, r, trouble)
			return
		}
	}
	http.Error(w, "unknown host "+host, http.StatusBadGateway)
}

// accept accepts CONNECT requests and serves the connection as the requested host.
func (c *Clouds) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			close(c.conns.done)
			return
		}
		go func() {
			if err := c.lead(conn); err != nil {
				_ = conn.Close()
			}
		}()
	}
}

func (c *Clouds) lead(conn net.Conn) error {
	reader := bufio.NewReader(conn)
	req, err := http.ReadRequest(reader)
	if err != nil || req.Method != http.MethodConnect {
		return errors.Join(err, errors.New("that is no CONNECT"))
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return err
	}
	secured := tls.Server(conn, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return c.ca.certify(hello.ServerName) },
	})
	select {
	case c.conns.conns <- secured:
		return nil
	case <-c.conns.done:
		return net.ErrClosed
	}
}

// acceptedListener is a net.Listener for connections that were accepted elsewhere.
type acceptedListener struct {
	conns chan net.Conn
	done  chan struct{}
	addr  net.Addr
}

// Accept implements net.Listener.
func (l *acceptedListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *acceptedListener) Close() error { return nil }

// Addr implements net.Listener.
func (l *acceptedListener) Addr() net.Addr { return l.addr }

// authority issues certificates for any name.
type authority struct {
	pem  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clouds of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}
	return &authority{pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), cert: cert, key: key}, nil
}

// certify returns a certificate for a name, or an IP address.
func (a *authority) certify(name string) (*tls.Certificate, error) {
	if name == "" {
		return nil, errors.New("the request has no host")
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", name, err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: a.key}, nil
}
