// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/brief"
)

// AccessError is the error of Get.
type AccessError struct{ cause string }

// Error implements error.
func (r *AccessError) Error() string { return r.cause }

// Cause returns one line of at most 500 bytes. It is the same for the same reason: it contains no
// request IDs and times.
func (r *AccessError) Cause() string { return r.cause }

// maxCause bounds a cause, in bytes. Errors of clouds can be long.
const maxCause = 500

// accessError turns an error of a provider's library into an AccessError. It does not wrap the
// error, which may contain the request.
func accessError(ctx context.Context, err error, hidden *secrets) *AccessError {
	text, known := "", false
	for _, explain := range []func(error) (string, bool){explainAWS, explainAzure, explainGCP} {
		if text, known = explain(err); known {
			break
		}
	}
	if !known {
		text = plain(ctx, err)
	}
	return &AccessError{cause: brief.Cut(hidden.redact(steady(text)), maxCause)}
}

// plain returns the cause of an error without an answer of a cloud.
func plain(ctx context.Context, err error) string {
	text := err.Error()
	server := ""
	if found := endpoint().FindStringSubmatch(text); found != nil {
		server = found[1] + ": "
	} else if operation := operationOfAWS(err); operation != "" {
		server = operation + ": "
	}
	var late net.Error
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout() ||
		strings.Contains(text, "Client.Timeout") || strings.Contains(text, "context deadline exceeded") {
		return server + "no answer in time"
	}
	var around *url.Error
	if errors.As(err, &around) {
		// The innermost error has the cause and no URL.
		for errors.As(around.Err, &around) {
		}
		return server + causeOf(around.Err)
	}
	return endpoint().ReplaceAllString(text, "$1")
}

// causeOf returns the text of an error without the port of the client.
func causeOf(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op != "dial" {
		return operation.Op + ": " + operation.Err.Error()
	}
	return err.Error()
}

// endpoint matches URLs. Its group is the host, without user and password.
func endpoint() *regexp.Regexp {
	return regexp.MustCompile(`https?://(?:[^/"'\s?#@]*@)?([^/"'\s?#@]+)[^\s"']*`)
}

// steady removes the parts of a text that differ from answer to answer.
func steady(text string) string {
	text = brief.Line(text)
	for _, end := range []string{" Trace ID:", " Correlation ID:", " Timestamp:"} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}
