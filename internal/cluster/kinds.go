// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// kinds is a compact form of discovery. Clusters with thousands of CRDs are common, and releases
// use few of them. The REST mapper of a group is built at the first use of one of its kinds.
type kinds struct {
	// apis are all "<group>/<version>" and "<group>/<version>/<kind>", sorted.
	apis []string
	// groups are the API groups by name. Their versions are in the order of the server.
	groups map[string]*kindGroup
}

type kindGroup struct {
	preferred string
	versions  []kindVersion

	once   sync.Once
	mapper meta.RESTMapper
}

type kindVersion struct {
	name  string
	kinds []kind
}

type kind struct {
	name, plural, singular string
	namespaced             bool
}

func newKinds(groups []*metav1.APIGroup, resources []*metav1.APIResourceList) *kinds {
	k := &kinds{groups: make(map[string]*kindGroup, len(groups))}
	apis, served := map[string]bool{}, map[string][]kind{}
	for _, list := range resources {
		var all []kind
		for i := range list.APIResources {
			r := &list.APIResources[i]
			apis[path.Join(list.GroupVersion, r.Kind)] = true
			if !strings.Contains(r.Name, "/") {
				all = append(all, kind{strings.Clone(r.Kind), strings.Clone(r.Name), strings.Clone(r.SingularName), r.Namespaced})
			}
		}
		served[list.GroupVersion] = slices.Clip(all)
	}
	for _, group := range groups {
		g := &kindGroup{preferred: group.PreferredVersion.Version}
		for _, v := range group.Versions {
			apis[v.GroupVersion] = true
			if known, ok := served[v.GroupVersion]; ok {
				g.versions = append(g.versions, kindVersion{name: v.Version, kinds: known})
			}
		}
		k.groups[group.Name] = g
	}
	k.apis = slices.Clip(slices.Sorted(maps.Keys(apis)))
	return k
}

// mapping returns the mapper of a group, false if the server does not serve it.
func (k *kinds) mapping(group string) (meta.RESTMapper, bool) {
	g, ok := k.groups[group]
	if !ok {
		return nil, false
	}
	g.once.Do(func() {
		g.mapper = restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{g.resources(group)})
	})
	return g.mapper, true
}

// all returns a mapper of all groups. It is not cached.
func (k *kinds) all() meta.RESTMapper {
	var groups []*restmapper.APIGroupResources
	for _, name := range slices.Sorted(maps.Keys(k.groups)) {
		groups = append(groups, k.groups[name].resources(name))
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// resources returns the group in the form of client-go.
func (g *kindGroup) resources(name string) *restmapper.APIGroupResources {
	r := &restmapper.APIGroupResources{
		Group: metav1.APIGroup{
			Name:             name,
			PreferredVersion: metav1.GroupVersionForDiscovery{Version: g.preferred},
		},
		VersionedResources: map[string][]metav1.APIResource{},
	}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: name, Version: v.name}
		r.Group.Versions = append(r.Group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.name})
		resources := make([]metav1.APIResource, 0, len(v.kinds))
		for _, k := range v.kinds {
			resources = append(resources, metav1.APIResource{Kind: k.name, Name: k.plural, SingularName: k.singular, Namespaced: k.namespaced})
		}
		r.VersionedResources[v.name] = resources
	}
	return r
}
