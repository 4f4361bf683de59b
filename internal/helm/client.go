// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const fieldManager = helmv2.FieldManager

// Options as the spec gives them, or empty.
type (
	installSpec   = helmv2.Install
	upgradeSpec   = helmv2.Upgrade
	uninstallSpec = helmv2.Uninstall
)

// client is Helm's client for objects, except for what this controller does
// better: labelling where objects come from, and waiting.
type client struct {
	*kube.Client
	// ctx ends waits. Helm's interfaces have no room for one, and a client lives
	// exactly as long as one action.
	ctx    context.Context //nolint:containedctx // see above
	origin Origin
	idle   func() (resume func())
	manner manner

	mu       sync.Mutex
	deletion []error
}

var (
	_ kube.Interface                    = (*client)(nil)
	_ kube.InterfaceExt                 = (*client)(nil)
	_ kube.InterfaceThreeWayMerge       = (*client)(nil)
	_ kube.InterfaceDeletionPropagation = (*client)(nil)
)

// IsReachable asks nothing: the requests that follow will tell.
func (c *client) IsReachable() error { return nil }

// Build parses manifests and labels every object with its HelmRelease. The
// labels are added to the parsed objects, so that manifests keep their bytes:
// what Helm accepts is never refused for them.
func (c *client) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	list, err := c.Client.Build(reader, validate)
	if err != nil {
		return list, err
	}
	return list, list.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return c.label(info)
	})
}

func (c *client) label(info *resource.Info) error {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", info.Mapping.GroupVersionKind.Kind, info.ObjectName(), err)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[helmv2.LabelName] = c.origin.Name
	labels[helmv2.LabelNamespace] = c.origin.Namespace
	object.SetLabels(labels)
	return nil
}

// DeleteWithPropagationPolicy deletes objects and keeps the errors, which Helm's
// uninstall reduces to the name of the release.
func (c *client) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, errs := c.Client.DeleteWithPropagationPolicy(list, policy)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deletion = append(c.deletion, errs...)
	return result, errs
}

func (c *client) deletionErrors() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.deletion...)
}

// inventory lists the objects of the newest revision that was stored. It asks
// nothing of the server that rendering has not asked already.
func (r *run) inventory() []release.Object {
	manifest, ok := r.store.newestManifest()
	if !ok {
		return nil
	}
	list, err := r.client.Client.Build(manifest, false)
	if err != nil {
		r.logs.printf("inventory of the release: %s", err)
		return nil
	}
	objects := make([]release.Object, 0, len(list))
	for _, info := range list {
		gvk := info.Mapping.GroupVersionKind
		o := release.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: info.Name}
		if info.Namespaced() {
			o.Namespace = info.Namespace
		}
		objects = append(objects, o)
	}
	return objects
}

func alreadyExists(err error) bool { return apierrors.IsAlreadyExists(err) }
