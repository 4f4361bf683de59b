// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// looks answers Helm, which asks for every new object, one after the other,
// whether it exists. It asks for all of them at once, or for none, where the
// answer changes nothing.
//
// It ends when the new revision is stored: what exists from then on is asked of
// the API server.
type looks struct {
	client *client
	// needless tells, once Helm begins to ask, that whatever is there is taken over,
	// and applied in a way that need not know whether it is.
	needless func() bool

	first sync.Once
	// away is true if objects were not read, and Helm was told that none exists.
	away atomic.Bool
	over atomic.Bool
	// found is what was there, by object.
	found map[*resource.Info]finding
}

// finding is the answer to a look.
type finding struct {
	object runtime.Object
	err    error
}

// lookFor makes the job answer Helm's questions about what exists.
func (r *run) lookFor(needless func() bool) {
	r.client.looks = &looks{client: r.client, needless: needless}
}

// prepare lets the objects of a list be looked for through l; a nil l does nothing.
func (l *looks) prepare(list kube.ResourceList) {
	if l == nil || l.over.Load() {
		return
	}
	for _, info := range list {
		info.Client = lookingClient{RESTClient: info.Client, looks: l, info: info}
	}
}

// end makes every look from now on one at the API server.
func (l *looks) end() {
	if l != nil {
		l.over.Store(true)
	}
}

// lookedAway reports whether Helm was told that nothing exists.
func (l *looks) lookedAway() bool { return l != nil && l.away.Load() }

// lookingClient is the client of one object as long as Helm asks whether it exists.
type lookingClient struct {
	resource.RESTClient
	looks *looks
	info  *resource.Info
}

// Get begins a request that may be answered from memory.
func (c lookingClient) Get() *rest.Request {
	if c.looks.over.Load() {
		return c.RESTClient.Get()
	}
	c.looks.first.Do(c.looks.all)
	if c.looks.away.Load() {
		return failing(c.RESTClient.Get(), apierrors.NewNotFound(c.info.Mapping.Resource.GroupResource(), c.info.Name))
	}
	f, ok := c.looks.found[c.info]
	switch {
	case !ok:
		return c.RESTClient.Get()
	case f.err != nil:
		return failing(c.RESTClient.Get(), f.err)
	}
	return remembered(c.info, f.object)
}

// all looks for what is new in the list that Helm asks about, which is the one
// that was built last.
func (l *looks) all() {
	asked := l.client.built.Difference(l.client.previous)
	l.client.adoption.claim(asked)
	if l.needless() {
		l.away.Store(true)
		return
	}
	found := make([]finding, len(asked))
	each(asked, func(i int, info *resource.Info) error {
		found[i].object, found[i].err = resource.NewHelper(direct(info.Client), info.Mapping).Get(info.Namespace, info.Name)
		return nil
	})
	l.found = make(map[*resource.Info]finding, len(asked))
	for i, info := range asked {
		var answer apierrors.APIStatus
		if found[i].err == nil || errors.As(found[i].err, &answer) {
			l.found[info] = found[i]
		}
	}
}

var _ wait.Wrapped = lookingClient{}

// Direct returns the client that sends all requests to the API server.
func (c lookingClient) Direct() resource.RESTClient { return c.RESTClient }

// direct returns the client that asks the API server.
func direct(client resource.RESTClient) resource.RESTClient {
	if c, ok := client.(lookingClient); ok {
		return c.RESTClient
	}
	return client
}

// failing makes a request one that ends with err and is never sent. A request
// cannot be given an error, but it takes what goes wrong when it is put together.
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

// remembered returns a request that is answered with an object and never sent.
func remembered(info *resource.Info, object runtime.Object) *rest.Request {
	gv := info.Mapping.GroupVersionKind.GroupVersion()
	content := resource.UnstructuredPlusDefaultContentConfig()
	return rest.NewRequestWithClient(&url.URL{Scheme: "memory", Host: "memory"}, "", rest.ClientContentConfig{
		AcceptContentTypes: content.AcceptContentTypes, ContentType: content.ContentType, GroupVersion: gv,
		Negotiator: runtime.NewClientNegotiator(content.NegotiatedSerializer, gv),
	}, &http.Client{Transport: memory{object}}).Verb(http.MethodGet)
}

// memory is a transport that answers everything with one object.
type memory struct{ object runtime.Object }

// RoundTrip implements http.RoundTripper.
func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := encodeObject(m.object)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(http.StatusOK), StatusCode: http.StatusOK, Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}

// encodeObject returns an object as JSON. Going through encoding/json would encode
// it and read the result once more.
func encodeObject(object runtime.Object) ([]byte, error) {
	if _, ok := object.(*unstructured.Unstructured); ok {
		return runtime.Encode(unstructured.UnstructuredJSONScheme, object)
	}
	return json.Marshal(object)
}

// objectKey tells objects apart, whatever version of their API they are written in.
type objectKey struct {
	kind            apischema.GroupKind
	namespace, name string
}

func keyOfInfo(info *resource.Info) objectKey {
	return objectKey{kind: info.Mapping.GroupVersionKind.GroupKind(), namespace: info.Namespace, name: info.Name}
}
