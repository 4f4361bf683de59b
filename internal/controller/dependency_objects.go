// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/inputs"
)

const (
	// readTimeout bounds the read of an object that a release depends on: whoever
	// converts objects of its kind may take its time, and a worker waits meanwhile.
	readTimeout = 10 * time.Second
	// namesakesFor is how long it is known whether something else has the name of a
	// HelmRelease that does not exist.
	namesakesFor = 10 * time.Minute
)

// dependencyObjects reads objects that HelmReleases depend on, in the controller's own
// cluster and as whom those act as, wherever they are installed: who may write a
// HelmRelease must not learn by it what is in a Secret that nobody has shown them.
type dependencyObjects struct {
	where *whereabouts
	now   func() time.Time

	mu sync.Mutex
	// namesakes is what was found for each HelmRelease.
	namesakes map[types.NamespacedName]namesake
}

// namesake is what has the name of a HelmRelease that does not exist.
type namesake struct {
	of    types.NamespacedName
	user  string
	kind  schema.GroupKind
	found bool
	at    time.Time
}

// way returns the connection to the controller's own cluster as a user. It is kept also
// for those that want none of theirs kept: it does not lead to where they are installed.
func (d *dependencyObjects) way(user string) (*cluster.Connection, error) {
	return d.where.clusters.For(cluster.Identity{User: user})
}

// mapping returns how objects of a kind are reached.
func mapping(way *cluster.Connection, kind schema.GroupVersionKind) (*apimeta.RESTMapping, error) {
	mapper, err := way.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Namespaced implements desired.Objects. What kinds there are is no secret.
func (d *dependencyObjects) Namespaced(_ context.Context, kind schema.GroupVersionKind) (bool, error) {
	way, err := d.way("")
	if err != nil {
		return false, err
	}
	m, err := mapping(way, kind)
	if err != nil {
		return false, err
	}
	return m.Scope.Name() == apimeta.RESTScopeNameNamespace, nil
}

// Get implements desired.Objects.
func (d *dependencyObjects) Get(ctx context.Context, hr *helmv2.HelmRelease, object inputs.Object) (*unstructured.Unstructured, error) {
	way, err := d.way(d.where.user(hr))
	if err != nil {
		return nil, err
	}
	m, err := mapping(way, object.Kind)
	if err != nil {
		return nil, err
	}
	config, err := way.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c, err := dynamic.NewForConfigAndClient(config, way.HTTPClient())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.Resource(m.Resource).Namespace(object.Key.Namespace).Get(ctx, object.Key.Name, metav1.GetOptions{})
}

// Namesake implements desired.Objects.
func (d *dependencyObjects) Namesake(ctx context.Context, hr *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	waiting, user := client.ObjectKeyFromObject(hr), d.where.user(hr)
	d.mu.Lock()
	known, ok := d.namesakes[waiting]
	d.mu.Unlock()
	if ok && known.of == key && known.user == user && d.now().Sub(known.at) < namesakesFor {
		return known.kind, known.found
	}
	found := namesake{of: key, user: user, at: d.now()}
	found.kind, found.found = d.look(ctx, user, kinds, key)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.namesakes == nil {
		d.namesakes = map[types.NamespacedName]namesake{}
	}
	d.namesakes[waiting] = found
	return found.kind, found.found
}

// look asks for one object of each kind that is served, until there is one. Whatever
// goes wrong, it is as if there were none.
func (d *dependencyObjects) look(ctx context.Context, user string, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	way, err := d.way(user)
	if err != nil {
		return schema.GroupKind{}, false
	}
	config, err := way.ToRESTConfig()
	if err != nil {
		return schema.GroupKind{}, false
	}
	c, err := metadata.NewForConfigAndClient(config, way.HTTPClient())
	if err != nil {
		return schema.GroupKind{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, kind := range served(way, kinds) {
		m, err := mapping(way, kind)
		if err != nil || m.Scope.Name() != apimeta.RESTScopeNameNamespace {
			continue
		}
		if _, err := c.Resource(m.Resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}); err == nil {
			return kind.GroupKind(), true
		}
	}
	return schema.GroupKind{}, false
}

// served returns those of the kinds that the server offers, in some version. It asks
// for none of them: one that is not there would be a request each time.
func served(way *cluster.Connection, kinds []schema.GroupKind) []schema.GroupVersionKind {
	_, apis, err := way.Capabilities()
	if len(apis) == 0 && err != nil {
		return nil
	}
	var all []schema.GroupVersionKind
	for _, kind := range kinds {
		for _, api := range apis {
			if of := offered(api); of.GroupKind() == kind {
				all = append(all, of)
				break
			}
		}
	}
	return all
}

// offered reads "<group>/<version>/<kind>"; anything else is nothing.
func offered(api string) schema.GroupVersionKind {
	parts := strings.Split(api, "/")
	if len(parts) != 3 {
		return schema.GroupVersionKind{}
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}
}

// forget forgets what was found for a HelmRelease.
func (d *dependencyObjects) forget(key types.NamespacedName) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.namesakes, key)
}
