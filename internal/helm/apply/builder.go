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
	"github.com/pintle-dev/pintle/internal/helm/kinds"
)

// builder makes objects from manifests as Helm's client does, and with the same errors. It maps
// each group and version to a REST client once per action, not once per object. It may be used
// concurrently.
type builder struct {
	getter    genericclioptions.RESTClientGetter
	namespace string
	// origin is the HelmRelease that parse adds to the labels.
	origin Origin
	// kinds resolves the kinds in stored manifests. skipped, if set, collects the objects in them
	// whose kind is gone.
	kinds   *kinds.Resolver
	skipped *Skipped

	mu sync.Mutex
	// clients have a rate limit each, as the flags of the controller define. Actions do not share
	// clients, so that they do not wait for each other.
	clients map[apischema.GroupVersion]resource.RESTClient
}

// side states whether a manifest belongs to a stored revision or to a new one.
type side bool

const (
	// wanted manifests belong to new revisions. Each kind must be served in its version.
	wanted side = false
	// stored manifests belong to existing revisions. The API server may no longer serve a kind:
	// objects of a kind that has moved are mapped to its new group and version, and objects of a
	// kind that is gone are skipped.
	stored side = true
)

// parse reads manifests and adds the labels of the HelmRelease to the objects. The manifests keep
// their bytes, so that Helm accepts the same manifests with and without the labels.
func (b *builder) parse(manifests io.Reader, of side) (kube.ResourceList, error) {
	list, err := b.build(manifests, of)
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
func (b *builder) build(manifests io.Reader, of side) (kube.ResourceList, error) {
	mapper, err := b.getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	one := &building{builder: b, side: of, mapper: mapper, known: map[apischema.GroupVersionKind]mapped{}, list: kube.ResourceList{}}
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
	return one.list, aggregate(one.errs)
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
			return nil //nolint:nilerr // the decoder reports other errors than the end
		}
		if err := bounded.Manifest().Check(document); err != nil {
			return err
		}
	}
}

// building is the state of one build.
type building struct {
	*builder

	side   side
	mapper meta.RESTMapper
	// known are the answers of the mapper, so that a kind that does not exist is requested once.
	known map[apischema.GroupVersionKind]mapped
	list  kube.ResourceList
	errs  []error
}

// mapped is what the kind of a manifest is mapped to. Requests use version. An unknown kind has an
// error, and a hint for users.
type mapped struct {
	mapping *meta.RESTMapping
	version apischema.GroupVersion
	err     error
	hint    string
}

// aggregate returns one error for several, with the message of Helm; nil for none. Unlike an Aggregate, it
// gives errors.As access to them.
func aggregate(all []error) error {
	if len(all) == 0 {
		return nil
	}
	return buildErrors{utilerrors.NewAggregate(all)}
}

type buildErrors struct{ utilerrors.Aggregate }

// Unwrap returns the errors.
func (e buildErrors) Unwrap() []error { return e.Errors() }

func (b *building) fail(err error) { b.errs = append(b.errs, err) }

// add adds the object of a document, or the objects of a list.
func (b *building) add(raw []byte) error {
	object, gvk, err := decodeObject(raw)
	if err != nil {
		return fmt.Errorf("unable to decode \"\": %w", err)
	}
	info := newInfo(object)
	if b.side == stored && meta.IsListType(object) {
		// The list may have a version that its items do not have.
		return b.addItems(info)
	}
	switch err = b.locate(info, *gvk); {
	case errors.Is(err, errGone):
		b.skipped.add(info, *gvk)
		return nil
	case meta.IsNoMatchError(err):
		return fmt.Errorf("resource mapping not found for name: %q namespace: %q from \"\": %w\n%s", info.Name, info.Namespace, err, b.known[*gvk].hint)
	case err != nil:
		return fmt.Errorf("unable to recognize \"\": %w", err)
	case meta.IsListType(object):
		return b.addItems(info)
	}
	b.finish(info)
	return nil
}

// addItems adds the items of a list, and the items of lists in it.
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
		err = b.locate(info, gvks[0])
		if errors.Is(err, errGone) {
			b.skipped.add(info, gvks[0])
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("unable to recognize %w", err))
			continue
		}
		if list.ResourceVersion != "" {
			info.ResourceVersion = list.ResourceVersion
		}
		b.finish(info)
	}
	return aggregate(errs)
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

// finish adds an object. A namespaced object without a namespace gets the namespace of the release.
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
		known = b.mappingOf(gvk)
		b.known[gvk] = known
	}
	if known.err != nil {
		return known.err
	}
	client, err := b.client(known.version)
	if err != nil {
		return fmt.Errorf("unable to connect to a server to handle %q: %w", known.mapping.Resource, err)
	}
	info.Mapping, info.Client = known.mapping, client
	return nil
}

// errGone is the error of a kind in a stored manifest that the API server no longer serves.
var errGone = errors.New("the API server does not serve the kind")

// mappingOf maps a kind.
func (b *building) mappingOf(gvk apischema.GroupVersionKind) mapped {
	m := mapped{version: gvk.GroupVersion()}
	if b.side == wanted {
		if m.mapping, m.err = b.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(m.err) {
			m.hint = b.hint(gvk)
		}
		return m
	}
	found, err := b.kinds.Resolve(gvk)
	m.mapping, m.err = found.Mapping, err
	switch {
	case err != nil:
	case found.State == kinds.Gone:
		m.err = errGone
	case found.State == kinds.Moved:
		m.version = found.Mapping.GroupVersionKind.GroupVersion()
	}
	return m
}

// hint returns what makes a manifest valid whose kind the API server does not serve.
func (b *building) hint(gvk apischema.GroupVersionKind) string {
	if to := b.kinds.Successor(gvk); !to.Empty() {
		return fmt.Sprintf("the API server serves %s in %s, so the manifest must have that apiVersion", gvk.Kind, to)
	}
	return "ensure CRDs are installed first"
}

// remap changes the mapping of an object to the group and version in which the API server serves
// its kind. It returns errGone if the kind is gone.
func (b *builder) remap(info *resource.Info) error {
	gvk := info.Mapping.GroupVersionKind
	found, err := b.kinds.Rediscover(gvk)
	switch {
	case err != nil:
		return err
	case found.State == kinds.Gone:
		b.skipped.add(info, gvk)
		return errGone
	}
	client, err := b.client(found.Mapping.GroupVersionKind.GroupVersion())
	if err != nil {
		return err
	}
	info.Mapping, info.Client = found.Mapping, client
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
