// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// mapper maps kinds to resources by the cached capabilities. For a kind that these lack it requests
// the resources of its group and version: charts and operators create CRDs.
type mapper struct {
	cache     *discoveryCache
	discovery discovery.DiscoveryInterface
}

var _ meta.ResettableRESTMapper = (*mapper)(nil)

// Reset makes the next use request discovery.
func (m *mapper) Reset() { m.cache.invalidate() }

// RESTMapping returns the mapping of a kind in one of versions, or in the preferred one without
// any. The error is a *meta.NoKindMatchError if the server has no such kind.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	known, err := m.mapperOf(gk.Group)
	if err != nil {
		return nil, err
	}
	found, err := known.RESTMapping(gk, versions...)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	now, probeErr := m.probe(gk.Group, versions)
	if probeErr != nil {
		return nil, probeErr
	}
	if found, missing := now.RESTMapping(gk, versions...); missing == nil {
		// The cached capabilities are outdated, for other kinds too.
		m.cache.invalidate()
		return found, nil
	}
	return nil, err
}

// probe requests the resources of versions of a group, past the cache. The aggregated discovery
// of the server is delayed itself.
func (m *mapper) probe(group string, versions []string) (meta.RESTMapper, error) {
	now := &restmapper.APIGroupResources{
		Group: metav1.APIGroup{Name: group}, VersionedResources: map[string][]metav1.APIResource{},
	}
	if len(versions) == 0 {
		all, err := m.discovery.ServerGroups()
		if err != nil {
			return nil, err
		}
		for _, g := range all.Groups {
			if g.Name == group {
				for _, v := range g.Versions {
					versions = append(versions, v.Version)
				}
			}
		}
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		list, err := m.discovery.ServerResourcesForGroupVersion(gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("resources of %s: %w", gv, err)
		}
		now.Group.Versions = append(now.Group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: version})
		now.VersionedResources[version] = list.APIResources
	}
	return restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{now}), nil
}

// mapperOf returns the mapper of a group. It is empty if the server does not serve the group.
func (m *mapper) mapperOf(group string) (meta.RESTMapper, error) {
	recent, err := m.cache.recent(m.discovery)
	if err != nil {
		return nil, err
	}
	known, ok := recent.kinds.mapping(group)
	if !ok {
		return restmapper.NewDiscoveryRESTMapper(nil), nil
	}
	return known, nil
}

// everything returns a mapper of all groups. A resource without a group can belong to any, and
// such lookups are rare.
func (m *mapper) everything() (meta.RESTMapper, error) {
	recent, err := m.cache.recent(m.discovery)
	if err != nil {
		return nil, err
	}
	return recent.kinds.all(), nil
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if _, err := m.RESTMapping(gk, versions...); err != nil {
		return nil, err
	}
	known, err := m.mapperOf(gk.Group)
	if err != nil {
		return nil, err
	}
	return known.RESTMappings(gk, versions...)
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	all, err := m.everything()
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return all.KindFor(resource)
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	all, err := m.everything()
	if err != nil {
		return nil, err
	}
	return all.KindsFor(resource)
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	all, err := m.everything()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return all.ResourceFor(input)
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	all, err := m.everything()
	if err != nil {
		return nil, err
	}
	return all.ResourcesFor(input)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	all, err := m.everything()
	if err != nil {
		return "", err
	}
	return all.ResourceSingularizer(resource)
}
