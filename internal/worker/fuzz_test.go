// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func fuzzSizes() sizes {
	return sizes{Request: 1 << 20, Response: 1 << 20, Ask: 1 << 10, Answer: 1 << 10}
}

// FuzzReadFrame: both ends read any bytes without a panic, and a frame that was read is written
// again as the same bytes.
func FuzzReadFrame(f *testing.F) {
	limits := fuzzSizes()
	for _, k := range []kind{frameCall, frameTraced, frameNote, frameAnswer, frameRefusal, frameBegun, frameAsk, frameResult, frameFailure} {
		f.Add([]byte(frame(k, 3, "\x01ab")))
		f.Add([]byte(frame(k, 8, "12345678")))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, accepted := range []maxima{limits.toWorker(), limits.fromWorker()} {
			r := bytes.NewReader(input)
			k, payload, err := readFrame(r, accepted)
			if err != nil {
				continue
			}
			if len(payload) > int(accepted[k]) {
				t.Fatalf("%d bytes of kind %c", len(payload), k)
			}
			var b bytes.Buffer
			if err := writeFrame(&b, k, payload); err != nil || !bytes.Equal(b.Bytes(), input[:len(input)-r.Len()]) {
				t.Fatalf("%q was written as %q, %v", input, b.Bytes(), err)
			}
			if m, err := parseMessage(payload); err == nil && string(m.head())+string(m.request) != string(payload) {
				t.Fatalf("%q became %q", payload, m)
			}
		}
	})
}

// FuzzExchange: the parent process survives all bytes of a worker process. It returns a reply only
// if the process has sent one.
func FuzzExchange(f *testing.F) {
	begun := frame(frameBegun, 0, "")
	for _, s := range []string{
		"", begun, begun + begun, frame(frameResult, 1, "x"), begun + frame(frameResult, 1, "x"), begun + frame(frameResult, 0, ""),
		begun + frame(frameFailure, 2, "no"), begun + frame(frameFailure, 1, "\xff"), begun + frame(frameAsk, 3, "\x01ab") + frame(frameResult, 1, "x"),
		begun + frame(frameAsk, 0, ""), begun + frame(frameResult, 1<<32-1, "x"), frame(frameReady, 0, ""),
		begun + frame(frameNote, 3, "a\nb") + frame(frameNote, 3, "\xff\x1bx") + frame(frameResult, 1, "x"), frame(frameNote, 1, "x"),
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, input []byte, traced bool) {
		var in bytes.Buffer
		answers := 0
		x := exchange{
			sizes: fuzzSizes(), in: &in, out: bytes.NewReader(input), begin: func() {},
			answer: func(_ context.Context, name string, request []byte) ([]byte, error) {
				if answers++; name == "" {
					return nil, errors.New("no name")
				}
				return append([]byte(name), request...), nil
			},
		}
		response, err := x.run(t.Context(), Call{Function: "f", Request: []byte("request"), Traced: traced})
		if !traced && x.note != "" || len(x.note) > maxNote || strings.ContainsFunc(x.note, unicode.IsControl) || !utf8.ValidString(x.note) {
			t.Fatalf("the note %q", x.note)
		}
		if (err == nil) != (response != nil) {
			t.Fatalf("a response of %d bytes, and %v", len(response), err)
		}
		failure, failed := errors.AsType[*Failure](err)
		if (response != nil || failed) && (!x.begun || !bytes.HasPrefix(input, []byte(frame(frameBegun, 0, "")))) {
			t.Fatal("a reply to a call that has not begun")
		}
		if failed && strings.ToValidUTF8(failure.Text, "") != failure.Text {
			t.Fatalf("%q is not UTF-8", failure.Text)
		}
		// What was sent is a call, and a frame for each callback.
		sent, accepted := 0, fuzzSizes().toWorker()
		for ; ; sent++ {
			if _, _, err := readFrame(&in, accepted); err != nil {
				break
			}
		}
		if sent != 1+answers {
			t.Fatalf("%d frames were sent for %d callbacks", sent, answers)
		}
	})
}

// FuzzServe: a worker process reads any bytes after the handshake without a panic.
func FuzzServe(f *testing.F) {
	call := frame(frameCall, 3, "\x01ab")
	for _, s := range []string{
		"", call, call + call, frame(frameCall, 0, ""), frame(frameAnswer, 1, "x"), call + frame(frameAnswer, 1, "x"), call + frame(frameRefusal, 1, "x"),
		frame(frameHello, 2, "{}"),
		frame(frameTraced, 3, "\x01ab") + frame(frameAnswer, 1, "x"),
	} {
		f.Add([]byte(s))
	}
	handler := func(ctx context.Context, name string, request []byte, ask Ask) ([]byte, error) {
		Note(ctx, name)
		return ask(name, request)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		s := &server{
			handler: handler, settings: settings{Sizes: fuzzSizes(), Memory: 1 << 40, Stack: 1 << 40},
			in: bytes.NewReader(input), out: io.Discard, answers: make(chan reading),
		}
		if err := s.serve(t.Context()); err != nil && !errors.Is(err, errFrame) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	})
}
