// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxAge is the maximum age of a stream. The browser then connects again with its token, which is
	// checked again.
	maxAge = 5 * time.Minute
	// heartbeat is the time after which a comment shows that the connection works.
	heartbeat = 25 * time.Second
	// pause is the minimum time between two events.
	pause = time.Second
	// writeTimeout is the time in which a client must read what is written.
	writeTimeout = 10 * time.Second
	// retry is the time after which a browser connects again.
	retry = 2 * time.Second
)

// stream is one open connection.
type stream struct {
	hub *Hub
	may May
	// changed has an element if there are pending changes.
	changed chan struct{}
	// pending is guarded by the mutex of the hub.
	pending pending
	// sent is the ID after the changes that were sent.
	sent string
}

// run writes events until the context or the stream ends, or the client does not read. It repeats the
// ID in between: a client that has received it and connects again has missed nothing.
func (s *stream) run(ctx context.Context, out *writer) {
	beats, end := time.NewTicker(heartbeat), time.NewTimer(maxAge)
	defer beats.Stop()
	defer end.Stop()
	err := out.write("retry: %d\nid: %s\n\n", retry.Milliseconds(), s.sent)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			// A client that is gone needs no ID.
			_ = out.write("id: %s\n\n", s.sent)
			return
		case <-beats.C:
			err = out.write(": heartbeat\nid: %s\n\n", s.sent)
		case <-s.changed:
			if err = s.send(ctx, out); err == nil {
				err = sleep(ctx, pause)
			}
		}
	}
}

// send writes an event with the pending changes that the user may see, if there are any.
func (s *stream) send(ctx context.Context, out *writer) error {
	changes, id := s.hub.take(s)
	paths, err := changes.paths(s.hub.kinds, func(k Kind, namespace string) (bool, error) {
		return s.may(ctx, k.Resource, namespace)
	})
	if err != nil {
		return err
	}
	s.sent = id
	if len(paths) == 0 {
		return nil
	}
	data, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	return out.write("id: %s\nevent: changed\ndata: %s\n\n", id, data)
}

// sleep returns after a time, or with an error when the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// writer writes to a client.
type writer struct {
	to         http.ResponseWriter
	controller *http.ResponseController
	now        func() time.Time
}

// lift removes the deadlines of the server, which are for short requests.
func (w *writer) lift() error {
	return errors.Join(w.controller.SetReadDeadline(time.Time{}), w.controller.SetWriteDeadline(time.Time{}))
}

// write writes a text. Its deadline ends with it: HTTP/2 would reset a stream whose deadline is over.
func (w *writer) write(format string, args ...any) error {
	if err := w.controller.SetWriteDeadline(w.now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w.to, format, args...); err != nil {
		return err
	}
	if err := w.controller.Flush(); err != nil {
		return err
	}
	return w.controller.SetWriteDeadline(time.Time{})
}
