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

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
)

// answer is the outcome of one post.
type answer struct {
	// result is the final result of the event; empty if it must be posted again.
	result string
	// after is the Retry-After of the receiver; zero if it sent none.
	after time.Duration
	// failed is true if the receiver answered with an error.
	failed bool
	// err is the error, without the address.
	err error
}

// deliver posts an event until its result is final, and returns that.
func (s *Sender) deliver(ctx context.Context, e eventv1.Event) string {
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
		s.logAnswer(ctx, a, e)
		if a.result != "" {
			return a.result
		}
		if a.failed {
			failures++
		}
		wait := max(pause, a.after)
		switch {
		case failures >= maxFailures:
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

// logAnswer logs when a receiver stops to accept events, when it accepts them again, and each event
// that it rejects.
func (s *Sender) logAnswer(ctx context.Context, a answer, e eventv1.Event) {
	switch {
	case ctx.Err() != nil:
	case a.result == Refused:
		s.log.Error(a.err, "an event was rejected by its receiver", "kind", e.InvolvedObject.Kind,
			"namespace", e.InvolvedObject.Namespace, "name", e.InvolvedObject.Name, "reason", e.Reason)
	case a.err == nil:
		if s.failing.CompareAndSwap(true, false) {
			s.log.Info("events are delivered again")
		}
	case s.failing.CompareAndSwap(false, true):
		s.log.Error(a.err, "events cannot be delivered; they are tried again")
	}
}

func (s *Sender) post(ctx context.Context, body []byte) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, bytes.NewReader(body))
	if err != nil {
		return answer{result: Refused, err: errors.New("the address is not a URL")}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		var sent *url.Error
		if errors.As(err, &sent) {
			// Its text contains the address, which may contain a token.
			err = sent.Err
		}
		return answer{err: err}
	}
	// The body is read so that the network connection can be reused.
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
	return classify(resp.StatusCode, resp.Header.Get("Retry-After"))
}

// classify returns the meaning of an answer. notification-controller answers a duplicate event with
// 429 and the date until which it does so. Posting again after that would notify twice. A proxy
// that limits rates answers 429 with a number of seconds.
func classify(status int, retryAfter string) answer {
	seconds, err := strconv.ParseUint(retryAfter, 10, 31)
	inSeconds := err == nil
	after := time.Duration(seconds) * time.Second
	failure := fmt.Errorf("the receiver answered %d %s", status, http.StatusText(status))
	switch {
	case status >= 200 && status < 300:
		return answer{result: Sent}
	case status == http.StatusTooManyRequests && !inSeconds:
		return answer{result: Duplicate}
	case status == http.StatusTooManyRequests:
		return answer{after: after, err: failure}
	case status >= 500 && status != http.StatusNotImplemented:
		return answer{after: after, failed: true, err: failure}
	}
	return answer{result: Refused, err: failure}
}
