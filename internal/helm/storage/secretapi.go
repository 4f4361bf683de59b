// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// secretAPI sends the requests that storage needs about the Secrets of a namespace. Only get
// transfers the data of a Secret; the other answers are metadata.
type secretAPI interface {
	get(ctx context.Context, name string) (*corev1.Secret, error)
	// list returns the selected records, unsorted, and the resourceVersion of the list.
	list(ctx context.Context, selector labels.Set) (all []record, at string, err error)
	create(ctx context.Context, secret *corev1.Secret) (record, error)
	update(ctx context.Context, secret *corev1.Secret) (record, error)
	merge(ctx context.Context, name string, patch []byte) (record, error)
	delete(ctx context.Context, name string) error
}

// secretClient is the secretAPI of an API server.
type secretClient struct {
	rest      rest.Interface
	namespace string
	// own is true for the controller's own cluster. Its lists have no pages: some versions of the API
	// server read those from etcd, and whole lists from memory.
	own bool
}

// limited returns the context of a read.
func (c secretClient) limited(ctx context.Context) context.Context {
	if c.own {
		return ctx
	}
	return apiretry.LimitedTo(ctx, maxAnswer)
}

// Limits of what the server of another cluster may answer. It may be that of a tenant.
const (
	// pageSize is the number of records that are requested at once. Nearly all lists have one page.
	pageSize = 500
	// maxAnswer limits the bytes of a page, and of a Secret. API servers store at most a mebibyte.
	maxAnswer = 8 << 20
	// maxListBytes and maxRecords limit all pages of a list together.
	maxListBytes = 32 << 20
	maxRecords   = 50_000
)

// Values of the Accept header. An API server without partial objects sends whole ones, which
// have the same metadata.
const (
	acceptSecret   = "application/vnd.kubernetes.protobuf,application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList     = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

func (c secretClient) request(r *rest.Request, accept string) *rest.Request {
	return r.Namespace(c.namespace).Resource("secrets").SetHeader("Accept", accept)
}

func (c secretClient) get(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, c.request(c.rest.Get(), acceptSecret).Name(name).Do(c.limited(ctx)).Into(secret)
}

func (c secretClient) list(ctx context.Context, selector labels.Set) ([]record, string, error) {
	all, limit := recordList{maxBytes: maxListBytes}, int64(pageSize)
	if c.own {
		// Transports limit the answer.
		all.maxBytes, limit = math.MaxInt, 0
	}
	for {
		options := metav1.ListOptions{LabelSelector: selector.String(), Limit: limit, Continue: all.next}
		raw, err := rawAnswer(c.request(c.rest.Get(), acceptList).
			VersionedParams(&options, scheme.ParameterCodec).
			Do(c.limited(ctx)))
		if err != nil {
			return nil, "", err
		}
		if err := all.add(raw); err != nil {
			return nil, "", fmt.Errorf("list of Secrets: %w", err)
		}
		if all.next == "" {
			return all.records, all.at, nil
		}
	}
}

// recordList is a list of records, which is read in pages. Of each object it keeps the record only:
// a decoded list takes many times its size.
type recordList struct {
	records []record
	// at is the resourceVersion of the list.
	at string
	// next requests the next page; empty after the last one.
	next string
	// bytes is the size of all pages, and maxBytes its limit.
	bytes, maxBytes int
}

// add adds a page.
func (l *recordList) add(page []byte) error {
	if l.bytes += len(page); l.bytes > l.maxBytes {
		return bounded.Exceeded("all pages together have more than %d bytes", l.maxBytes)
	}
	var about metav1.ListMeta
	d := json.NewDecoder(bytes.NewReader(page))
	err := eachField(d, func(name string) error {
		switch name {
		case "metadata":
			return d.Decode(&about)
		case "items":
			return l.addItems(d)
		default:
			return d.Decode(new(json.RawMessage))
		}
	})
	l.at, l.next = about.ResourceVersion, about.Continue
	return err
}

// addItems adds the elements of a list.
func (l *recordList) addItems(d *json.Decoder) error {
	start, err := d.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		var object metav1.PartialObjectMetadata
		if err := d.Decode(&object); err != nil {
			return err
		}
		rec, ok := recordOf(&object)
		if !ok {
			continue
		}
		if len(l.records) >= maxRecords {
			return bounded.Exceeded("there are more than %d records of Helm", maxRecords)
		}
		l.records = append(l.records, rec)
	}
	_, err = d.Token()
	return err
}

var errNoList = errors.New("the answer is no list")

// eachField calls read for each field of an object. It must read the value.
func eachField(d *json.Decoder, read func(name string) error) error {
	start, err := d.Token()
	if err != nil {
		return err
	}
	if start != json.Delim('{') {
		return errNoList
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		field, _ := name.(string) // the decoder returns no other type here
		if err := read(field); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func (c secretClient) create(ctx context.Context, secret *corev1.Secret) (record, error) {
	return recordFrom(c.request(c.rest.Post(), acceptMetadata).Body(secret).Do(ctx))
}

func (c secretClient) update(ctx context.Context, secret *corev1.Secret) (record, error) {
	return recordFrom(c.request(c.rest.Put(), acceptMetadata).Name(secret.Name).Body(secret).Do(ctx))
}

func (c secretClient) merge(ctx context.Context, name string, patch []byte) (record, error) {
	return recordFrom(c.request(c.rest.Patch(types.MergePatchType), acceptMetadata).Name(name).Body(patch).Do(ctx))
}

func (c secretClient) delete(ctx context.Context, name string) error {
	return c.request(c.rest.Delete(), acceptMetadata).Name(name).Do(ctx).Error()
}

// recordFrom returns the record in the answer to a write.
func recordFrom(result rest.Result) (record, error) {
	raw, err := rawAnswer(result)
	if err != nil {
		return record{}, err
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		// The write has succeeded. Without its resourceVersion the record is read again later.
		return record{}, nil //nolint:nilerr // see above
	}
	rec, _ := recordOf(&object)
	return rec, nil
}

// rawAnswer returns the body of an answer. Raw alone would return errors without their reason.
func rawAnswer(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// ErrOvertaken is the error of an update whose record another client has written in the meantime.
var ErrOvertaken = errors.New("another client has written the record")

// maxConflicts is how often a write is sent that meets conflicts without a concurrent write.
const maxConflicts = 5

// conditional sends a write that requires a resourceVersion. A conflict is no error if the API server
// has carried out an earlier try of the same write without an answer. Otherwise another client has
// written the record, which is never overwritten. Data is not compared if none was sent.
func conditional(ctx context.Context, api secretAPI, want *corev1.Secret, send func() (record, error)) (rec record, err error) {
	for range maxConflicts {
		if rec, err = send(); !apierrors.IsConflict(err) {
			return rec, err
		}
		live, unread := api.get(ctx, want.Name)
		if unread != nil {
			return record{}, unread
		}
		sameData := want.Data == nil || bytes.Equal(want.Data[dataKey], live.Data[dataKey])
		switch {
		case sameData && maps.Equal(want.Labels, live.Labels) && maps.Equal(want.Annotations, live.Annotations):
			rec, _ = recordOf(live)
			return rec, nil
		case live.ResourceVersion != want.ResourceVersion:
			return record{}, fmt.Errorf("%w: %w", ErrOvertaken, err)
		}
	}
	return rec, err
}
