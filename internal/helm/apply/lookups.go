// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// lookups answers Helm's reads of new objects, by which Helm checks whether they exist. Helm reads
// one object after the other. lookups reads all objects at once. If the answer has no effect, it
// reads none, and answers that no object exists.
//
// It ends when the new revision is stored: later reads are sent to the API server.
type lookups struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one action
	builds *builds
	// before, if set, is called with the objects before they are read.
	before func(list kube.ResourceList)
	// needless, if set, reports whether the answers have no effect: existing objects are adopted,
	// and applied with requests that do not depend on their existence. Without it, all reads are
	// sent to the API server. It is called at the first read.
	needless func() bool

	first sync.Once
	// skipped is true if no object was read.
	skipped atomic.Bool
	ended   atomic.Bool
	// found are the results, by object.
	found map[*resource.Info]lookup
}

// lookup is the result of a read.
type lookup struct {
	object runtime.Object
	err    error
}

// prepare wraps the clients of objects, so that l answers the reads.
func (l *lookups) prepare(list kube.ResourceList) {
	if l.needless == nil || l.ended.Load() {
		return
	}
	for _, info := range list {
		info.Client = lookupClient{RESTClient: info.Client, lookups: l, info: info}
	}
}

// end sends all later reads to the API server.
func (l *lookups) end() { l.ended.Store(true) }

// lookupClient is the client of one object until its revision is stored.
type lookupClient struct {
	resource.RESTClient
	lookups *lookups
	info    *resource.Info
}

// Get returns a request that may be answered from memory.
func (c lookupClient) Get() *rest.Request {
	if c.lookups.ended.Load() {
		return c.RESTClient.Get()
	}
	c.lookups.first.Do(c.lookups.read)
	if c.lookups.skipped.Load() {
		return failing(c.RESTClient.Get(), apierrors.NewNotFound(c.info.Mapping.Resource.GroupResource(), c.info.Name))
	}
	f, ok := c.lookups.found[c.info]
	switch {
	case !ok:
		return c.RESTClient.Get()
	case f.err != nil:
		return failing(c.RESTClient.Get(), f.err)
	}
	return answeredRequest(c.info, f.object)
}

// read reads the objects that the last build added: Helm reads only these.
func (l *lookups) read() {
	list := l.builds.added()
	if l.before != nil {
		l.before(list)
	}
	if l.needless() {
		l.skipped.Store(true)
		return
	}
	results := make([]lookup, len(list))
	errs := each(l.ctx, list, func(i int, info *resource.Info) (err error) {
		results[i].object, err = resource.NewHelper(direct(info.Client), info.Mapping).Get(info.Namespace, info.Name)
		return err
	})
	l.found = make(map[*resource.Info]lookup, len(list))
	for i, info := range list {
		var answer apierrors.APIStatus
		results[i].err = errs[i]
		if errs[i] == nil || errors.As(errs[i], &answer) {
			l.found[info] = results[i]
		}
	}
}

var _ wait.Wrapped = lookupClient{}

// Direct returns the client that sends all requests to the API server.
func (c lookupClient) Direct() resource.RESTClient { return c.RESTClient }

// direct returns the client that sends all requests to the API server.
func direct(client resource.RESTClient) resource.RESTClient {
	if c, ok := client.(lookupClient); ok {
		return c.RESTClient
	}
	return client
}

// failing returns a request that fails with err and is never sent. Requests have no setter for an
// error, but they keep the error of an encoder.
func failing(request *rest.Request, err error) *rest.Request {
	return request.SpecificallyVersionedParams(nil, unencodable{err: err}, apischema.GroupVersion{})
}

type unencodable struct {
	runtime.ParameterCodec
	err error
}

// EncodeParameters implements runtime.ParameterCodec.
func (u unencodable) EncodeParameters(runtime.Object, apischema.GroupVersion) (url.Values, error) {
	return nil, u.err
}

// answeredRequest returns a request whose answer is an object, and which is never sent. Helm reads
// objects by *rest.Request, which is no interface, so the answer comes from a transport.
func answeredRequest(info *resource.Info, object runtime.Object) *rest.Request {
	gv := info.Mapping.GroupVersionKind.GroupVersion()
	content := resource.UnstructuredPlusDefaultContentConfig()
	return rest.NewRequestWithClient(&url.URL{Scheme: "memory", Host: "memory"}, "", rest.ClientContentConfig{
		AcceptContentTypes: content.AcceptContentTypes, ContentType: content.ContentType, GroupVersion: gv,
		Negotiator: runtime.NewClientNegotiator(content.NegotiatedSerializer, gv),
	}, &http.Client{Transport: memory{object}}).Verb(http.MethodGet)
}

// memory is a transport that answers all requests with one object.
type memory struct{ object runtime.Object }

// RoundTrip implements http.RoundTripper.
func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := encode(m.object)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(http.StatusOK), StatusCode: http.StatusOK, Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}
