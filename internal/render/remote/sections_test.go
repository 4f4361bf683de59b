// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSections(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 1<<16)
	for name, sections := range map[string][][]byte{
		"None": {}, "Empty": {{}}, "Several": {[]byte("a"), {}, large, []byte("b")},
	} {
		got, err := decodeSections(encodeSections(sections...), 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(sections, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnreadableSections(t *testing.T) {
	t.Parallel()
	good := encodeSections([]byte("abc"), []byte("d"))
	for name, tc := range map[string]struct {
		reason  string
		message []byte
	}{
		"Nothing":     {"a message has a format", nil},
		"Format":      {"another format is not guessed", append([]byte{2}, good[1:]...)},
		"Incomplete":  {"each section is complete", good[:len(good)-1]},
		"Longer":      {"nothing follows the last section", append(bytes.Clone(good), 0)},
		"ManyMissing": {"no memory is allocated for sections that cannot follow", []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		"Overflow":    {"a length is limited", []byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
	} {
		if _, err := decodeSections(tc.message, 0); !errors.Is(err, errMessage) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encodeSections([]byte("abc"), nil))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, message []byte) {
		sections, err := decodeSections(message, 0)
		if err != nil {
			return
		}
		again, err := decodeSections(encodeSections(sections...), 0)
		if diff := cmp.Diff(sections, again); err != nil || diff != "" {
			t.Errorf("%v (-once +twice):\n%s", err, diff)
		}
	})
}

func TestValues(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{
		"Nil": nil, "Empty": {},
		"Numbers": {"int": 3, "int64": int64(-3), "float": 3.0, "large": 1e300, "least": int64(math.MinInt64), "most": math.MaxInt},
		"Others":  {"": nil, "t": true, "f": false, "s": "\xff text", "l": []any{1, nil, []any{}}, "m": map[string]any{"m": map[string]any{}}},
	} {
		raw, err := encodeMap(values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := decodeMap(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(values, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnsupportedValues(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["c"] = cycle
	for name, values := range map[string]map[string]any{"Type": {"a": []any{uint8(1)}}, "Cycle": cycle} {
		if raw, err := encodeMap(values); err == nil {
			t.Errorf("%s: it is encoded as %d bytes", name, len(raw))
		}
	}
	if _, err := decodeMap(bytes.Repeat([]byte{typeList, 1}, maxDepth+2)); !errors.Is(err, errMessage) {
		t.Errorf("a deep value: %v", err)
	}
	if _, err := decodeMap([]byte{typeString, 1, 'a'}); !errors.Is(err, errMessage) {
		t.Errorf("a value that is no map: %v", err)
	}
}

func FuzzDecodeMap(f *testing.F) {
	raw, err := encodeMap(map[string]any{"a": []any{1, int64(2), 3.5, "s", nil, true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{typeMap, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		values, err := decodeMap(raw)
		if err != nil {
			return
		}
		encoded, err := encodeMap(values)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeMap(encoded)
		if err != nil || len(again) != len(values) {
			t.Errorf("%v became %v: %v", values, again, err)
		}
	})
}
