// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// records reads the records of releases. A helm.Runner implements it.
type records interface {
	LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
	Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest) ([]release.Object, error)
}

// existing is a revision that k3s' controller has made.
type existing struct {
	revision release.Revision
	objects  []release.Object
}

// existing returns the deployed revision of a release that k3s' controller has made: its record has
// the label of that controller. It returns nil if there is none. It reads as the identity of the
// release.
func (r *Reconciler) existing(ctx context.Context, hr *helmv2.HelmRelease) (*existing, error) {
	conn, err := r.connections.Peek(ctx, hr)
	if err != nil {
		return nil, err
	}
	target := release.Target{Name: hr.Spec.ReleaseName, Namespace: hr.Spec.TargetNamespace, StorageNamespace: hr.Spec.StorageNamespace}
	revisions, err := r.records.LiveHistory(ctx, conn, target, nil)
	if apierrors.IsForbidden(err) {
		// The HelmRelease reports which right is missing.
		return nil, nil //nolint:nilnil // there is none that the release could use
	}
	if err != nil || len(revisions) == 0 || revisions[0].Status != helmv2.StatusDeployed || revisions[0].Altered {
		return nil, err
	}
	newest := revisions[0]
	record := &metav1.PartialObjectMetadata{}
	record.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := types.NamespacedName{Namespace: target.StorageNamespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", target.Name, newest.Version)}
	if err := r.live.Get(ctx, key, record); err != nil {
		return nil, err
	}
	if _, made := record.Labels[cattlev1.LabelConfigHash]; !made {
		return nil, nil //nolint:nilnil // there is none
	}
	history := helmv2.Snapshots{{Name: newest.Name, Namespace: newest.Namespace, Version: newest.Version, Digest: newest.Digest, APIVersion: release.SnapshotScheme}}
	objects, err := r.records.Inventory(ctx, conn, helm.ReadRequest{Target: target, Version: newest.Version, Spec: hr.Spec, History: history})
	return &existing{newest, objects}, err
}
