// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
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

	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/release"
)

// builder makes objects from manifests as Helm's client does, and with the same errors. It maps
// each group and version to a REST client once per action, not once per object. It may be used
// concurrently.
type builder struct {
	getter    genericclioptions.RESTClientGetter
	namespace string
	// origin is the HelmRelease that parse adds to the labels.
	origin Origin

	mu sync.Mutex
	// clients have a rate limit each, as the flags of the controller define. Actions do not share
	// clients, so that they do not wait for each other.
	clients map[apischema.GroupVersion]resource.RESTClient
}

// parse reads manifests and adds the labels of the HelmRelease to the objects. The manifests keep
// their bytes, so that Helm accepts the same manifests with and without the labels.
func (b *builder) parse(manifests io.Reader) (kube.ResourceList, error) {
	list, err := b.build(manifests)
	if err != nil {
		return list, err
	}
	return list, list.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return b.origin.label(info)
	})
}

// build reads manifests. It returns an error together with the objects that could be read.
func (b *builder) build(manifests io.Reader) (kube.ResourceList, error) {
	mapper, err := b.getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	one := &building{builder: b, mapper: mapper, known: map[apischema.GroupVersionKind]mapped{}, list: kube.ResourceList{}}
	text, err := io.ReadAll(manifests)
	if err != nil {
		return nil, err
	}
	if err := checkDocuments(text); err != nil {
		return nil, fmt.Errorf("error parsing : %w", err)
	}
	stream := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
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

// checkDocuments returns an error if a document of a manifest is too large. It splits the manifest as
// the decoder does.
func checkDocuments(text []byte) error {
	if !bounded.MayRepeat(text) {
		return nil
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if err != nil {
			return nil // the decoder reports other errors than the end
		}
		if err := bounded.Manifest().Check(document); err != nil {
			return err
		}
	}
}

// Objects returns the objects of a stored manifest in the form in which they are applied. It
// returns an error together with the objects that could be read.
func (c *Client) Objects(manifest string, rls release.Target) ([]*resource.Info, error) {
	list, err := c.builder.build(strings.NewReader(manifest))
	for _, info := range list {
		if err := c.builder.origin.label(info); err != nil {
			return nil, err
		}
		setOwner(info, rls.Name, rls.Namespace)
	}
	return list, err
}

// building is the state of one build.
type building struct {
	*builder

	mapper meta.RESTMapper
	// known are the answers of the mapper, so that a kind that does not exist is requested once.
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

// addItems adds the items of a list, and those of lists in it.
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

// finish adds an object. A namespaced object without a namespace gets that of the release.
func (b *building) finish(info *resource.Info) {
	b.list = append(b.list, info)
	if info.Namespaced() && info.Namespace != "" {
		return
	}
	info.Namespace = ""
	if info.Namespaced() {
		info.Namespace = b.namespace
	}
	// It cannot fail, since the metadata have been checked.
	_ = meta.NewAccessor().SetNamespace(info.Object, info.Namespace)
}

// locate sets the mapping and the REST client for a kind.
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

// client returns the client for a group and version. All clients share the HTTP client of the
// connection, if it has one.
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
	if connection, ok := getter.(interface{ HTTPClient() *http.Client }); ok {
		return connection.HTTPClient(), nil
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

// metadataOnlyObject has the name that Helm's errors contain.
type metadataOnlyObject struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// decodeObject reads a document. Metadata of a wrong type are an error: accessors would drop
// them silently.
func decodeObject(raw []byte) (runtime.Object, *apischema.GroupVersionKind, error) {
	object, gvk, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	var check metadataOnlyObject
	return object, gvk, utiljson.Unmarshal(raw, &check)
}

// builds are the objects that Build returned during an action.
type builds struct {
	// last is the result of the last call, previous that of the call before. Helm builds the
	// objects of the previous revision first, and then those of the new one.
	last, previous kube.ResourceList
	// changed are the objects of last that are not in previous, or in another form.
	changed kube.ResourceList
	// byManifest are all results. Helm changes the objects, but not their identity.
	byManifest map[string]kube.ResourceList
	// revision are the objects of the new revision, without hooks.
	revision kube.ResourceList
}

// add stores the result of a call. Helm changes the objects afterwards, so they are compared here.
func (b *builds) add(manifest string, list kube.ResourceList) {
	if b.byManifest == nil {
		b.byManifest = map[string]kube.ResourceList{}
	}
	b.byManifest[manifest] = list
	b.previous, b.last, b.changed = b.last, list, changed(list, b.last)
}

// added returns the objects that the previous revision does not contain.
func (b *builds) added() kube.ResourceList { return b.last.Difference(b.previous) }

// areHooks reports whether a list contains hooks, and not objects of the revision.
func (b *builds) areHooks(list kube.ResourceList) bool {
	return len(list) > 0 && !slices.Contains(b.revision, list[0])
}
