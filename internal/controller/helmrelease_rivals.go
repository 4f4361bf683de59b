// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/desired"
	"github.com/pintle-dev/pintle/internal/release"
)

// rivals returns the other HelmReleases that ask for a release.
func (r *HelmReleaseReconciler) rivals(ctx context.Context, hr *helmv2.HelmRelease, target release.Target) ([]release.Rival, error) {
	var list helmv2.HelmReleaseList
	key := claim(hr, target.StorageNamespace, target.Name)
	if err := r.client.List(ctx, &list, client.MatchingFields{claimIndex: key}); err != nil {
		return nil, err
	}
	var rivals []release.Rival
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID == hr.UID {
			continue
		}
		rivals = append(rivals, release.Rival{
			UID: string(other.UID), Namespace: other.Namespace, Name: other.Name, Created: other.CreationTimestamp.Time,
		})
	}
	return rivals, nil
}

// claimIndex finds the HelmReleases that ask for the same Helm release.
const claimIndex = ".spec.release"

// claimKey indexes a HelmRelease by what it asks for.
func claimKey(obj client.Object) []string {
	hr, ok := obj.(*helmv2.HelmRelease)
	if !ok {
		return nil
	}
	return []string{claim(hr, hr.GetStorageNamespace(), desired.ReleaseName(hr))}
}

// claim names a release in the cluster that hr leads to. Two kubeconfigs may lead
// to the same one, which is not found out.
func claim(hr *helmv2.HelmRelease, storageNamespace, name string) string {
	where := ""
	if k := hr.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		where = strings.Join([]string{hr.Namespace, k.SecretRef.Name, k.SecretRef.Key}, "/")
	}
	return strings.Join([]string{where, storageNamespace, name}, "|")
}

// contenders wakes those that a HelmRelease has made way for, by going or by
// asking for another release.
func (r *HelmReleaseReconciler) contenders() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.wakeClaimants(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if before, after := claimKey(e.ObjectOld), claimKey(e.ObjectNew); len(before) > 0 && len(after) > 0 && before[0] != after[0] {
				r.wakeClaimants(ctx, e.ObjectOld, q)
			}
		},
	}
}

func (r *HelmReleaseReconciler) wakeClaimants(ctx context.Context, gone client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, key := range claimKey(gone) {
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
