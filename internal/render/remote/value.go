// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The first byte of an encoded value is its type.
const (
	typeNil    = 'n'
	typeFalse  = '0'
	typeTrue   = '1'
	typeInt    = 'i'
	typeInt64  = 'I'
	typeFloat  = 'f'
	typeString = 's'
	typeList   = 'l'
	typeMap    = 'm'
)

// maxDepth limits the nesting of values. JSON has the same limit.
const maxDepth = 10_000

// encodeMap encodes the values of a chart. Unlike JSON, the encoding keeps the types of numbers,
// since templates print them differently. A nil map is encoded as no bytes.
func encodeMap(values map[string]any) ([]byte, error) {
	if values == nil {
		return nil, nil
	}
	return appendValue(nil, values, 0)
}

func appendValue(to []byte, value any, depth int) (_ []byte, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("values are nested more than %d levels deep", maxDepth)
	}
	switch v := value.(type) {
	case nil:
		return append(to, typeNil), nil
	case bool:
		if v {
			return append(to, typeTrue), nil
		}
		return append(to, typeFalse), nil
	case int:
		return binary.AppendVarint(append(to, typeInt), int64(v)), nil
	case int64:
		return binary.AppendVarint(append(to, typeInt64), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(to, typeFloat), math.Float64bits(v)), nil
	case string:
		return appendText(append(to, typeString), v), nil
	case []any:
		to = binary.AppendUvarint(append(to, typeList), uint64(len(v)))
		for _, inner := range v {
			if to, err = appendValue(to, inner, depth+1); err != nil {
				return nil, err
			}
		}
		return to, nil
	case map[string]any:
		to = binary.AppendUvarint(append(to, typeMap), uint64(len(v)))
		for key, inner := range v {
			if to, err = appendValue(appendText(to, key), inner, depth+1); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
	return nil, fmt.Errorf("values contain a %T, which is not supported", value)
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// decodeMap returns the values that encodeMap encoded; nil for no bytes. An error wraps errMessage.
func decodeMap(raw []byte) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // nil is the value
	}
	d := decoder{rest: raw}
	value := d.value(0)
	values, ok := value.(map[string]any)
	if d.failed || !ok || len(d.rest) > 0 {
		return nil, fmt.Errorf("%w: values cannot be decoded", errMessage)
	}
	return values, nil
}

// decoder reads values from rest until it has failed.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) value(depth int) any {
	kind := d.take(1)
	if d.failed || depth > maxDepth {
		d.failed = true
		return nil
	}
	switch kind[0] {
	case typeNil:
		return nil
	case typeFalse, typeTrue:
		return kind[0] == typeTrue
	case typeInt:
		return int(d.varint())
	case typeInt64:
		return d.varint()
	case typeFloat:
		if bits := d.take(8); !d.failed {
			return math.Float64frombits(binary.BigEndian.Uint64(bits))
		}
	case typeString:
		return d.text()
	case typeList:
		list := make([]any, d.length())
		for i := range list {
			if list[i] = d.value(depth + 1); d.failed {
				return nil
			}
		}
		return list
	case typeMap:
		n := d.length()
		values := make(map[string]any, n)
		for range n {
			key := d.text()
			if values[key] = d.value(depth + 1); d.failed {
				return nil
			}
		}
		return values
	default:
		d.failed = true
	}
	return nil
}

// take returns the next n bytes.
func (d *decoder) take(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.failed = true
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

// length returns the number of bytes or of values that follow. Each of them takes a byte or more.
func (d *decoder) length() int {
	n, rest, ok := length(d.rest)
	if d.failed || !ok || n > len(rest) {
		d.failed = true
		return 0
	}
	d.rest = rest
	return n
}

func (d *decoder) text() string { return string(d.take(d.length())) }

func (d *decoder) varint() int64 {
	n, read := binary.Varint(d.rest)
	if d.failed || read <= 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[read:]
	return n
}
