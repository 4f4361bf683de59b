// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// start serves the page, and returns its address. The server ends with the test.
func start(t *testing.T, s *Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Limits, s.Log = NewLimits(time.Now), logr.Discard()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return listener.Addr().String()
}

// TestPlain: the page without TLS is served on loopback, and nowhere else.
func TestPlain(t *testing.T) {
	address := start(t, &Server{Site: stub{}})
	answer, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("got %s", answer.Status)
	}
	err = (&Server{Address: "0.0.0.0:0", Site: stub{}, Limits: NewLimits(time.Now)}).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "loopback only") {
		t.Errorf("got %v", err)
	}
	if (&Server{}).NeedLeaderElection() {
		t.Error("only the leader serves the page")
	}
}

// TestStop: the server ends although an event stream is open.
func TestStop(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reached := make(chan struct{})
	s := &Server{Limits: NewLimits(time.Now), Log: logr.Discard(), Site: stub{serve: func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	go func() {
		if answer, err := http.Get("http://" + listener.Addr().String() + "/events"); err == nil {
			_ = answer.Body.Close()
		}
	}()
	<-reached
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

// TestHeaderSize: a request with large headers is refused.
func TestHeaderSize(t *testing.T) {
	address := start(t, &Server{Site: stub{}})
	for size, want := range map[int]int{maxHeaderBytes / 2: 200, maxHeaderBytes + 8<<10: 431} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Large", strings.Repeat("x", size))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d bytes: %s", size, answer.Status)
		}
	}
}

// writeCertificate writes a certificate with a serial number, and its key.
func writeCertificate(t *testing.T, s *Server, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{s.KeyFile: {Type: "PRIVATE KEY", Bytes: private}, s.CertFile: {Type: "CERTIFICATE", Bytes: certificate}} {
		// A file is replaced as kubelet does it, with a rename.
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// get requests the page by TLS, and returns the serial number of the certificate.
func get(address string, config *tls.Config) (int64, error) {
	config.InsecureSkipVerify = true
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	answer, err := client.Get("https://" + address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "shown" {
		return 0, fmt.Errorf("%s %s: %w", answer.Status, body, err)
	}
	return answer.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// TestTLS: TLS has a minimum version, and a changed certificate is used without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	s := &Server{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), Site: stub{}}
	writeCertificate(t, s, 1)
	address := start(t, s)
	if serial, err := get(address, &tls.Config{}); err != nil || serial != 1 {
		t.Errorf("serial number %d, %v", serial, err)
	}
	if _, err := get(address, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	if answer, err := http.Get("http://" + address); err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("plain HTTP is served")
		}
	}
	writeCertificate(t, s, 2)
	// Handshakes only: the number of requests is limited.
	for serial := int64(1); serial != 2; time.Sleep(10 * time.Millisecond) {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		serial = conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		_ = conn.Close()
	}
	if serial, err := get(address, &tls.Config{}); err != nil || serial != 2 {
		t.Errorf("serial number %d, %v", serial, err)
	}
}

// TestMissingCertificate: the server does not start without its certificate.
func TestMissingCertificate(t *testing.T) {
	s := &Server{Address: "127.0.0.1:0", CertFile: filepath.Join(t.TempDir(), "none"), KeyFile: "none", Site: stub{}, Limits: NewLimits(time.Now)}
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate of the web page") {
		t.Errorf("got %v", err)
	}
}
