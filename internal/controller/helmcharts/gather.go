// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// gather reads what a HelmChart is translated from.
func (r *Reconciler) gather(ctx context.Context, c *cattlev1.HelmChart) (helmchart.Input, error) {
	in := helmchart.Input{
		Chart: c, DefaultServiceAccount: r.defaultServiceAccount, ExternalArtifacts: r.externalArtifacts, AsK3s: r.asK3s,
		Secrets: map[string]map[string][]byte{},
	}
	var err error
	if in.Config, err = r.config(ctx, client.ObjectKeyFromObject(c)); err != nil {
		return in, err
	}
	if in.HasServiceAccount, err = r.hasServiceAccount(ctx, c); err != nil {
		return in, err
	}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(c), hr); client.IgnoreNotFound(err) != nil {
		return in, err
	}
	if metav1.IsControlledBy(hr, c) {
		in.Before = hr
	}
	// An archive is downloaded with the rights of the release, and not of the controller.
	if ref := c.Spec.RepoCAConfigMap; ref != nil && !helmchart.FromArchive(c.Spec) {
		cm := &corev1.ConfigMap{}
		found, err := r.read(ctx, c, ref.Name, cm)
		if err != nil {
			return in, err
		}
		if found {
			in.RepoCA = cm.Data
			if in.RepoCA == nil {
				in.RepoCA = map[string]string{}
			}
		}
	}
	if err := r.gatherSecrets(ctx, &in); err != nil {
		return in, err
	}
	in.Archive, err = r.archive(ctx, in)
	return in, err
}

// hasServiceAccount reports whether the ServiceAccount of a HelmChart exists. An account that is not in
// the cache may be new: without it, another account might be used.
func (r *Reconciler) hasServiceAccount(ctx context.Context, c *cattlev1.HelmChart) (bool, error) {
	name := helmchart.ServiceAccountName(c)
	if seen, err := r.seen(ctx, kindServiceAccount, c, name); seen != nil || err != nil {
		return seen != nil, err
	}
	return r.read(ctx, c, name, &corev1.ServiceAccount{})
}

// gatherSecrets reads the Secrets with ignoreUpdates, and the Secret that keeps their contents.
func (r *Reconciler) gatherSecrets(ctx context.Context, in *helmchart.Input) error {
	specs := in.Chart.Spec.ValuesSecrets
	if in.Config != nil {
		specs = append(specs[:len(specs):len(specs)], in.Config.Spec.ValuesSecrets...)
	}
	for _, s := range specs {
		if !s.IgnoreUpdates || len(s.Keys) == 0 || in.Secrets[s.Name] != nil {
			continue
		}
		secret := &corev1.Secret{}
		if _, err := r.read(ctx, in.Chart, s.Name, secret); err != nil {
			return err
		}
		in.Secrets[s.Name] = secret.Data
	}
	if len(in.Secrets) == 0 {
		return nil
	}
	secret := &corev1.Secret{}
	_, err := r.read(ctx, in.Chart, helmchart.SecretName(in.Chart), secret)
	if metav1.IsControlledBy(secret, in.Chart) {
		in.Kept = secret.Data
	}
	return err
}

// read reads an object in the namespace of a HelmChart past the cache. The translation refuses names that
// no object has.
func (r *Reconciler) read(ctx context.Context, c *cattlev1.HelmChart, name string, object client.Object) (found bool, err error) {
	if !helmchart.IsName(name) {
		return false, nil
	}
	err = r.live.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, object)
	return err == nil, client.IgnoreNotFound(err)
}

// config returns the HelmChartConfig of a HelmChart; nil if there is none.
func (r *Reconciler) config(ctx context.Context, key types.NamespacedName) (*cattlev1.HelmChartConfig, error) {
	config := &cattlev1.HelmChartConfig{}
	err := r.client.Get(ctx, key, config)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return config, err
}
