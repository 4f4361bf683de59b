// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// AccessError is why there is no way into a cluster.
type AccessError struct{ cause string }

// Error implements error.
func (r *AccessError) Error() string { return r.cause }

// Cause is one line, of 500 bytes at most, the same for the same reason: without
// numbers of requests, and times.
func (r *AccessError) Cause() string { return r.cause }

// maxCause is how long a cause may be, in bytes. Clouds name people and things at length.
const maxCause = 500

// refused says what to make of an error of a provider's library. It is not wrapped:
// it may hold what was sent.
func refused(ctx context.Context, err error, hidden *secrets) *AccessError {
	text, known := "", false
	for _, explain := range []func(error) (string, bool){explainAWS, explainAzure, explainGCP} {
		if text, known = explain(err); known {
			break
		}
	}
	if !known {
		text = plain(ctx, err)
	}
	return &AccessError{cause: shortened(hidden.redact(steady(text)))}
}

// plain says what happened on the way to a cloud, or before.
func plain(ctx context.Context, err error) string {
	text := err.Error()
	where := ""
	if found := endpoint().FindStringSubmatch(text); found != nil {
		where = found[1] + ": "
	} else if operation := operationOfAWS(err); operation != "" {
		where = operation + ": "
	}
	var late net.Error
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout() ||
		strings.Contains(text, "Client.Timeout") || strings.Contains(text, "context deadline exceeded") {
		return where + "no answer in time"
	}
	var around *url.Error
	if errors.As(err, &around) {
		// The innermost error says what happened, and has no URL around it.
		for errors.As(around.Err, &around) {
		}
		return where + causeOf(around.Err)
	}
	return endpoint().ReplaceAllString(text, "$1")
}

// causeOf leaves out the port that happened to be ours.
func causeOf(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op != "dial" {
		return operation.Op + ": " + operation.Err.Error()
	}
	return err.Error()
}

// endpoint finds URLs, of which only the host is anybody's business, without whoever asks it.
func endpoint() *regexp.Regexp {
	return regexp.MustCompile(`https?://(?:[^/"'\s?#@]*@)?([^/"'\s?#@]+)[^\s"']*`)
}

// steady takes out what differs from answer to answer.
func steady(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, end := range []string{" Trace ID:", " Correlation ID:", " Timestamp:"} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

func shortened(text string) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) > maxCause {
		return strings.ToValidUTF8(text[:maxCause], "") + "…"
	}
	return text
}

// answer is what the body of an error says, in the forms that clouds use.
func answer(body []byte) (code, message string) {
	var flat struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	if json.Unmarshal(body, &flat) != nil {
		return "", ""
	}
	var nested struct {
		Code    any    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	if json.Unmarshal(flat.Error, &nested) == nil {
		if nested.Status != "" {
			return nested.Status, nested.Message
		}
		return fmt.Sprint(nested.Code), nested.Message
	}
	_ = json.Unmarshal(flat.Error, &code)
	return code, flat.Description
}

// said puts together who answered what.
func said(who string, status int, code, message string) string {
	parts := []string{who + " answered"}
	if status != 0 {
		parts = append(parts, fmt.Sprint(status))
	}
	if code != "" && code != fmt.Sprint(status) {
		parts = append(parts, code)
	}
	text := strings.Join(parts, " ")
	if message != "" {
		text += ": " + message
	}
	return text
}
