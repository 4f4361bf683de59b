// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/rollout"
	"github.com/pintle-dev/pintle/internal/view"
)

// Rollouts returns the waves of the policies with a rollout: of a namespace and of the cluster, or of all
// namespaces if it is empty. keep, if set, selects policies. unread names what could not be read: without
// sources, releases count by their status alone.
func (r *Reader) Rollouts(ctx context.Context, namespace string, keep func(*policy.Policy) bool) (all []view.Rollout, unread []string, err error) {
	namespaced, cluster := &v1alpha1.ReleasePolicyList{}, &v1alpha1.ClusterReleasePolicyList{}
	if err := r.Client.List(ctx, namespaced, client.InNamespace(namespace)); err != nil && !apimeta.IsNoMatchError(err) {
		return nil, nil, err
	}
	if err := r.Client.List(ctx, cluster); err != nil && !apimeta.IsNoMatchError(err) {
		unread = append(unread, fmt.Sprintf("ClusterReleasePolicies are left out: %s", err))
	}
	var found []policy.Policy
	add := func(p policy.Policy) {
		if p.Spec.Rollout != nil && (keep == nil || keep(&p)) {
			found = append(found, p)
		}
	}
	for i := range cluster.Items {
		add(policy.OfCluster(&cluster.Items[i]))
	}
	for i := range namespaced.Items {
		add(policy.Of(&namespaced.Items[i]))
	}
	if len(found) == 0 {
		return nil, unread, nil
	}
	releases, err := r.Releases(ctx, "")
	if err != nil && namespace != "" {
		unread = append(unread, fmt.Sprintf("Only releases of namespace %s are counted: %s", namespace, err))
		releases, err = r.Releases(ctx, namespace)
	}
	if err != nil {
		return nil, unread, err
	}
	sources, unreadSources := r.sources(ctx, releases)
	labels, unreadLabels := r.namespaceLabels(ctx, found)
	unread = append(append(unread, unreadSources...), unreadLabels...)
	for i := range found {
		members := make([]rollout.Member, 0, len(releases.Items))
		for j := range releases.Items {
			hr := &releases.Items[j]
			kind, key := inputs.SourceOf(hr)
			m := inputs.Member(hr, sources[kind+"/"+key.String()], r.Now())
			if found[i].Spec.Rollout.By == v1alpha1.RolloutByValues {
				m.AssumeValues(inputs.ValuesObjects(hr))
			}
			m.Outside = !found[i].Selects(policy.Release{Namespace: hr.Namespace, Labels: hr.Labels, NamespaceLabels: labels[hr.Namespace]})
			members = append(members, m)
		}
		all = append(all, view.Rollouts(&found[i], members)...)
	}
	return all, unread, nil
}

// sources returns the sources of releases, by kind and name.
func (r *Reader) sources(ctx context.Context, releases *helmv2.HelmReleaseList) (sources map[string]client.Object, unread []string) {
	sources = map[string]client.Object{}
	kinds := map[string]bool{}
	for i := range releases.Items {
		kind, _ := inputs.SourceOf(&releases.Items[i])
		kinds[kind] = true
	}
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{{helmv2.KindOCIRepository, &sourcev1.OCIRepositoryList{}}, {helmv2.KindHelmChart, &sourcev1.HelmChartList{}}} {
		if !kinds[kind.name] {
			continue
		}
		err := r.Client.List(ctx, kind.list)
		if err == nil {
			err = apimeta.EachListItem(kind.list, func(o runtime.Object) error {
				if source, is := o.(client.Object); is {
					sources[kind.name+"/"+client.ObjectKeyFromObject(source).String()] = source
				}
				return nil
			})
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("Charts that releases do not have yet are left out: %s", err))
		}
	}
	return sources, unread
}

// namespaceLabels returns the labels of namespaces, if policies select by them.
func (r *Reader) namespaceLabels(ctx context.Context, policies []policy.Policy) (labels map[string]map[string]string, unread []string) {
	labels = map[string]map[string]string{}
	for i := range policies {
		if policies[i].Namespaces == nil {
			continue
		}
		all := &corev1.NamespaceList{}
		if err := r.Client.List(ctx, all); err != nil {
			return labels, []string{fmt.Sprintf("Namespaces are not selected by their labels: %s", err)}
		}
		for j := range all.Items {
			labels[all.Items[j].Name] = all.Items[j].Labels
		}
		break
	}
	return labels, nil
}
