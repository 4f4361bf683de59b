// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// format is the first byte of a message. It changes with the format of messages.
const format = 1

// errMessage is the error for bytes that are not a message of this version.
var errMessage = errors.New("the message of a worker cannot be read")

// encodeSections returns a message with the given sections: the format, the number of sections, and
// each section after its length.
func encodeSections(sections ...[]byte) []byte {
	size := 1 + binary.MaxVarintLen64
	for _, s := range sections {
		size += binary.MaxVarintLen64 + len(s)
	}
	message := append(make([]byte, 0, size), format)
	message = binary.AppendUvarint(message, uint64(len(sections)))
	for _, s := range sections {
		message = append(binary.AppendUvarint(message, uint64(len(s))), s...)
	}
	return message
}

// decodeSections returns the sections of a message, which are at least as many as given. They share
// its memory. An error wraps errMessage.
func decodeSections(message []byte, atLeast int) ([][]byte, error) {
	if len(message) == 0 || message[0] != format {
		return nil, fmt.Errorf("%w: it has another format", errMessage)
	}
	rest := message[1:]
	count, rest, ok := length(rest)
	if !ok || count > len(rest) {
		return nil, fmt.Errorf("%w: it is incomplete", errMessage)
	}
	sections := make([][]byte, count)
	for i := range sections {
		var size int
		if size, rest, ok = length(rest); !ok || size > len(rest) {
			return nil, fmt.Errorf("%w: section %d is incomplete", errMessage, i)
		}
		sections[i], rest = rest[:size:size], rest[size:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow it", errMessage, len(rest))
	}
	if count < atLeast {
		return nil, fmt.Errorf("%w: it has %d sections", errMessage, count)
	}
	return sections, nil
}

// length reads a length from the start of raw; false if there is none.
func length(raw []byte) (n int, rest []byte, ok bool) {
	size, read := binary.Uvarint(raw)
	const largest = 1 << 40
	if read <= 0 || size > largest {
		return 0, nil, false
	}
	return int(size), raw[read:], true
}
