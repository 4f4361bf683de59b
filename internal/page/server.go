// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Server serves the page. It implements manager.Runnable.
type Server struct {
	// Address is the address to listen on.
	Address string
	// CertFile and KeyFile are those of TLS. Without them, the address must be one of loopback.
	CertFile, KeyFile string
	Handler           http.Handler
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
	server := &http.Server{
		Handler: guarded(s.Handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	}()
	if s.CertFile != "" {
		err = server.ServeTLS(listener, s.CertFile, s.KeyFile)
	} else {
		err = server.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
