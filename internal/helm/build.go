// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

// builder makes objects of manifests as Helm's client does, and with the same
// errors, but finds the way to the server once per group and version of a job, not
// once per object. It may be used concurrently.
type builder struct {
	getter    genericclioptions.RESTClientGetter
	namespace string

	mu sync.Mutex
	// clients have a limit of requests each, as the flags of the controller say: one
	// for all jobs would make them wait for each other.
	clients map[apischema.GroupVersion]resource.RESTClient
}

// build reads a stream of manifests. What could be read comes with the error.
func (b *builder) build(manifests io.Reader) (kube.ResourceList, error) {
	mapper, err := b.getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	one := &building{builder: b, mapper: mapper, known: map[apischema.GroupVersionKind]mapped{}, list: kube.ResourceList{}}
	stream := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	for {
		var document runtime.RawExtension
		if err := stream.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			one.fail(fmt.Errorf("error parsing : %w", err))
			break
		}
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		if err := one.add(raw); err != nil {
			one.fail(err)
		}
	}
	return one.list, utilerrors.NewAggregate(one.errs)
}

// building is the state of one build.
type building struct {
	*builder

	mapper meta.RESTMapper
	// known is what the mapper said, so that a kind that does not exist is looked for
	// once.
	known map[apischema.GroupVersionKind]mapped
	list  kube.ResourceList
	errs  []error
}

type mapped struct {
	mapping *meta.RESTMapping
	err     error
}

func (b *building) fail(err error) { b.errs = append(b.errs, err) }

// add adds the object of a document, or those of a list.
func (b *building) add(raw []byte) error {
	object, gvk, err := decodeObject(raw)
	if err != nil {
		return fmt.Errorf("unable to decode \"\": %w", err)
	}
	info := newInfo(object)
	switch err = b.locate(info, *gvk); {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("resource mapping not found for name: %q namespace: %q from \"\": %w\nensure CRDs are installed first", info.Name, info.Namespace, err)
	case err != nil:
		return fmt.Errorf("unable to recognize \"\": %w", err)
	case meta.IsListType(object):
		return b.addItems(info)
	}
	b.finish(info)
	return nil
}

// addItems adds what is in a list, and in the lists in it.
func (b *building) addItems(list *resource.Info) error {
	objects, err := flatten(list.Object)
	if err != nil {
		return err
	}
	typer := unstructuredscheme.NewUnstructuredObjectTyper()
	var errs []error
	for _, object := range objects {
		gvks, _, err := typer.ObjectKinds(object)
		if err != nil {
			errs = append(errs, fmt.Errorf("unable to get type info from the object \"%T\": %w", object, err))
			continue
		}
		info := newInfo(object)
		if err := b.locate(info, gvks[0]); err != nil {
			errs = append(errs, fmt.Errorf("unable to recognize %w", err))
			continue
		}
		if list.ResourceVersion != "" {
			info.ResourceVersion = list.ResourceVersion
		}
		b.finish(info)
	}
	return utilerrors.NewAggregate(errs)
}

func flatten(list runtime.Object) (objects []runtime.Object, err error) {
	for queue := []runtime.Object{list}; len(queue) > 0; queue = queue[1:] {
		if !meta.IsListType(queue[0]) {
			objects = append(objects, queue[0])
			continue
		}
		items, err := meta.ExtractList(queue[0])
		if err != nil {
			return nil, err
		}
		queue = append(queue, items...)
	}
	return objects, nil
}

// finish adds an object, in the namespace of the release if it needs one and
// names none.
func (b *building) finish(info *resource.Info) {
	b.list = append(b.list, info)
	if info.Namespaced() && info.Namespace != "" {
		return
	}
	info.Namespace = ""
	if info.Namespaced() {
		info.Namespace = b.namespace
	}
	// It cannot fail: that the metadata are some has been seen to.
	_ = meta.NewAccessor().SetNamespace(info.Object, info.Namespace)
}

// locate finds out where the server keeps objects of a kind.
func (b *building) locate(info *resource.Info, gvk apischema.GroupVersionKind) error {
	known, ok := b.known[gvk]
	if !ok {
		known.mapping, known.err = b.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		b.known[gvk] = known
	}
	if known.err != nil {
		return known.err
	}
	client, err := b.client(gvk.GroupVersion())
	if err != nil {
		return fmt.Errorf("unable to connect to a server to handle %q: %w", known.mapping.Resource, err)
	}
	info.Mapping, info.Client = known.mapping, client
	return nil
}

// client returns the client for a group and version. All share the connections of
// the getter, if it has any to share.
func (b *builder) client(gv apischema.GroupVersion) (resource.RESTClient, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if client, ok := b.clients[gv]; ok {
		return client, nil
	}
	config, err := b.getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	transport, err := httpClient(b.getter, config)
	if err != nil {
		return nil, err
	}
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, err
	}
	if b.clients == nil {
		b.clients = map[apischema.GroupVersion]resource.RESTClient{}
	}
	b.clients[gv] = client
	return client, nil
}

// httpClient returns the shared HTTP client of a connection, or a new one.
func httpClient(getter genericclioptions.RESTClientGetter, config *rest.Config) (*http.Client, error) {
	if way, ok := getter.(interface{ HTTPClient() *http.Client }); ok {
		return way.HTTPClient(), nil
	}
	return rest.HTTPClientFor(config)
}

func newInfo(object runtime.Object) *resource.Info {
	accessor := meta.NewAccessor()
	info := &resource.Info{Object: object}
	info.Name, _ = accessor.Name(object)
	info.Namespace, _ = accessor.Namespace(object)
	info.ResourceVersion, _ = accessor.ResourceVersion(object)
	return info
}

// metadataOnlyObject is called as Helm's errors call it.
type metadataOnlyObject struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// decodeObject reads a document. Metadata of wrong types are errors: accessors would
// leave them out without a word.
func decodeObject(raw []byte) (runtime.Object, *apischema.GroupVersionKind, error) {
	object, gvk, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	var check metadataOnlyObject
	return object, gvk, utiljson.Unmarshal(raw, &check)
}
