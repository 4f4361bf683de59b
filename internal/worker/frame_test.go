// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func frame(k kind, size uint32, payload string) string {
	return string(binary.BigEndian.AppendUint32([]byte{byte(k)}, size)) + payload
}

func TestReadFrame(t *testing.T) {
	accepted := maxima{frameResult: 8, frameBegun: 0}
	for _, tc := range []struct {
		reason, input string
		kind          kind
		payload       string
		want          error
	}{
		{"a frame with a payload", frame(frameResult, 3, "abcd"), frameResult, "abc", nil},
		{"a frame without one", frame(frameBegun, 0, ""), frameBegun, "", nil},
		{"the maximum is accepted", frame(frameResult, 8, "12345678"), frameResult, "12345678", nil},
		{"a byte more is not", frame(frameResult, 9, "123456789"), 0, "", errFrame},
		{"the largest length", frame(frameResult, 1<<32-1, ""), 0, "", errFrame},
		{"a kind that this end does not accept", frame(frameCall, 0, ""), 0, "", errFrame},
		{"the end between two frames", "", 0, "", io.EOF},
		{"the end in a header", "r\x00", 0, "", io.ErrUnexpectedEOF},
		{"the end before a payload", frame(frameResult, 3, ""), frameResult, "", io.ErrUnexpectedEOF},
		{"the end in a payload", frame(frameResult, 3, "ab"), frameResult, "", io.ErrUnexpectedEOF},
	} {
		k, payload, err := readFrame(strings.NewReader(tc.input), accepted)
		if k != tc.kind || string(payload) != tc.payload || !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%s: got %c %q %v", tc.reason, k, payload, err)
		}
	}
}

// TestAnnouncedLength: a length alone allocates nothing near it.
func TestAnnouncedLength(t *testing.T) {
	const announced, sent = 1 << 30, 1 << 20
	input := frame(frameResult, announced, strings.Repeat("x", sent))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := readFrame(strings.NewReader(input), maxima{frameResult: announced})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*sent {
		t.Errorf("%d bytes were allocated for %d that arrived", allocated, sent)
	}
}

func TestWriteFrame(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 3*chunk)
	for _, tc := range []struct {
		reason string
		parts  [][]byte
	}{
		{"no payload", nil},
		{"short parts", [][]byte{[]byte("ab"), nil, []byte("c")}},
		{"a long part", [][]byte{[]byte("ab"), long, []byte("c")}},
		{"a long part at the end", [][]byte{[]byte("ab"), long}},
		{"exactly one buffer", [][]byte{long[:chunk-headerSize], []byte("c")}},
	} {
		var b bytes.Buffer
		if err := writeFrame(&b, frameResult, tc.parts...); err != nil {
			t.Fatal(err)
		}
		k, payload, err := readFrame(&b, maxima{frameResult: 4 * chunk})
		if k != frameResult || !bytes.Equal(payload, bytes.Join(tc.parts, nil)) || err != nil || b.Len() != 0 {
			t.Errorf("%s: got %c, %d bytes, %v, and %d bytes more", tc.reason, k, len(payload), err, b.Len())
		}
	}
}

func TestMessage(t *testing.T) {
	for _, tc := range []struct {
		reason, payload, name, request string
		valid                          bool
	}{
		{"a name and a request", "\x02abcd", "ab", "cd", true},
		{"no request", "\x02ab", "ab", "", true},
		{"an empty name", "\x00cd", "", "cd", true},
		{"a name that ends too early", "\x02a", "", "", false},
		{"nothing", "", "", "", false},
	} {
		m, err := parseMessage([]byte(tc.payload))
		if m.name != tc.name || string(m.request) != tc.request || (err == nil) != tc.valid {
			t.Errorf("%s: got %q %q %v", tc.reason, m.name, m.request, err)
		}
		if tc.valid && string(m.head())+tc.request != tc.payload {
			t.Errorf("%s: head returns %q", tc.reason, m.head())
		}
	}
}
