// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a reverse proxy for tests between a client and an API server. It makes
// selected requests fail.
//
// It serves HTTP/1.1 and HTTP/2 over TLS on the loopback interface. Requests keep their headers,
// including Authorization and Impersonate-*, so that the API server authenticates the client
// itself: the proxy has no identity.
package faultproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	defaultSlow   = 3 * time.Second
	defaultSilent = 35 * time.Second
	// maxStreams exceeds the number of streams that a client of a test opens on one connection.
	maxStreams = 2000
)

// Options configure a proxy.
type Options struct {
	// Server is the URL of the API server, and CA the certificates that sign its own, in PEM.
	Server string
	CA     []byte
	// Decide returns the fault of a request. It is called once for each request, before anything is
	// sent to the API server. Nil forwards all requests.
	Decide func(Request) Fault
	// Done, if set, is called when a request with a fault has ended.
	Done func(Request, Fault)
	// Slow and Silent are the durations of the faults with these names; 3 s and 35 s if zero.
	Slow, Silent time.Duration
}

// Proxy is a running proxy.
type Proxy struct {
	// URL is the address for clients, and CA the certificate that they have to trust, in PEM.
	URL string
	CA  []byte

	options Options
	address string
	tls     *tls.Config
	reverse *httputil.ReverseProxy

	mu sync.Mutex
	// end stops serving; nil while the proxy does not serve.
	end func() error
	// watches are the streams that CutWatches ends.
	watches map[int]context.CancelFunc
	next    int
}

// Start returns a serving proxy.
func Start(o Options) (*Proxy, error) {
	if o.Slow == 0 {
		o.Slow = defaultSlow
	}
	if o.Silent == 0 {
		o.Silent = defaultSilent
	}
	upstream, err := url.Parse(o.Server)
	if err != nil {
		return nil, fmt.Errorf("URL of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("CA of the API server: there is no certificate in it")
	}
	certificate, ca, err := selfSigned()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		CA: ca, options: o, address: host + ":0", watches: map[int]context.CancelFunc{},
		tls: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 100,
		},
		// Each event of a watch is forwarded at once.
		FlushInterval:  -1,
		ModifyResponse: p.modify,
		// For the client, an unreachable API server is like a lost answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	if err := p.listen(); err != nil {
		return nil, err
	}
	p.URL = "https://" + p.address
	return p, nil
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	end := p.end
	p.end = nil
	p.mu.Unlock()
	if end == nil {
		return nil
	}
	return end()
}

// Outage drops all connections and refuses new ones for some time, or until the context ends.
func (p *Proxy) Outage(ctx context.Context, d time.Duration) error {
	if err := p.Close(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return errors.Join(p.listen(), ctx.Err())
}

// CutWatches ends all watches as a broken connection does, and returns how many there were.
func (p *Proxy) CutWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.watches)
	for cut := range maps.Values(p.watches) {
		cut()
	}
	clear(p.watches)
	return n
}

// listen serves at the address of the proxy, which the first call selects.
func (p *Proxy) listen() error {
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	server := &http.Server{
		Handler: p, TLSConfig: p.tls.Clone(), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(listener, "", "")
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = listener.Addr().String()
	p.end = func() error {
		// A server that has not started serving does not have its listener yet.
		err := server.Close()
		_ = listener.Close()
		<-served
		return err
	}
	return nil
}

// injected is the context's key of the injection of a request.
type injected struct{}

// injection is a fault that takes effect when the API server has answered.
type injection struct {
	request Request
	fault   Fault
}

// ServeHTTP forwards a request, or makes it fail.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := parse(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fault := None
	if p.options.Decide != nil {
		fault = p.options.Decide(request)
	}
	if fault != None && p.options.Done != nil {
		defer p.options.Done(request, fault)
	}
	switch {
	case fault == Reset:
		panic(http.ErrAbortHandler)
	case fault == Silent:
		sleep(r.Context(), p.options.Silent)
		panic(http.ErrAbortHandler)
	case fault == Slow:
		sleep(r.Context(), p.options.Slow)
	case fault.late():
		r = r.WithContext(context.WithValue(r.Context(), injected{}, injection{request, fault}))
	default:
		if a, ok := fault.answer(request); ok {
			maps.Copy(w.Header(), a.header())
			w.WriteHeader(a.code)
			_, _ = w.Write(a.body) // a client that is gone needs no answer
			return
		}
	}
	p.pass(w, r, request)
}

// pass forwards a request, and registers it for CutWatches if it is a watch.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, request Request) {
	if request.Watch() {
		ctx, cut := context.WithCancel(r.Context())
		defer cut()
		p.mu.Lock()
		p.next++
		id := p.next
		p.watches[id] = cut
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.watches, id)
		}()
		r = r.WithContext(ctx)
	}
	p.reverse.ServeHTTP(w, r)
}

// modify replaces the answer of the API server if the fault comes after it.
func (p *Proxy) modify(response *http.Response) error {
	i, ok := response.Request.Context().Value(injected{}).(injection)
	if !ok {
		return nil
	}
	// A watch has no end to wait for.
	if !i.request.Watch() {
		_, _ = io.Copy(io.Discard, response.Body) // the body is discarded
	}
	a, ok := i.fault.answer(i.request)
	if !ok {
		return errors.New("the answer is lost")
	}
	_ = response.Body.Close()
	response.StatusCode, response.Status = a.code, http.StatusText(a.code)
	response.Header, response.Body, response.ContentLength = a.header(), io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	return nil
}

// sleep returns after some time, or when the client has disconnected.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// FaultsFor returns the faults that fit a request.
func FaultsFor(r Request) []Fault {
	return slices.DeleteFunc(Faults(), func(f Fault) bool { return !f.Fits(r) })
}
