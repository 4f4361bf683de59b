// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
	helmchart "helm.sh/helm/v3/pkg/chart"
)

// errMessage is the error for bytes that are not the expected message.
var errMessage = errors.New("the message of a worker cannot be read")

// Messages are in CBOR. Unlike JSON, it keeps the types of numbers, since templates print them
// differently, and bytes that are not UTF-8.
//
//nolint:gochecknoglobals // constants, if modes could be
var (
	encoding = mustMode(cbor.EncOptions{}.UserBufferEncMode())
	// toWorker decodes the messages of the controller. JSON has the same limit of nesting.
	toWorker = mustMode(cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		MaxNestedLevels: 10_100, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
	}.DecMode())
	// fromWorker decodes the messages of a worker, which a tenant may have taken over. A byte of an
	// array may stand for a struct of 200 bytes, so arrays are limited.
	fromWorker = mustMode(cbor.DecOptions{
		UTF8: cbor.UTF8DecodeInvalid, DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, MaxNestedLevels: 8, MaxArrayElements: maxFiles, MaxMapPairs: 64,
	}.DecMode())
)

func mustMode[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}

// encode returns a message: a value, and bytes that follow it. size is the number of bytes that are
// allocated ahead for the largest part of the value.
func encode(value any, size int, following []byte) ([]byte, error) {
	var message bytes.Buffer
	const rest = 4 << 10
	message.Grow(size + len(following) + rest)
	err := encoding.MarshalToBuffer(value, &message)
	message.Write(following)
	return message.Bytes(), err
}

// decode reads a message. The bytes that follow the value share its memory: they are the largest part
// of most messages, and the decoder copies what it reads. An error wraps errMessage.
func decode[T any](mode cbor.DecMode, message []byte) (value T, following []byte, err error) {
	if following, err = mode.UnmarshalFirst(message, &value); err != nil {
		return value, nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	return value, following, nil
}

func encodeRequest(r Rendering) ([]byte, error) { return encode(r, 0, r.Archive) }

// DecodeRequest returns the request of a call.
func DecodeRequest(message []byte) (r *Rendering, err error) {
	r = &Rendering{}
	*r, r.Archive, err = decode[Rendering](toWorker, message)
	return r, err
}

// response is the result of a function.
type response struct {
	// Unloadable is the reason why the archive is not a chart. Then nothing else is set.
	Unloadable string `cbor:",omitempty"`
	// Misfit is the reason why the values do not fit the schema. Then nothing else is set.
	Misfit   string    `cbor:",omitempty"`
	Facts    *Facts    `cbor:",omitempty"`
	CRDs     *CRDs     `cbor:",omitempty"`
	Rendered *Rendered `cbor:",omitempty"`
	Files    []Files   `cbor:",omitempty"`
	Unread   *Unread   `cbor:",omitempty"`
}

// EncodeUnloadable returns the response for an archive that is not a chart.
func EncodeUnloadable(err error) ([]byte, error) {
	return encode(response{Unloadable: err.Error()}, 0, nil)
}

// EncodeMisfit returns the response for values that do not fit the schema.
func EncodeMisfit(err error) ([]byte, error) { return encode(response{Misfit: err.Error()}, 0, nil) }

// EncodeFacts encodes the result of FunctionIdentify.
func EncodeFacts(f Facts) ([]byte, error) { return encode(response{Facts: &f}, 0, nil) }

// EncodeCRDs encodes the result of FunctionCRDs.
func EncodeCRDs(c CRDs) ([]byte, error) { return encode(response{CRDs: &c}, 0, nil) }

// EncodeFiles returns the response with files, of size bytes.
func EncodeFiles(files []Files, size int) ([]byte, error) {
	return encode(response{Files: files}, size, nil)
}

// EncodeUnread encodes the result of FunctionUnread.
func EncodeUnread(u Unread) ([]byte, error) { return encode(response{Unread: &u}, 0, nil) }

// EncodeRendered encodes the result of FunctionRender.
func EncodeRendered(r *Rendered) ([]byte, error) {
	return encode(response{Rendered: r}, len(r.Manifest), r.Chart)
}

// decodeResponse reads a response, of which a worker may set any fields.
func decodeResponse(message []byte) (response, error) {
	r, chart, err := decode[response](fromWorker, message)
	if err != nil {
		return r, err
	}
	if r.Unloadable != "" {
		makeValid(&r.Unloadable)
		return r, &Unloadable{r.Unloadable}
	}
	if r.Misfit != "" {
		makeValid(&r.Misfit)
		return r, &Misfit{r.Misfit}
	}
	if r.Facts != nil {
		makeValid(&r.Facts.Name, &r.Facts.Version, &r.Facts.AppVersion, &r.Facts.Content)
	}
	if r.CRDs != nil {
		for i := range r.CRDs.Files {
			f := &r.CRDs.Files[i]
			if f.File == nil {
				return r, fmt.Errorf("%w: a file has no content", errMessage)
			}
			makeValid(&f.Name, &f.Filename, &f.File.Name)
		}
	}
	if r.Unread != nil {
		if len(r.Unread.Like) != len(r.Unread.Keys) {
			return r, fmt.Errorf("%w: keys and suggestions differ in number", errMessage)
		}
		for i, path := range r.Unread.Keys {
			makeValid(&r.Unread.Like[i])
			for j := range path {
				makeValid(&path[j])
			}
		}
	}
	for i := range r.Files {
		makeValid(&r.Files[i].Refused)
		for j := range r.Files[i].Files {
			makeValid(&r.Files[i].Files[j].Path)
		}
	}
	if r.Rendered != nil {
		r.Rendered.Chart = chart
		err = r.Rendered.complete()
	}
	return r, err
}

// complete checks a result that was received, and sets its metadata.
func (r *Rendered) complete() (err error) {
	for _, h := range r.Hooks {
		if h == nil {
			return fmt.Errorf("%w: a hook is missing", errMessage)
		}
		makeValid(&h.Name, &h.Kind, &h.Path)
	}
	makeValid(&r.Failed)
	if len(r.Chart) > 0 {
		if r.Metadata, err = metadataOf(r.Chart); err != nil {
			return fmt.Errorf("%w: the metadata of the chart: %w", errMessage, err)
		}
	}
	return CheckBudget(r)
}

// makeValid replaces bytes that are not UTF-8 in text of messages, status and events. Manifests, notes
// and files keep them.
func makeValid(texts ...*string) {
	for _, text := range texts {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
}

// metadataOf returns the metadata in the JSON of a chart. It is the first field, so no other one is
// parsed.
func metadataOf(chart []byte) (*helmchart.Metadata, error) {
	d := json.NewDecoder(bytes.NewReader(chart))
	for range 2 { // the start of the chart, and the name of the field
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	var metadata *helmchart.Metadata
	return metadata, d.Decode(&metadata)
}

// EncodeGet encodes a request for FunctionGet.
func EncodeGet(g Get) ([]byte, error) { return encode(g, 0, nil) }

// DecodeAnswer decodes the result of FunctionGet.
func DecodeAnswer(message []byte) (a Answer, err error) {
	a, body, err := decode[Answer](toWorker, message)
	a.Body = body
	return a, err
}
