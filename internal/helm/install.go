// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
)

// install returns the settings of an install.
func (r *run) install(ctx context.Context, a release.Install) settings {
	spec := r.job.Spec.GetInstall()
	target := r.job.Desired.Target
	s := settings{
		installs: true, timeout: a.Timeout, mode: apply.ModeOf(spec.UseServerSideApply(r.job.Defaults)), crds: spec.GetCRDs(),
		takeOwnership: !spec.DisableTakeOwnership, validate: !spec.DisableOpenAPIValidation, insist: a.Insist, skipSchemas: spec.DisableSchemaValidation,
		hooks: !spec.DisableHooks, event: helmrelease.HookPreInstall,
	}
	if spec.CreateNamespace && r.job.Spec.TargetNamespace != "" {
		s.enter = func() error { return r.createNamespace(ctx, target.Namespace) }
	}
	s.start = func(config *action.Configuration, text render.Text) error {
		i := action.NewInstall(config)
		i.ReleaseName = target.Name
		i.Namespace = target.Namespace
		i.Timeout = a.Timeout
		i.TakeOwnership = !spec.DisableTakeOwnership
		i.Wait = !spec.DisableWait
		i.WaitForJobs = !spec.DisableWaitForJobs
		i.DisableHooks = spec.DisableHooks
		i.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
		i.Replace = spec.Replace
		i.PostRenderer = text
		i.Devel = true
		// The pipeline applies the CRDs, for install and upgrade alike.
		i.SkipCRDs = true
		_, err := i.Run(text.Chart(), map[string]any{})
		return err
	}
	return s
}

// createNamespace creates the namespace of the release if it is missing. It reads the namespace
// first, since an identity may be allowed to install into a namespace and not to create one. Helm
// would create it with the labels of an object of the release, and would never delete it.
func (r *run) createNamespace(ctx context.Context, name string) error {
	clients, err := r.client.Factory.KubernetesClientSet()
	if err != nil {
		return err
	}
	namespaces := clients.CoreV1().Namespaces()
	_, unread := namespaces.Get(ctx, name, metav1.GetOptions{})
	if unread == nil {
		return nil
	}
	if !apierrors.IsNotFound(unread) && !apierrors.IsForbidden(unread) {
		return fmt.Errorf("read namespace %s: %w", name, unread)
	}
	_, err = namespaces.Create(ctx, newNamespace(name), metav1.CreateOptions{FieldManager: helmv2.FieldManager})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if apierrors.IsForbidden(unread) && apierrors.IsForbidden(err) && r.client.Preflight.AcceptsObjects(name) {
		return nil
	}
	return fmt.Errorf("create namespace %s: %w", name, err)
}

// newNamespace returns a namespace with the label that Helm adds.
func newNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
}
