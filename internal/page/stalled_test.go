// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/pintle-dev/pintle/test/stalled"
)

// pipes is a listener of connections in memory, so that time is that of the test.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	clients  []net.Conn
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9443} }

// dial returns a connection.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.clients = append(p.clients, client)
	p.accepted <- server
	return client
}

// send sends a request on a stream.
func send(t *testing.T, c *stalled.Client, stream uint32, path string, header ...string) {
	t.Helper()
	if err := c.Request(stream, path, header...); err != nil {
		t.Fatal(err)
	}
}

// until reads frames until done returns true.
func until(t *testing.T, c *stalled.Client, done func() bool) {
	t.Helper()
	if err := c.Until(done); err != nil {
		t.Fatal(err)
	}
}

// serveStalled serves large pages by TLS in a bubble. As in the site, those for a request with a token
// are counted as those of its user.
func serveStalled(t *testing.T) (dial func() *stalled.Client, get func(path, token string) int) {
	t.Helper()
	limits, content := NewLimits(time.Now), bytes.Repeat([]byte("x"), 64<<10)
	s := &Server{Limits: limits, Log: logr.Discard(), Site: stub{serve: func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get("Authorization"); user != "" {
			leave, code, _ := limits.Enter(r, user)
			if code != 0 {
				w.WriteHeader(code)
				return
			}
			defer leave()
		}
		_, _ = w.Write(content)
	}}}
	files := &Server{CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}
	writeCertificate(t, files, 1)
	certificate, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	conns, server := newPipes(), s.server(t.Context(), true)
	go func() {
		_ = server.Serve(tls.NewListener(conns, &tls.Config{
			NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{certificate},
			// A pipe has no buffer: the server would wait until the client reads its tickets.
			SessionTicketsDisabled: true,
		}))
	}()
	t.Cleanup(func() {
		// The server says goodbye to clients, who do not read.
		for _, client := range conns.clients {
			_ = client.Close()
		}
		_ = server.Close()
	})
	client := &tls.Config{NextProtos: []string{"h2"}, InsecureSkipVerify: true}
	dial = func() *stalled.Client {
		c, err := stalled.New(tls.Client(conns.dial(), client))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return dial, func(path, token string) int {
		transport := &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return tls.Client(conns.dial(), &tls.Config{InsecureSkipVerify: true}), nil
		}}
		r := request(http.MethodGet, "https://page.example"+path)
		r.RequestURI = ""
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
}

// TestStalledBeforeLogin: a client that sends requests before a login, and reads no answers, has few of
// them at once, takes nothing from others, and its answers are ended.
func TestStalledBeforeLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, get := serveStalled(t)
		began := time.Now()
		for range 3 {
			c := dial()
			var streams []uint32
			for n := range uint32(maxRequests) {
				streams = append(streams, 2*n+1)
				send(t, c, 2*n+1, []string{"/assets/page.css", "/assets/page.js", "/login"}[n%3])
			}
			until(t, c, func() bool { return len(c.Answered)+len(c.Ended) == len(streams) })
			if c.Streams != maxOfConnection || len(c.Answered) != maxOfConnection {
				t.Errorf("%d streams are allowed, and %d have an answer", c.Streams, len(c.Answered))
			}
			for path, token := range map[string]string{"/": "Bearer ann", "/login": "", "/assets/page.css": ""} {
				if code := get(path, token); code != 200 {
					t.Errorf("%s for another client: %d", path, code)
				}
			}
			until(t, c, func() bool { return len(c.Ended) == len(streams) })
		}
		if took := time.Since(began); took != 3*answerTimeout {
			t.Errorf("the answers have ended after %s", took)
		}
	})
}

// TestStalledUsers: users who read no answers take what they may have for the time of an answer only.
func TestStalledUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, get := serveStalled(t)
		for user := range maxRequests / maxRequestsOfUser {
			c := dial()
			for n := range uint32(maxRequestsOfUser) {
				send(t, c, 2*n+1, "/", "authorization", fmt.Sprint("Bearer ", user))
			}
			until(t, c, func() bool { return len(c.Answered) == maxRequestsOfUser })
			go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
		}
		if code := get("/", "Bearer ann"); code != 503 {
			t.Errorf("while all requests are taken: %d", code)
		}
		time.Sleep(answerTimeout)
		if code := get("/", "Bearer ann"); code != 200 {
			t.Errorf("after the time of an answer: %d", code)
		}
	})
}
