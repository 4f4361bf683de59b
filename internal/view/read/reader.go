// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/doctor"
)

// Scheme returns a scheme with all kinds that views are made of.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, helmv2.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme,
		sourcev1.AddToScheme, cattlev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Reader reads facts. It is safe for concurrent use.
type Reader struct {
	Client client.Reader
	// Redacted reads the Secrets whose values are removed from texts, and which are not shown. Nil is
	// Client.
	Redacted client.Reader
	// Mapper maps kinds to resources.
	Mapper apimeta.RESTMapper
	// Allowed reports whether a user has a right.
	Allowed Allowed
	// Examine reads the Pods, events and logs of objects that are not ready. Nil leaves them out.
	Examine Examine
	// Stored reads release records.
	Stored Stored
	// Resolver returns a resolver of values that reads ConfigMaps and Secrets through a client. Nil is one
	// that reads no files of sources.
	Resolver func(client.Reader) *inputs.Resolver
	// Public returns an error whose text the user may see. Nil returns all as they are.
	Public func(err error) error
	// Limits bound the requests of one view.
	Limits Limits
	Now    func() time.Time
}

// Limits bound the requests of one view. Zero is no limit. What is left out is listed as not read.
type Limits struct {
	// Objects is the maximum of the objects of a release that are read.
	Objects int
	// Namespaces is the maximum of namespaces in which the objects are listed that others own. With a
	// maximum, only the first page of each list is read.
	Namespaces int
}

// limited returns the objects of a release that are read, and how many more there are.
func (r *Reader) limited(objects []view.Object) (read []view.Object, more int) {
	if limit := r.Limits.Objects; limit > 0 && len(objects) > limit {
		return objects[:limit], len(objects) - limit
	}
	return objects, 0
}

// tooMany is the error for objects beyond a limit: their number.
type tooMany int

func (n tooMany) Error() string {
	return fmt.Sprintf("%d more are left out, because of their number", int(n))
}

// pageSize is the number of objects that one answer of the API server has.
const pageSize = 500

// Releases returns the HelmReleases of a namespace, or of all namespaces if it is empty, and the
// resource version of the list.
func (r *Reader) Releases(ctx context.Context, namespace string) (*helmv2.HelmReleaseList, error) {
	all := &helmv2.HelmReleaseList{}
	options := &client.ListOptions{Namespace: namespace, Limit: pageSize}
	for {
		page := &helmv2.HelmReleaseList{}
		if err := r.Client.List(ctx, page, options); err != nil {
			return nil, err
		}
		all.Items, all.ListMeta = append(all.Items, page.Items...), page.ListMeta
		if options.Continue = page.Continue; page.Continue == "" {
			return all, nil
		}
	}
}

// Release returns one HelmRelease.
func (r *Reader) Release(ctx context.Context, namespace, name string) (*helmv2.HelmRelease, error) {
	hr := &helmv2.HelmRelease{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hr); err != nil {
		return nil, err
	}
	return hr, nil
}

// Secrets returns the texts in the Secrets of spec.valuesFrom, so that outputs can be redacted.
func (r *Reader) Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error) {
	return r.redactingResolver().Secrets(ctx, hr)
}

// redactingResolver returns a resolver of values that are removed from texts.
func (r *Reader) redactingResolver() *inputs.Resolver {
	if r.Redacted != nil {
		return inputs.NewResolver(r.Redacted, r.Redacted, nil)
	}
	return inputs.NewResolver(r.Client, r.Client, nil)
}

// examination collects facts.
type examination struct {
	*Reader
	facts doctor.Facts
}

// unread records that a resource could not be read, once.
func (d *examination) unread(resource string, err error) {
	if !slices.ContainsFunc(d.facts.Unread, func(u doctor.Unread) bool { return u.Resource == resource }) {
		d.facts.Unread = append(d.facts.Unread, doctor.Unread{Resource: resource, Error: strings.Join(strings.Fields(err.Error()), " ")})
	}
}
