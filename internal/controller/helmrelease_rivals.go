// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// rivals returns the other HelmReleases that ask for a release.
func (r *HelmReleaseReconciler) rivals(ctx context.Context, hr *helmv2.HelmRelease, target release.Target) ([]release.Conflict, error) {
	var list helmv2.HelmReleaseList
	key := claim(hr, target.StorageNamespace, target.Name)
	if err := r.client.List(ctx, &list, client.MatchingFields{claimIndex: key}); err != nil {
		return nil, err
	}
	var rivals []release.Conflict
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID == hr.UID {
			continue
		}
		rivals = append(rivals, rivalOf(other, false))
	}
	return rivals, nil
}

// addMakers adds to rivals the other HelmReleases that made revisions of a release and
// ask for another one by now.
func (r *HelmReleaseReconciler) addMakers(ctx context.Context, hr *helmv2.HelmRelease, revisions []release.Revision, rivals *[]release.Conflict) error {
	known := map[string]bool{"": true, string(hr.UID): true}
	for _, rival := range *rivals {
		known[rival.UID] = true
	}
	for i := range revisions {
		uid := revisions[i].Owner
		if known[uid] {
			continue
		}
		known[uid] = true
		var list helmv2.HelmReleaseList
		if err := r.client.List(ctx, &list, client.MatchingFields{uidIndex: uid}); err != nil {
			return err
		}
		for j := range list.Items {
			*rivals = append(*rivals, rivalOf(&list.Items[j], true))
		}
	}
	return nil
}

func rivalOf(hr *helmv2.HelmRelease, elsewhere bool) release.Conflict {
	return release.Conflict{
		UID: string(hr.UID), Namespace: hr.Namespace, Name: hr.Name, Created: hr.CreationTimestamp.Time, Elsewhere: elsewhere,
	}
}

// uidIndex finds HelmReleases by UID.
const uidIndex = ".metadata.uid"

func uidKey(obj client.Object) []string { return []string{string(obj.GetUID())} }

// claimIndex finds the HelmReleases that ask for the same Helm release.
const claimIndex = ".spec.release"

// claimKey indexes a HelmRelease by what it asks for.
func claimKey(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	return []string{claim(hr, hr.GetStorageNamespace(), inputs.ReleaseName(hr))}
}

// claim names a release in the cluster that hr leads to. Two kubeconfigs may lead
// to the same one, which is not found out.
func claim(hr *helmv2.HelmRelease, storageNamespace, name string) string {
	where := ""
	if k := hr.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		where = strings.Join([]string{hr.Namespace, k.SecretRef.Name, k.SecretRef.Key}, "/")
	}
	if key, ok := workloadConfigMap(hr); ok {
		where = "ConfigMap " + key.String()
	}
	return strings.Join([]string{where, storageNamespace, name}, "|")
}

// contenders wakes those that a HelmRelease has made way for: by going, by asking
// for another release, or by having uninstalled one it does not ask for any more.
func (r *HelmReleaseReconciler) contenders() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.wakeClaimants(ctx, e.Object, claims(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			after := claims(e.ObjectNew)
			r.wakeClaimants(ctx, e.ObjectNew, slices.DeleteFunc(claims(e.ObjectOld), func(key string) bool {
				return slices.Contains(after, key)
			}), q)
		},
	}
}

// claims are what a HelmRelease asks for, and what it has.
func claims(obj client.Object) []string {
	keys := claimKey(obj)
	if hr, ok := obj.(*helmv2.HelmRelease); ok {
		if last := release.Latest(hr.Status.History); last != nil {
			keys = append(keys, claim(hr, hr.Status.StorageNamespace, last.Name))
		}
	}
	return slices.Compact(keys)
}

func (r *HelmReleaseReconciler) wakeClaimants(ctx context.Context, gone client.Object, keys []string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, key := range keys {
		var list helmv2.HelmReleaseList
		if err := r.client.List(ctx, &list, client.MatchingFields{claimIndex: key}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot tell who asks for the same release", "release", key)
			return
		}
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != gone.GetUID() {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
			}
		}
	}
}
