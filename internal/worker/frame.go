// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the type of a frame. A frame is its kind, the length of its payload as four bytes in big
// endian, and the payload.
type kind = byte

// Frames to the worker process.
const (
	// frameHello has a settings as JSON. It is the first frame.
	frameHello kind = 'H'
	// frameCall has a name and a request, see message.
	frameCall kind = 'C'
	// frameTraced is a frameCall for a call that is traced.
	frameTraced kind = 'T'
	// frameAnswer has the result of a callback.
	frameAnswer kind = 'A'
	// frameRefusal has the text of the error of a callback.
	frameRefusal kind = 'R'
)

// Frames of the worker process.
const (
	// frameReady has a report as JSON. It answers frameHello.
	frameReady kind = 'h'
	// frameBegun has no payload. The process has read a call, and runs the handler next.
	frameBegun kind = 'b'
	// frameNote has a note of a traced call. It is not answered.
	frameNote kind = 'n'
	// frameAsk has a name and a request, see message. A frameAnswer or frameRefusal answers it.
	frameAsk kind = 'a'
	// frameResult has the response. It ends the call, and so does frameFailure.
	frameResult kind = 'r'
	// frameFailure has the text of an error.
	frameFailure kind = 'f'
)

const (
	headerSize = 5
	// maxName is the maximum length of a name in bytes.
	maxName = 255
	// maxText is the maximum length of the text of an error in bytes. Longer texts are cut.
	maxText = 64 << 10
	// maxNote is the maximum length of a note in bytes. Longer notes are cut.
	maxNote = 300
	// maxHandshake is the maximum length of the payload of frameHello and frameReady.
	maxHandshake = 4 << 10
	// chunk is the number of bytes that is allocated before the first byte of a payload arrives.
	chunk = 64 << 10
)

// sizes are the maximum lengths of payloads in bytes.
type sizes struct {
	Request, Response, Ask, Answer uint32
}

// maxima are the maximum lengths of the payloads of the kinds that one end accepts.
type maxima map[kind]uint32

// toWorker returns the frames that a worker process accepts after the handshake.
func (s sizes) toWorker() maxima {
	return maxima{
		frameCall: s.Request + 1 + maxName, frameTraced: s.Request + 1 + maxName,
		frameAnswer: s.Answer, frameRefusal: maxText,
	}
}

// fromWorker returns the frames that the parent process accepts during a call.
func (s sizes) fromWorker() maxima {
	return maxima{
		frameBegun: 0, frameNote: maxNote, frameAsk: s.Ask + 1 + maxName,
		frameResult: s.Response, frameFailure: maxText,
	}
}

// errFrame is the cause of all errors about invalid frames.
var errFrame = errors.New("invalid frame")

// readFrame reads one frame. It returns io.EOF at the end of r, io.ErrUnexpectedEOF within a frame,
// and errFrame for a kind that is not in accepted or a length above its maximum. It never allocates
// more than a multiple of the bytes that have arrived.
func readFrame(r io.Reader, accepted maxima) (kind, []byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	k, size := kind(header[0]), binary.BigEndian.Uint32(header[1:])
	most, known := accepted[k]
	if !known {
		return 0, nil, fmt.Errorf("%w: kind %d", errFrame, k)
	}
	if size > most {
		return 0, nil, fmt.Errorf("%w: %d bytes of kind %d, at most %d", errFrame, size, k, most)
	}
	payload, err := readPayload(r, int(size))
	return k, payload, err
}

func readPayload(r io.Reader, size int) ([]byte, error) {
	payload := make([]byte, 0, min(size, chunk))
	for len(payload) < size {
		if len(payload) == cap(payload) {
			payload = slices.Grow(payload, min(len(payload), size-len(payload)))
		}
		next := payload[len(payload):min(cap(payload), size)]
		n, err := io.ReadFull(r, next)
		payload = payload[:len(payload)+n]
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return payload, nil
}

// writeFrame writes one frame whose payload consists of parts. Lengths are checked by callers.
func writeFrame(w io.Writer, k kind, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	head := append(make([]byte, 0, chunk), byte(k), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[1:], uint32(size))
	for _, part := range parts {
		if len(head)+len(part) <= cap(head) {
			head = append(head, part...)
			continue
		}
		if _, err := w.Write(head); err != nil {
			return err
		}
		head = head[:0]
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	if len(head) == 0 {
		return nil
	}
	_, err := w.Write(head)
	return err
}

// message is the payload of frameCall and frameAsk: the length of the name as one byte, the name, and
// the request.
type message struct {
	name    string
	request []byte
}

// head returns the payload up to the request. The name has at most maxName bytes.
func (m message) head() []byte {
	return append([]byte{byte(len(m.name))}, m.name...)
}

// parseMessage returns the message in payload.
func parseMessage(payload []byte) (message, error) {
	if len(payload) == 0 || len(payload) < 1+int(payload[0]) {
		return message{}, fmt.Errorf("%w: no name", errFrame)
	}
	end := 1 + int(payload[0])
	return message{name: string(payload[1:end]), request: payload[end:]}, nil
}

// notePayload returns the payload of frameNote.
func notePayload(note string) []byte { return []byte(note[:min(len(note), maxNote)]) }

// noteOf returns the note in the payload of frameNote as one line of valid UTF-8. What cannot be
// printed is left out.
func noteOf(payload []byte) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(payload))
}

// textOf returns the text of an error, cut to maxText.
func textOf(err error) []byte {
	text := []byte(err.Error())
	return text[:min(len(text), maxText)]
}
