// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// demoLabel marks the namespace that the demo may remove.
const demoLabel = "pintle.dev/demo"

// checkExisting rejects an existing cluster in which the demo cannot run or would affect other
// objects.
func checkExisting(ctx context.Context, kubeconfig string) error {
	c, err := harness.Connect(kubeconfig)
	if err != nil {
		return err
	}
	err = c.List(ctx, &sourcev1.OCIRepositoryList{}, client.Limit(1))
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("the cluster of %s has no source-controller (OCIRepository of %s is unknown to it): install it first",
			kubeconfig, sourcev1.GroupVersion)
	}
	if err != nil {
		return fmt.Errorf("the cluster of %s: %w", kubeconfig, err)
	}
	ns := &corev1.Namespace{}
	err = c.Get(ctx, client.ObjectKey{Name: namespace}, ns)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, ours := ns.Labels[demoLabel]; !ours {
		return fmt.Errorf("the cluster of %s has a namespace %s without the label of the demo, which would remove it at its end", kubeconfig, namespace)
	}
	return nil
}

// remove removes the demo from an existing cluster. The CRD stays, since its removal would delete
// all HelmReleases.
func (d *demo) remove(ctx context.Context) error {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: d.release.Namespace, Name: d.release.Name}}
	if d.release.Name == "" {
		return nil
	}
	if err := client.IgnoreNotFound(d.env.Client.Delete(ctx, hr)); err != nil {
		return fmt.Errorf("remove the demo: %w", err)
	}
	// The release is deleted first, since the controller has to uninstall it.
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := d.env.Until(limited, "HelmRelease "+d.release.String()+" to be gone", func() (string, bool) {
		err := d.env.Client.Get(ctx, d.release, hr)
		if err != nil {
			return err.Error(), apierrors.IsNotFound(err)
		}
		return harness.Summary(hr), false
	})
	if err != nil {
		return err
	}
	d.say("the demo is out of the cluster; the CRD of HelmRelease stays")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	return client.IgnoreNotFound(d.env.Client.Delete(ctx, ns))
}
