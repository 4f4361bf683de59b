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

// mapper maps kinds to resources by a catalogue. A kind that the catalogue lacks
// is looked for at the server, with one small request: charts bring kinds of
// their own, and operators do.
type mapper struct {
	catalogue *catalogue
	discovery discovery.DiscoveryInterface
}

var _ meta.ResettableRESTMapper = (*mapper)(nil)

// Reset makes the next use ask the server.
func (m *mapper) Reset() { m.catalogue.spoil() }

// RESTMapping returns how objects of a kind are reached, in one of the versions
// or the preferred one. The error is a *meta.NoKindMatchError if the server has
// no such kind.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	known, err := m.of(gk.Group)
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
		// So the catalogue is out of date, and for other kinds too.
		m.catalogue.spoil()
		return found, nil
	}
	return nil, err
}

// probe asks for versions of a group, past the catalogue: the server puts
// definitions into its own with some delay.
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

// of returns a mapper that knows a group, or knows that there is none.
func (m *mapper) of(group string) (meta.RESTMapper, error) {
	offered, err := m.catalogue.recent(m.discovery)
	if err != nil {
		return nil, err
	}
	known, ok := offered.kinds.mapping(group)
	if !ok {
		return restmapper.NewDiscoveryRESTMapper(nil), nil
	}
	return known, nil
}

// everything returns a mapper of all groups. Resources may be asked for without
// a group, and then it can be any; nothing here does so often.
func (m *mapper) everything() (meta.RESTMapper, error) {
	offered, err := m.catalogue.recent(m.discovery)
	if err != nil {
		return nil, err
	}
	return offered.kinds.all(), nil
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if _, err := m.RESTMapping(gk, versions...); err != nil {
		return nil, err
	}
	known, err := m.of(gk.Group)
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
