// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/worker"
	"github.com/pintle-dev/pintle/internal/worker/wire"
)

// Unloadable is the error for an archive that is not a chart, or is rejected.
type Unloadable struct {
	// Text continues a sentence that begins with the name of the archive.
	Text string
}

// Error implements error.
func (u *Unloadable) Error() string { return "the chart " + u.Text }

// Client calls the functions of a worker. It is safe for concurrent use.
type Client struct{ caller worker.Caller }

// New returns a client. An error of its methods is *worker.Failure with the text of the function's
// error, *Unloadable, *Ended, or another error of the caller.
func New(caller worker.Caller) *Client { return &Client{caller} }

// leastTimeout is the timeout of a call whose action has a shorter one. A call may wait for another
// one, or for the start of a process.
const leastTimeout = 10 * time.Second

// readTimeout limits a call that does not render.
const readTimeout = time.Minute

// Identify returns the facts of an archive.
func (c *Client) Identify(ctx context.Context, digest string, archive []byte) (Facts, error) {
	in := Rendering{Chart: Chart{Digest: digest, Archive: archive}, Timeout: readTimeout}
	r, _, err := c.call(ctx, FunctionIdentify, "reading the chart", in, noRequests)
	if err == nil && r.Facts == nil {
		err = fmt.Errorf("%w: it has no facts", wire.ErrMessage)
	}
	if err != nil {
		return Facts{}, err
	}
	return *r.Facts, nil
}

// CRDs returns the CRDs of a chart.
func (c *Client) CRDs(ctx context.Context, chart Chart) (CRDs, error) {
	in := Rendering{Chart: chart, Timeout: readTimeout}
	r, sections, err := c.call(ctx, FunctionCRDs, "reading the CRDs of chart "+chart.Name+" "+chart.Version, in, noRequests)
	if err != nil {
		return CRDs{}, err
	}
	return decodeCRDs(r, sections)
}

// Render renders a chart. Lookups are sent through the given connection.
func (c *Client) Render(ctx context.Context, in Rendering, connection *rest.Config) (*Rendered, error) {
	in.Server, in.RequestTimeout = connection.Host, connection.Timeout
	l := &lookups{config: connection}
	if in.EnableDNS {
		l.resolve = net.DefaultResolver.LookupHost
	}
	r, sections, err := c.call(ctx, FunctionRender, "rendering chart "+in.Name+" "+in.Version, in, l.answer)
	if err != nil {
		return nil, err
	}
	return decodeRendered(r, sections)
}

// errRequest is the error for a request of a worker that its function does not need.
var errRequest = errors.New("the request is not allowed")

func noRequests(context.Context, string, []byte) ([]byte, error) { return nil, errRequest }

// call calls a function, and calls it again with all data if the worker has not cached some of it.
// It returns the response and its further sections. The end of ctx does not end the call, which
// has a timeout of its own.
func (c *Client) call(ctx context.Context, function, doing string, in Rendering, requests worker.Answer) (response, [][]byte, error) {
	timeout := max(in.Timeout, leastTimeout)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	for _, all := range []bool{false, true} {
		request, err := encodeRequest(in, all)
		if err != nil {
			return response{}, nil, err
		}
		message, err := c.caller.Call(limited, function, request, requests)
		if err != nil {
			return response{}, nil, described(doing, timeout, err)
		}
		sections, err := decodeSections(message, 2)
		if err != nil {
			return response{}, nil, err
		}
		var s state
		var r response
		if err := errors.Join(json.Unmarshal(sections[0], &s), json.Unmarshal(sections[1], &r)); err != nil {
			return response{}, nil, fmt.Errorf("%w: %w", wire.ErrMessage, err)
		}
		switch {
		case s.Unloadable != "":
			return response{}, nil, &Unloadable{s.Unloadable}
		case !s.Unknown:
			return r, sections[2:], nil
		}
	}
	return response{}, nil, fmt.Errorf("%w: data that was sent is unknown", wire.ErrMessage)
}

// Ended is the end of a worker during a call, as users read it.
type Ended struct {
	// Doing describes the call, Timeout is its timeout.
	Doing   string
	Timeout time.Duration
	Died    *worker.Died
}

// Unwrap returns the error of the call.
func (e *Ended) Unwrap() error { return e.Died }

// Error implements error.
func (e *Ended) Error() string {
	took := ""
	switch d := e.Died; d.Limit {
	case worker.Memory:
		took = mebibytes(d.MaxMemory) + " of memory"
	case worker.Stack:
		took = mebibytes(d.MaxStack) + " of stack"
	case worker.MemoryOrStack:
		took = mebibytes(d.MaxMemory) + " of memory, or more than " + mebibytes(d.MaxStack) + " of stack"
	case worker.CPU:
		took = d.MaxCPU.String() + " of CPU time"
	case worker.Deadline:
		return fmt.Sprintf("%s has not ended in time, which is %s", e.Doing, e.Timeout)
	case worker.Cancelled, worker.Protocol, worker.Panicked, worker.Unexpected:
		return fmt.Sprintf("%s ended its process: %s", e.Doing, d.Text)
	}
	return fmt.Sprintf("%s took more than %s, and was ended", e.Doing, took)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// described adds the subject to the error of a worker that ended.
func described(doing string, timeout time.Duration, err error) error {
	var died *worker.Died
	if errors.As(err, &died) {
		return &Ended{Doing: doing, Timeout: timeout, Died: died}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s has not begun within %s, since all workers were busy: %w", doing, timeout, err)
	}
	return err
}
