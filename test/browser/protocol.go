// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// values are the parameters of a command.
type values map[string]any

// message is a command, an answer or an event. Messages end with a zero byte.
type message struct {
	ID        int                       `json:"id,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Method    string                    `json:"method,omitempty"`
	Params    json.RawMessage           `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

// connection sends commands to the process, and delivers answers and events.
type connection struct {
	in  io.ReadCloser
	out io.WriteCloser
	// gone is closed when the process has closed the pipe.
	gone chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	// listeners get the events of sessions.
	listeners map[string]func(method string, params json.RawMessage)
}

func connect(in io.ReadCloser, out io.WriteCloser) *connection {
	c := &connection{
		in: in, out: out, gone: make(chan struct{}), waiting: map[int]chan message{}, listeners: map[string]func(string, json.RawMessage){},
	}
	go c.read()
	return c
}

func (c *connection) close() error { return errors.Join(c.out.Close(), c.in.Close()) }

// listen calls a function for the events of a session, one at a time. The function must not send
// commands.
func (c *connection) listen(session string, to func(method string, params json.RawMessage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[session] = to
}

// call sends a command, waits for its answer, and decodes it.
func (c *connection) call(ctx context.Context, session, method string, params values, into any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if params == nil {
		raw = nil
	}
	answer, err := c.send(message{SessionID: session, Method: method, Params: raw})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case <-c.gone:
		return fmt.Errorf("%s: the browser has ended", method)
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(m.Result, into)
	}
}

func (c *connection) send(m message) (<-chan message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	m.ID = c.last
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	c.waiting[m.ID] = answer
	_, err = c.out.Write(append(raw, 0))
	return answer, err
}

// read delivers messages until the process closes the pipe.
func (c *connection) read() {
	defer close(c.gone)
	for in := bufio.NewReaderSize(c.in, 1<<20); ; {
		raw, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(raw[:len(raw)-1], &m) != nil {
			return
		}
		c.deliver(m)
	}
}

func (c *connection) deliver(m message) {
	c.mu.Lock()
	answer, listener := c.waiting[m.ID], c.listeners[m.SessionID]
	delete(c.waiting, m.ID)
	c.mu.Unlock()
	switch {
	case m.ID != 0 && answer != nil:
		answer <- m
	case m.ID == 0 && listener != nil:
		listener(m.Method, m.Params)
	}
}
