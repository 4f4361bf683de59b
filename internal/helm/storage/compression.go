// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// maxUnpacked is the largest size of a decompressed record. A Secret of some hundred kilobytes
// could otherwise exhaust the memory of the process.
const maxUnpacked = 64 << 20

// quickLimit is the compressed size above which a record is compressed again at the best level,
// which Helm always uses. It takes twice as long.
const quickLimit = corev1.MaxSecretSize / 2

var gzipMagic = [...]byte{0x1f, 0x8b, 0x08} //nolint:gochecknoglobals // a constant, if arrays could be

// packer compresses records as Helm does: base64 of gzip. It may be used concurrently; its zero value
// is ready for use. It keeps the writers, which take most of a megabyte each.
type packer struct{ quick, best sync.Pool }

// pack returns the data of the Secret for the JSON of a record.
func (p *packer) pack(raw []byte) ([]byte, error) {
	stream, err := p.compress(raw, gzip.DefaultCompression)
	if err == nil && base64.StdEncoding.EncodedLen(len(stream)) > quickLimit {
		stream, err = p.compress(raw, gzip.BestCompression)
	}
	return base64.StdEncoding.AppendEncode(nil, stream), err
}

func (p *packer) compress(raw []byte, level int) ([]byte, error) {
	pool := &p.quick
	if level == gzip.BestCompression {
		pool = &p.best
	}
	w, ok := pool.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, level); err != nil {
			return nil, err
		}
	}
	defer pool.Put(w)
	var buf bytes.Buffer
	w.Reset(&buf)
	_, err := w.Write(raw)
	err = errors.Join(err, w.Close())
	return buf.Bytes(), err
}

// unpack returns the JSON of a record. Helm stores base64 of gzip; very old records are not
// compressed. Errors quote nothing of a record, because its values and manifest may be secret.
func unpack(data []byte) ([]byte, error) {
	stream := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(stream, data)
	if err != nil {
		return nil, errors.New("its data is not base64")
	}
	if stream = stream[:n]; !bytes.HasPrefix(stream, gzipMagic[:]) {
		return stream, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	// The last bytes hold the size, modulo 2^32. They may be wrong: a record that really decompresses
	// to the limit costs as much.
	size := min(int(binary.LittleEndian.Uint32(stream[len(stream)-4:])), maxUnpacked)
	raw := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err = raw.ReadFrom(io.LimitReader(r, maxUnpacked+1)); err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	if raw.Len() > maxUnpacked {
		return nil, fmt.Errorf("it decompresses to more than %d bytes", maxUnpacked)
	}
	return raw.Bytes(), nil
}
