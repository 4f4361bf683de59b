// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// answer is what came of one try.
type answer struct {
	// result is what has become of the event; empty if it should be tried again.
	result string
	// after is how long the receiver wants to be left alone; 0 if it does not say.
	after time.Duration
	// failed counts against the event: the receiver is there, and does not take it.
	failed bool
	// err says what went wrong, without the address.
	err error
}

// deliver posts an event until something has become of it, which it returns.
func (s *Sender) deliver(ctx context.Context, e Event) string {
	body, err := json.Marshal(e)
	if err != nil {
		s.log.Error(err, "an event cannot be written as JSON", "reason", e.Reason)
		return Refused
	}
	failures := 0
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if ctx.Err() != nil {
			return Unsent
		}
		a := s.post(ctx, body)
		s.note(ctx, a, e)
		if a.result != "" {
			return a.result
		}
		if a.failed {
			failures++
		}
		wait := max(pause, a.after)
		switch {
		case failures >= tries:
			return Failed
		case s.now().Add(wait).Sub(e.Timestamp.Time) > maxAge:
			return Expired
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// note logs when a receiver stops taking events, and when it takes them again. Of
// what it refuses it logs every one: it will not get it later.
func (s *Sender) note(ctx context.Context, a answer, e Event) {
	switch {
	case ctx.Err() != nil:
	case a.result == Refused:
		s.log.Error(a.err, "an event was refused by its receiver", "kind", e.InvolvedObject.Kind,
			"namespace", e.InvolvedObject.Namespace, "name", e.InvolvedObject.Name, "reason", e.Reason)
	case a.err == nil:
		if s.away.CompareAndSwap(true, false) {
			s.log.Info("events are delivered again")
		}
	case s.away.CompareAndSwap(false, true):
		s.log.Error(a.err, "events cannot be delivered; they are tried again")
	}
}

func (s *Sender) post(ctx context.Context, body []byte) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, bytes.NewReader(body))
	if err != nil {
		return answer{result: Refused, err: errors.New("the address is no URL")}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		var asked *url.Error
		if errors.As(err, &asked) {
			// Its text has the address, and that may have a token in it.
			err = asked.Err
		}
		return answer{err: err}
	}
	// A connection whose answer was not read to its end is not used again.
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
	return judge(resp.StatusCode, resp.Header.Get("Retry-After"))
}

// judge says what an answer means. By 429 notification-controller tells that it
// had the same event lately, and until which date it would say so: to come back
// then would be to notify people twice. Who asks for a number of seconds is
// something else on the way, which has not looked at the event.
func judge(status int, retryAfter string) answer {
	seconds, err := strconv.ParseUint(retryAfter, 10, 31)
	asked := err == nil
	after := time.Duration(seconds) * time.Second //nolint:gosec // of 31 bits
	failure := fmt.Errorf("the receiver answered %d %s", status, http.StatusText(status))
	switch {
	case status >= 200 && status < 300:
		return answer{result: Sent}
	case status == http.StatusTooManyRequests && !asked:
		return answer{result: Duplicate}
	case status == http.StatusTooManyRequests:
		return answer{after: after, err: failure}
	case status >= 500 && status != http.StatusNotImplemented:
		return answer{after: after, failed: true, err: failure}
	}
	return answer{result: Refused, err: failure}
}
