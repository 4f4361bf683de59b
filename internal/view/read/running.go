// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// objects returns the objects of the release that are read, and how many more there are. While an
// action runs, these are the objects of the revision that it makes, which status does not have yet. The
// error is that they cannot be read: then the objects are those in status.
func (r *Reader) objects(ctx context.Context, hr *helmv2.HelmRelease) (objects []view.Object, more int, err error) {
	if status.Announced(hr.Status) != "" && r.Stored != nil {
		objects, err = r.madeObjects(ctx, hr)
	}
	if len(objects) == 0 {
		objects = view.Inventory(&hr.Status)
	}
	if err != nil {
		err = fmt.Errorf("of the revision that is being made: %w", err)
	}
	objects, more = r.limited(objects)
	return objects, more, err
}

// madeObjects returns the objects of the revision after the newest recorded one; none if it is not
// stored.
func (r *Reader) madeObjects(ctx context.Context, hr *helmv2.HelmRelease) ([]view.Object, error) {
	version := 1
	if len(hr.Status.History) > 0 {
		version = hr.Status.History[0].Version + 1
	}
	target := r.target(hr)
	record, err := r.Stored(ctx, target, version)
	if err != nil || record == nil {
		return nil, err
	}
	var all []view.Object
	for _, content := range manifest.Objects(record.Manifest) {
		o := unstructured.Unstructured{Object: content}
		gvk := o.GroupVersionKind()
		found := view.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
		if found.Namespace == "" && r.isNamespaced(gvk) {
			found.Namespace = target.Namespace
		}
		all = append(all, found)
	}
	return all, nil
}

func (r *Reader) isNamespaced(gvk schema.GroupVersionKind) bool {
	mapping, err := r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == apimeta.RESTScopeNameNamespace
}

// setRunning states how far the running action is.
func (x *explanation) setRunning(objects int, unready []release.UnreadyObject) {
	announced := status.Announced(x.facts.Release.Status)
	if announced == "" {
		return
	}
	x.facts.Running = &view.Running{Action: announced, Objects: objects}
	if left, known := status.TimeLeft(x.facts.Release.Status, x.facts.Now); known {
		x.facts.Running.TimeLeft = max(0, left.Round(time.Second)).String()
	}
	for _, u := range unready {
		why := u.Status
		if u.Content == nil {
			why = "does not exist yet"
		}
		o := u.Object
		x.facts.Running.Unready = append(x.facts.Running.Unready, view.Unready{
			Object: view.Object{Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Status: why,
		})
	}
}
