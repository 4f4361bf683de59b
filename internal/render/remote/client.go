// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/worker"
)

// Unloadable is the error for an archive that is not a chart, or is rejected.
type Unloadable struct {
	// Text continues a sentence that begins with the name of the archive.
	Text string
}

// Error implements error.
func (u *Unloadable) Error() string { return "the chart " + u.Text }

// Misfit is the error for values that do not fit the schema of a chart.
type Misfit struct{ Text string }

// Error implements error.
func (m *Misfit) Error() string { return m.Text }

// Client calls the functions of a worker. It is safe for concurrent use.
type Client struct{ calls }

// New returns a client. An error of its methods is *worker.Failure with the text of the function's
// error, *Unloadable, *Misfit, *Ended, *Unavailable, or another error of the caller.
func New(caller worker.Caller) *Client { return &Client{calls{caller}} }

// readTimeout limits a call that does not render.
const readTimeout = time.Minute

// Identify returns the facts of an archive, which is read for a tenant.
func (c *Client) Identify(ctx context.Context, tenant, digest string, archive []byte) (Facts, error) {
	in := Rendering{Chart: Chart{Tenant: tenant, Digest: digest, Archive: archive}, Timeout: readTimeout}
	r, err := c.call(ctx, FunctionIdentify, "reading the chart", in, noRequests)
	if err == nil && r.Facts == nil {
		err = fmt.Errorf("%w: it has no facts", errMessage)
	}
	if err != nil {
		return Facts{}, err
	}
	return *r.Facts, nil
}

// CRDs returns the CRDs of a chart.
func (c *Client) CRDs(ctx context.Context, chart Chart) (CRDs, error) {
	in := Rendering{Chart: chart, Timeout: readTimeout}
	r, err := c.call(ctx, FunctionCRDs, "reading the CRDs of chart "+chart.Name+" "+chart.Version, in, noRequests)
	if err == nil && r.CRDs == nil {
		err = fmt.Errorf("%w: it has no CRDs", errMessage)
	}
	if err != nil {
		return CRDs{}, err
	}
	return *r.CRDs, nil
}

// Files returns the files of an artifact that patterns select, those of the first pattern at least.
func (c *Client) Files(ctx context.Context, tenant string, archive []byte, patterns []string) ([]Files, error) {
	in := Rendering{Chart: Chart{Tenant: tenant, Archive: archive}, Patterns: patterns, Timeout: readTimeout}
	r, err := c.call(ctx, FunctionFiles, "reading the files of the artifact", in, noRequests)
	if err == nil && (len(r.Files) == 0 || r.Files[0].Pattern != patterns[0]) {
		err = fmt.Errorf("%w: it has no files", errMessage)
	}
	if err != nil {
		return nil, err
	}
	return r.Files, nil
}

// Render renders a chart. Lookups are sent through the given connection.
func (c *Client) Render(ctx context.Context, in Rendering, connection *rest.Config) (*Rendered, error) {
	in.Server, in.RequestTimeout = connection.Host, connection.Timeout
	l := &lookups{config: connection}
	if in.EnableDNS {
		l.resolve = net.DefaultResolver.LookupHost
	}
	r, err := c.call(ctx, FunctionRender, "rendering chart "+in.Name+" "+in.Version, in, l.answer)
	if err == nil && (r.Rendered == nil || r.Rendered.Metadata == nil && !in.ManifestOnly) {
		err = fmt.Errorf("%w: it has no rendered chart", errMessage)
	}
	if err != nil {
		return nil, err
	}
	return r.Rendered, nil
}

// unreadTimeout limits the search for values that no template reads, which plans do without.
const unreadTimeout = 10 * time.Second

// Unread returns the values of a rendering that have no effect. Lookups find nothing, and hosts have no
// addresses.
func (c *Client) Unread(ctx context.Context, in Rendering) (Unread, error) {
	in.EnableDNS, in.ManifestOnly, in.Timeout = false, true, unreadTimeout
	r, err := c.call(ctx, FunctionUnread, "looking for values that no template reads", in, noRequests)
	if err == nil && r.Unread == nil {
		err = fmt.Errorf("%w: it has no keys", errMessage)
	}
	if err != nil {
		return Unread{}, err
	}
	return *r.Unread, nil
}

// errRequest is the error for a request of a worker that its function does not need.
var errRequest = errors.New("the request is not allowed")

func noRequests(context.Context, string, []byte) ([]byte, error) { return nil, errRequest }
