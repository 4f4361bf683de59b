// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/internal/worker"
)

func TestLocal(t *testing.T) {
	local := worker.Local{Handler: func(_ context.Context, name string, request []byte, ask worker.Ask) ([]byte, error) {
		if name == "fail" {
			return nil, errors.New(string(request))
		}
		return ask(name, request)
	}}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		reason string
		ctx    context.Context
		name   string
		answer worker.Answer
		want   string
		check  func(error) bool
	}{
		{"the answer of a callback is returned", t.Context(), "ask", func(_ context.Context, name string, request []byte) ([]byte, error) {
			return []byte(name + string(request)), nil
		}, "askx", func(err error) bool { return err == nil }},
		{"an error of the function has its text", t.Context(), "fail", nil, "", isFailure("x")},
		{"callbacks are refused without an answer", t.Context(), "ask", nil, "", isFailure(`callback "ask" is refused`)},
		{"an error of the callback has its text", t.Context(), "ask", func(context.Context, string, []byte) ([]byte, error) {
			return nil, errors.New("no")
		}, "", isFailure("no")},
		{"the end of the context is no failure", cancelled, "fail", nil, "", func(err error) bool {
			died, ok := errors.AsType[*worker.Died](err)
			return ok && died.Limit == worker.Cancelled && errors.Is(err, context.Canceled)
		}},
	} {
		got, err := local.Call(tc.ctx, worker.Call{Function: tc.name, Request: []byte("x")}, tc.answer)
		if string(got) != tc.want || !tc.check(err) {
			t.Errorf("%s: got %q and %v", tc.reason, got, err)
		}
	}
}

func isFailure(text string) func(error) bool {
	return func(err error) bool {
		failure, ok := errors.AsType[*worker.Failure](err)
		return ok && failure.Text == text
	}
}

func TestLocalCallbackAfterTheEnd(t *testing.T) {
	var late worker.Ask
	local := worker.Local{Handler: func(_ context.Context, _ string, _ []byte, ask worker.Ask) ([]byte, error) {
		late = ask
		return nil, nil
	}}
	if _, err := local.Call(t.Context(), worker.Call{Function: ""}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := late("", nil); !errors.Is(err, worker.ErrFinished) {
		t.Errorf("a callback after the end of its call returns %v", err)
	}
}
