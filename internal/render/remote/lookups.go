// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// lookups sends the reads of one rendering through the connection of its release.
type lookups struct {
	config *rest.Config
	// resolve returns the addresses of a host; nil if templates may not use DNS.
	resolve func(ctx context.Context, host string) ([]string, error)
}

// answer implements worker.Answer. Only reads of objects and of lists of APIs are sent, and no watches:
// they would not end.
func (l *lookups) answer(ctx context.Context, name string, request []byte) ([]byte, error) {
	if name == FunctionResolve && l.resolve != nil {
		addresses, err := l.resolve(ctx, string(request))
		return []byte(strings.Join(addresses, " ")), err
	}
	if name != FunctionGet {
		return nil, errRequest
	}
	get, _, err := decode[Get](fromWorker, request)
	if err != nil {
		return nil, err
	}
	if !readable(get.Path) {
		return nil, fmt.Errorf("%w: %s is not the path of an object", errRequest, get.Path)
	}
	if query, err := url.ParseQuery(get.Query); err != nil || query.Has("watch") {
		return nil, fmt.Errorf("%w: the query %q may watch", errRequest, get.Query)
	}
	if l.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.config.Timeout)
		defer cancel()
	}
	response, err := l.send(ctx, get)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	return encode(Answer{
		Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), RetryAfter: response.Header.Get("Retry-After"),
	}, 0, body)
}

// send sends a read without following redirects.
func (l *lookups) send(ctx context.Context, get Get) (*http.Response, error) {
	server, _, err := rest.DefaultServerUrlFor(l.config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(l.config)
	if err != nil {
		return nil, err
	}
	address := *server
	address.Path, address.RawPath, address.RawQuery = strings.TrimSuffix(server.Path, "/")+get.Path, "", get.Query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", get.Accept)
	response, err := transport.RoundTrip(request)
	if err == nil && l.config.WarningHandler != nil {
		warnings, _ := utilnet.ParseWarningHeaders(response.Header["Warning"])
		for _, w := range warnings {
			l.config.WarningHandler.HandleWarningHeader(w.Code, w.Agent, w.Text)
		}
	}
	return response, err
}

// readable reports whether a path is that of an object, of a list of objects, or of a list of APIs.
// Below watch are the objects of a watch.
func readable(p string) bool {
	if path.Clean(p) != p || strings.ContainsAny(p, "%\\") {
		return false
	}
	parts := strings.Split(p, "/")[1:]
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return false
	}
	if len(parts) > 0 && parts[0] == "watch" {
		return false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) <= 2 && !slices.Contains(parts, "")
}

// PathBelow returns the path of a URL below that of a server.
func PathBelow(server string, u *url.URL) string {
	base, err := url.Parse(server)
	if err != nil || !strings.Contains(server, "://") {
		return u.Path
	}
	return strings.TrimPrefix(u.Path, strings.TrimSuffix(base.Path, "/"))
}
