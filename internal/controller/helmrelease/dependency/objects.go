// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"strings"
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
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/inputs"
)

const (
	// readTimeout limits the read of an object that a release depends on. A conversion webhook
	// may be slow, and a worker waits meanwhile.
	readTimeout = 10 * time.Second
	// namesakeTTL is how long a result of Namesake is kept.
	namesakeTTL = 10 * time.Minute
)

// Objects reads objects that HelmReleases depend on. They are in the controller's own cluster,
// wherever the HelmRelease is installed. Objects impersonates the identity of the HelmRelease: the
// right to write HelmReleases must not include reading Secrets of others.
type Objects struct {
	Connections *controller.ConnectionFinder
	Memory      controller.Memory[State]
	Now         func() time.Time
}

// namesake is an object of another kind with the name of a HelmRelease that does not exist.
type namesake struct {
	of    types.NamespacedName
	user  string
	kind  schema.GroupKind
	found bool
	at    time.Time
}

// connect returns the connection to the controller's own cluster as a user. It is kept also for
// HelmReleases that disable persistent clients: that field is about the cluster where they are
// installed.
func (o *Objects) connect(user string) (*cluster.Connection, error) {
	return o.Connections.Clusters.For(cluster.Identity{User: user})
}

// mapping returns the resource of a kind.
func mapping(conn *cluster.Connection, kind schema.GroupVersionKind) (*apimeta.RESTMapping, error) {
	mapper, err := conn.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Namespaced implements inputs.Objects. It reads as the controller: which kinds exist is no secret.
func (o *Objects) Namespaced(_ context.Context, kind schema.GroupVersionKind) (bool, error) {
	conn, err := o.connect("")
	if err != nil {
		return false, err
	}
	m, err := mapping(conn, kind)
	if err != nil {
		return false, err
	}
	return m.Scope.Name() == apimeta.RESTScopeNameNamespace, nil
}

// Get implements inputs.Objects.
func (o *Objects) Get(ctx context.Context, hr *helmv2.HelmRelease, object inputs.Object) (*unstructured.Unstructured, error) {
	conn, err := o.connect(o.Connections.User(hr))
	if err != nil {
		return nil, err
	}
	m, err := mapping(conn, object.Kind)
	if err != nil {
		return nil, err
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c, err := dynamic.NewForConfigAndClient(config, conn.HTTPClient())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.Resource(m.Resource).Namespace(object.Key.Namespace).Get(ctx, object.Key.Name, metav1.GetOptions{})
}

// Namesake implements inputs.Objects.
func (o *Objects) Namesake(ctx context.Context, hr *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	waiting, user := client.ObjectKeyFromObject(hr), o.Connections.User(hr)
	var known namesake
	o.Memory.With(waiting, func(s *State) { known = s.namesake })
	if known.of == key && known.user == user && o.Now().Sub(known.at) < namesakeTTL {
		return known.kind, known.found
	}
	found := namesake{of: key, user: user, at: o.Now()}
	found.kind, found.found = o.find(ctx, user, kinds, key)
	o.Memory.With(waiting, func(s *State) { s.namesake = found })
	return found.kind, found.found
}

// find reads one object of each served kind until one exists. Any error counts as none.
func (o *Objects) find(ctx context.Context, user string, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool) {
	conn, err := o.connect(user)
	if err != nil {
		return schema.GroupKind{}, false
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return schema.GroupKind{}, false
	}
	c, err := metadata.NewForConfigAndClient(config, conn.HTTPClient())
	if err != nil {
		return schema.GroupKind{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, kind := range servedKinds(conn, kinds) {
		m, err := mapping(conn, kind)
		if err != nil || m.Scope.Name() != apimeta.RESTScopeNameNamespace {
			continue
		}
		if _, err := c.Resource(m.Resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}); err == nil {
			return kind.GroupKind(), true
		}
	}
	return schema.GroupKind{}, false
}

// servedKinds returns the kinds that the server serves, each in one version. It reads discovery as
// a whole: the mapper would send a request for each kind that is not served.
func servedKinds(conn *cluster.Connection, kinds []schema.GroupKind) []schema.GroupVersionKind {
	_, apis, err := conn.Capabilities()
	if len(apis) == 0 && err != nil {
		return nil
	}
	var all []schema.GroupVersionKind
	for _, kind := range kinds {
		for _, api := range apis {
			if of := parseKind(api); of.GroupKind() == kind {
				all = append(all, of)
				break
			}
		}
	}
	return all
}

// parseKind parses "<group>/<version>/<kind>"; other texts are the zero value.
func parseKind(api string) schema.GroupVersionKind {
	parts := strings.Split(api, "/")
	if len(parts) != 3 {
		return schema.GroupVersionKind{}
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}
}
