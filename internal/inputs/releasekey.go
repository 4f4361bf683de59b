// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// KubeconfigSecret returns the Secret with the kubeconfig of hr, if hr names one.
func KubeconfigSecret(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.SecretRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.SecretRef.Name}, true
}

// KubeconfigConfigMap returns the ConfigMap that describes the cluster of hr, if hr names one.
func KubeconfigConfigMap(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.ConfigMapRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.ConfigMapRef.Name}, true
}

// ReleaseKey identifies a Helm release in the cluster of hr. Two kubeconfigs for the same
// cluster make different keys.
func ReleaseKey(hr *helmv2.HelmRelease, namespace, name string) string {
	in := ""
	if k := hr.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		in = strings.Join([]string{hr.Namespace, k.SecretRef.Name, k.SecretRef.Key}, "/")
	}
	if key, ok := KubeconfigConfigMap(hr); ok {
		in = "ConfigMap " + key.String()
	}
	return strings.Join([]string{in, namespace, name}, "|")
}

// RequestedKey returns the ReleaseKey of the release that the spec requests, with the namespace of its
// storage.
func RequestedKey(hr *helmv2.HelmRelease) string {
	return ReleaseKey(hr, hr.GetStorageNamespace(), ReleaseName(hr))
}

// HistoryKeys returns the keys of the Helm releases that the spec requests or the history contains:
// ReleaseKey with the namespace of the release, which is in the ownership metadata.
func HistoryKeys(hr *helmv2.HelmRelease) []string {
	keys := append(RecordedKeys(hr), ReleaseKey(hr, hr.GetReleaseNamespace(), ReleaseName(hr)))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// RecordedKeys returns the HistoryKeys that follow from the history.
func RecordedKeys(hr *helmv2.HelmRelease) []string {
	var keys []string
	for _, s := range hr.Status.History {
		if s != nil {
			keys = append(keys, ReleaseKey(hr, s.Namespace, s.Name))
		}
	}
	return keys
}

// OwnerReader finds the HelmReleases of other Helm releases.
type OwnerReader struct {
	// ByHistory returns the HelmReleases whose HistoryKeys contain a key.
	ByHistory func(ctx context.Context, key string) ([]helmv2.HelmRelease, error)
	// Live reads past the cache.
	Live client.Reader
}

// OfObjects returns a function that finds the HelmReleases of other Helm releases in the cluster
// of hr by the ownership metadata of an object. One of another namespace counts only if its history
// has the release and the labels of the object name it: otherwise its spec could keep objects from
// others that it has never written. ByHistory may not know HelmReleases of other shards and
// namespaces: one of them is read if the labels name it.
func (o OwnerReader) OfObjects(hr *helmv2.HelmRelease) func(context.Context, release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
	return func(ctx context.Context, marks release.OwnershipMetadata) ([]release.OwnerCandidate, error) {
		key := ReleaseKey(hr, marks.Namespace, marks.Name)
		found, err := o.ByHistory(ctx, key)
		if err != nil {
			return nil, err
		}
		var all []release.OwnerCandidate
		add := func(other *helmv2.HelmRelease) {
			near := other.Namespace == hr.Namespace
			origin := other.Namespace == marks.OriginNamespace && other.Name == marks.OriginName
			if other.UID != hr.UID && (near || origin && slices.Contains(RecordedKeys(other), key)) {
				all = append(all, ownerCandidateOf(other, near))
			}
		}
		for i := range found {
			add(&found[i])
		}
		if len(all) > 0 || marks.OriginName == "" || marks.OriginNamespace == "" {
			return all, nil
		}
		var origin helmv2.HelmRelease
		err = o.Live.Get(ctx, client.ObjectKey{Namespace: marks.OriginNamespace, Name: marks.OriginName}, &origin)
		if err == nil && slices.Contains(HistoryKeys(&origin), key) {
			add(&origin)
		}
		return all, client.IgnoreNotFound(err)
	}
}

func ownerCandidateOf(hr *helmv2.HelmRelease, near bool) release.OwnerCandidate {
	c := release.OwnerCandidate{Namespace: hr.Namespace, Name: hr.Name, Near: near, StorageNamespaces: []string{hr.GetStorageNamespace()}}
	if was := hr.Status.StorageNamespace; was != "" && was != c.StorageNamespaces[0] {
		c.StorageNamespaces = append(c.StorageNamespaces, was)
	}
	return c
}
