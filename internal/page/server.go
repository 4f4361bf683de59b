// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Server serves the page. It implements manager.Runnable.
type Server struct {
	// Address is the address to listen on.
	Address string
	// CertFile and KeyFile have the certificate and the key for TLS. They are read again when they change. Without them, the
	// address must be one of loopback.
	CertFile, KeyFile string
	Site              Site
	Limits            *Limits
	Log               logr.Logger
}

const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	idleTimeout   = time.Minute
	// shutdownTimeout is the time that open requests have at shutdown.
	shutdownTimeout = 2 * time.Second
	maxHeaderBytes  = 32 << 10
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: each replica serves the page.
func (s *Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// Serve serves the page until ctx ends, and closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	secure := s.CertFile != ""
	if secure {
		certificates, err := certwatcher.New(s.CertFile, s.KeyFile)
		if err != nil {
			return errors.Join(fmt.Errorf("certificate of the web page: %w", err), listener.Close())
		}
		go func() {
			if err := certificates.Start(ctx); err != nil {
				s.Log.Error(err, "changes of the certificate are not noticed", "file", s.CertFile)
			}
		}()
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificates.GetCertificate,
		})
	} else if a, ok := listener.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("the web page without TLS listens on loopback only, not on %s", listener.Addr()), listener.Close())
	}
	server := s.server(ctx, secure)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// server returns the server of the page. A client of HTTP/2 must read its answers, as others must.
func (s *Server) server(ctx context.Context, secure bool) *http.Server {
	return &http.Server{
		Handler: guard(s.Site, s.Limits, secure, s.Log), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: log.New(io.Discard, "", 0),
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: maxOfConnection, WriteByteTimeout: answerTimeout},
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}
