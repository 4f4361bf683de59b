// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package stalled has a client of HTTP/2 that reads no answers: its window lets the server send
// headers and no body. Clients of net/http open their windows.
package stalled

import (
	"bytes"
	"fmt"
	"io"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Client sends and reads frames.
type Client struct {
	Conn net.Conn
	// Streams is the number of concurrent streams that the server allows.
	Streams int
	// Answered are the streams with an answer, and Ended those that the server has reset.
	Answered, Ended map[uint32]bool

	frames *http2.Framer
}

// New begins HTTP/2 on a connection.
func New(conn net.Conn) (*Client, error) {
	c := &Client{Conn: conn, Answered: map[uint32]bool{}, Ended: map[uint32]bool{}, frames: http2.NewFramer(conn, conn)}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	return c, c.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
}

// Request sends a GET on a stream. The header has names and values in turn.
func (c *Client) Request(stream uint32, path string, header ...string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := append([]string{":method", "GET", ":scheme", "https", ":authority", "page.example", ":path", path}, header...)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	return c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
}

// Until reads frames until done returns true. A body is an error.
func (c *Client) Until(done func() bool) error {
	for !done() {
		frame, err := c.frames.ReadFrame()
		if err != nil {
			return fmt.Errorf("%d answers, %d ended: %w", len(c.Answered), len(c.Ended), err)
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if n, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
				c.Streams = int(n)
			}
		case *http2.HeadersFrame:
			c.Answered[f.StreamID] = true
		case *http2.RSTStreamFrame:
			c.Ended[f.StreamID] = true
		case *http2.DataFrame:
			if f.Length > 0 {
				return fmt.Errorf("stream %d has a body of %d bytes", f.StreamID, f.Length)
			}
		}
	}
	return nil
}
