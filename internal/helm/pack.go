// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// maxUnpacked bounds what a record may become when it is decompressed. A Secret
// of a few hundred kilobytes could otherwise fill the memory of everybody.
const maxUnpacked = 64 << 20

// roomy is how large a record may become before it is compressed as far as it
// goes, which takes twice as long.
const roomy = corev1.MaxSecretSize / 2

// packer compresses records. It may be used concurrently; its zero value is ready
// for use.
//
// A record is one gzip stream, as everybody reads it, but its JSON is compressed
// in two parts of which the second does not refer to the first: the chart, the
// values and the manifest, which make up nearly all of it, and the state. When the
// state changes, which it does twice in the life of a revision at least, the first
// part is used again as it is.
type packer struct{ quick, best sync.Pool }

// pressed is the first part of a record.
type pressed struct {
	deflated []byte
	// size and sum are of what was compressed.
	size, sum uint32
}

// The header of a gzip stream with an extra field, which names the two parts' border.
const (
	headerSize  = 10 + 2 + 4 + 8
	extraMember = 4
)

var gzipMagic = [...]byte{0x1f, 0x8b, 0x08} //nolint:gochecknoglobals // a constant, if arrays could be

func (p *packer) writer(level int, to io.Writer) (*flate.Writer, func(), error) {
	pool := &p.quick
	if level == flate.BestCompression {
		pool = &p.best
	}
	if w, ok := pool.Get().(*flate.Writer); ok {
		w.Reset(to)
		return w, func() { pool.Put(w) }, nil
	}
	w, err := flate.NewWriter(to, level)
	return w, func() { pool.Put(w) }, err
}

// press compresses the first part of a record.
func (p *packer) press(fixed []byte, level int) (pressed, error) {
	var buf bytes.Buffer
	w, done, err := p.writer(level, &buf)
	if err != nil {
		return pressed{}, err
	}
	defer done()
	_, err = w.Write(fixed)
	// To a border of bytes, where another stream can go on.
	if err = errors.Join(err, w.Flush()); err != nil {
		return pressed{}, err
	}
	return pressed{deflated: buf.Bytes(), size: uint32(len(fixed)), sum: crc32.ChecksumIEEE(fixed)}, nil //nolint:gosec // gzip counts modulo 2^32
}

// pack returns the data of a record of two parts, the first of which may have been
// pressed before.
func (p *packer) pack(first pressed, fixed func() ([]byte, error), moving []byte) ([]byte, pressed, error) {
	var err error
	if first.deflated == nil {
		var raw []byte
		if raw, err = fixed(); err != nil {
			return nil, first, err
		}
		if first, err = p.press(raw, flate.DefaultCompression); err != nil {
			return nil, first, err
		}
		if len(first.deflated) > roomy {
			if first, err = p.press(raw, flate.BestCompression); err != nil {
				return nil, first, err
			}
		}
	}
	stream, err := p.join(first, moving)
	if err != nil {
		return nil, first, err
	}
	data := make([]byte, base64.StdEncoding.EncodedLen(len(stream)))
	base64.StdEncoding.Encode(data, stream)
	return data, first, nil
}

// foreseen is the first part of a record that may be stored.
type foreseen struct {
	raw   []byte
	first pressed
}

// take returns what raw was compressed to, once; nothing if it was not. Either way
// nothing is foreseen any more, which may be some megabytes.
func (f *foreseen) take(raw []byte) pressed {
	was := *f
	*f = foreseen{}
	if !bytes.Equal(was.raw, raw) {
		return pressed{}
	}
	return was.first
}

// tighten returns the data of a record that is a little too large for a Secret as
// one stream, whose parts do refer to each other, if that is smaller. Helm writes
// them so, and what it got into a Secret has to stay there.
func (p *packer) tighten(data []byte, fixed func() ([]byte, error), moving []byte) ([]byte, error) {
	const little = corev1.MaxSecretSize / 64
	if len(data) <= corev1.MaxSecretSize || len(data) > corev1.MaxSecretSize+little {
		return data, nil
	}
	raw, err := fixed()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(raw)
	_, err2 := w.Write(moving)
	if err = errors.Join(err, err2, w.Close()); err != nil {
		return nil, err
	}
	if base64.StdEncoding.EncodedLen(buf.Len()) >= len(data) {
		return data, nil
	}
	return base64.StdEncoding.AppendEncode(nil, buf.Bytes()), nil
}

// join returns the gzip stream of two parts.
func (p *packer) join(first pressed, moving []byte) ([]byte, error) {
	stream := make([]byte, 0, headerSize+len(first.deflated)+len(moving)+64)
	stream = append(stream, gzipMagic[:]...)
	const unknownSystem = 255
	stream = append(stream, extraMember, 0, 0, 0, 0, 0, unknownSystem, 12, 0, 'P', 'T', 8, 0)
	stream = binary.LittleEndian.AppendUint32(stream, first.size)
	stream = binary.LittleEndian.AppendUint32(stream, uint32(len(first.deflated))) //nolint:gosec // it fits into a Secret or is refused
	buf := bytes.NewBuffer(append(stream, first.deflated...))
	w, done, err := p.writer(flate.DefaultCompression, buf)
	if err != nil {
		return nil, err
	}
	defer done()
	_, err = w.Write(moving)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	stream = binary.LittleEndian.AppendUint32(buf.Bytes(), crc32.Update(first.sum, crc32.IEEETable, moving))
	return binary.LittleEndian.AppendUint32(stream, first.size+uint32(len(moving))), nil //nolint:gosec // gzip counts modulo 2^32
}

// unpack returns the JSON of a record. Helm stores base64 of gzip; records that
// are older than its compression are plain. Errors quote nothing of a record,
// whose values and manifest may be secret.
func unpack(data []byte) ([]byte, error) {
	stream, err := decoded(data)
	if err != nil || !bytes.HasPrefix(stream, gzipMagic[:]) {
		return stream, err
	}
	r, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	// The last bytes tell the size, if they tell the truth.
	const plausible = 16
	size := min(int(binary.LittleEndian.Uint32(stream[len(stream)-4:])), plausible*len(stream), maxUnpacked)
	raw := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err = raw.ReadFrom(io.LimitReader(r, maxUnpacked+1)); err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	if raw.Len() > maxUnpacked {
		return nil, fmt.Errorf("it decompresses to more than %d bytes", maxUnpacked)
	}
	return raw.Bytes(), nil
}

func decoded(data []byte) ([]byte, error) {
	stream := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(stream, data)
	if err != nil {
		return nil, errors.New("its data is not base64")
	}
	return stream[:n], nil
}

// firstPart returns the first part of the data of a record, whose JSON is raw, if
// it was packed in two. What the header says of them is tried out: whoever
// compresses a stream anew may keep its header.
func firstPart(data, raw []byte) pressed {
	stream, err := decoded(data)
	if err != nil || len(stream) < headerSize || !bytes.HasPrefix(stream, gzipMagic[:]) ||
		stream[3] != extraMember || string(stream[10:16]) != "\x0c\x00PT\x08\x00" {
		return pressed{}
	}
	size, length := binary.LittleEndian.Uint32(stream[16:]), binary.LittleEndian.Uint32(stream[20:])
	if int64(size) > int64(len(raw)) || int64(length) > int64(len(stream)-headerSize) || !bytes.HasPrefix(raw[size:], []byte(movingPart)) {
		return pressed{}
	}
	first := pressed{deflated: stream[headerSize : headerSize+int(length)], size: size}
	fixed := bytes.NewBuffer(make([]byte, 0, int(size)+bytes.MinRead))
	_, err = fixed.ReadFrom(io.LimitReader(flate.NewReader(bytes.NewReader(first.deflated)), int64(size)+1))
	// The stream has no end: there the second part begins.
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(fixed.Bytes(), raw[:size]) {
		return pressed{}
	}
	first.sum = crc32.ChecksumIEEE(raw[:size])
	return first
}
