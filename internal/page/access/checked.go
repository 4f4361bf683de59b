// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Reader returns a reader of views of one HelmRelease, which the user may get. It checks the rights
// of the user before each read, and then reads with the identity of the release. It never reads
// another cluster: there, the rights of the user are not known.
func (v *Viewer) Reader(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
	remote := hr.Spec.KubeConfig != nil
	if remote {
		hr = hr.DeepCopy()
		hr.Spec.KubeConfig = nil
	}
	as, err := v.As(ctx, hr)
	if err != nil {
		return nil, v.public(err)
	}
	c := checked{Viewer: v, as: as}
	reader := &read.Reader{Client: c, Redacted: unchecked{c}, Mapper: as.Mapper, Now: v.Now}
	files := read.Once(sources{c}, maxSources)
	reader.Resolver = func(limited client.Reader) *inputs.Resolver {
		return inputs.NewResolver(limited, limited, v.Charts).WithSettings(v.Settings).WithDownloads(files, v.Now)
	}
	reader.Public = v.publicValues
	if !remote {
		reader.Examine, reader.Stored = c.examine, c.readRecord
	}
	return reader, nil
}

// checked is a client.Reader that checks the rights of the user before it reads with the identity
// of a release. It reads HelmReleases from the controller's cache.
type checked struct {
	*Viewer
	as *read.Reader
}

// Get implements client.Reader.
func (c checked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := c.check(ctx, "get", obj, key.Namespace, key.Name); err != nil {
		return c.public(err)
	}
	if _, ok := obj.(*helmv2.HelmRelease); ok {
		return c.public(c.Kept.Get(ctx, key, obj, opts...))
	}
	return c.public(c.as.Client.Get(ctx, key, obj, opts...))
}

// List implements client.Reader.
func (c checked) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if err := c.check(ctx, "list", list, options.Namespace, ""); err != nil {
		return c.public(err)
	}
	if _, ok := list.(*helmv2.HelmReleaseList); ok {
		return c.public(c.Kept.List(ctx, list, opts...))
	}
	return c.public(c.as.Client.List(ctx, list, opts...))
}

// maxSources is the number of sources of values that one page reads at the same time.
const maxSources = 4

// sources is a client.Reader that checks the rights of the user before it reads a source of values with the
// identity of the controller, as a reconciliation does.
type sources struct{ checked }

// Get implements client.Reader.
func (s sources) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := s.check(ctx, "get", obj, key.Namespace, key.Name); err != nil {
		return s.public(err)
	}
	return s.public(s.Live.Get(ctx, key, obj, opts...))
}

// unchecked is a client.Reader that reads what is removed from texts, and not shown: the rights of the
// user do not matter. Its errors are shown.
type unchecked struct{ checked }

// Get implements client.Reader.
func (u unchecked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return u.public(u.as.Client.Get(ctx, key, obj, opts...))
}

// List implements client.Reader.
func (u unchecked) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return u.public(u.as.Client.List(ctx, list, opts...))
}

// readRecord reads a release record.
func (c checked) readRecord(ctx context.Context, target release.Target, version int) (*read.Record, error) {
	if err := c.Check(ctx, toSecrets(target.StorageNamespace)); err != nil {
		return nil, c.public(err)
	}
	record, err := c.as.Stored(ctx, target, version)
	return record, c.public(err)
}

// examine reads the cause of objects whose Pods and events the user may list. Without the right to
// logs, it reads none.
func (c checked) examine(ctx context.Context, request release.DiagnosisRequest) *release.Diagnosis {
	var objects []release.UnreadyObject
	var logs error
	for _, o := range request.Objects {
		pods := authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: o.Object.Namespace}
		events := pods
		events.Resource = "events"
		if !c.may(ctx, pods) || !c.may(ctx, events) {
			continue
		}
		objects = append(objects, o)
		if err := c.Logs(ctx, o.Object.Namespace); err != nil {
			logs = c.public(err)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	request.Objects, request.Brief = objects, logs != nil
	found := c.as.Examine(ctx, request)
	if found != nil && logs != nil {
		found.Details = append(found.Details, "Logs are not shown: "+logs.Error()+".")
	}
	return found
}

// check checks a right for the kind of an object or list.
func (c checked) check(ctx context.Context, verb string, obj runtime.Object, namespace, name string) error {
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	mapping, err := c.as.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("resource of %s: %w", kind, err)
	}
	if mapping.Scope.Name() == apimeta.RESTScopeNameRoot {
		namespace = ""
	}
	return c.Check(ctx, authorizationv1.ResourceAttributes{
		Verb: verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource, Namespace: namespace, Name: name,
	})
}

// kindOf returns the kind of an object, or of the objects of a list.
func (c checked) kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(obj, c.Scheme)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind, err
}
