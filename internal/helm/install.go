// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

func (r *run) install(ctx context.Context, job Job, a release.Install) error {
	c, err := r.load(ctx, job)
	if err != nil {
		return err
	}
	renderer, err := r.postRenderer(job)
	if err != nil {
		return err
	}
	spec := job.Spec.Install
	if spec == nil {
		spec = new(installSpec)
	}
	if spec.CreateNamespace && job.Spec.TargetNamespace != "" {
		r.gate.enter = func() error { return r.createNamespace(ctx, job.Desired.Target.Namespace) }
	}
	serverSide := spec.UseServerSideApply(job.Defaults)
	r.limitRecord()
	ahead := precheck{policy: spec.GetCRDs(), install: true, values: job.Values, mode: modeOf(serverSide), timeout: a.Timeout}
	if err := r.precheckSize(ctx, job, c, ahead); err != nil {
		return err
	}
	plan := crdPlan{policy: spec.GetCRDs(), timeout: a.Timeout, serverSide: func() (bool, error) { return serverSide, nil }}
	if err := r.applyCRDs(c, job.Values, plan); err != nil {
		return err
	}
	if err := r.discover(); err != nil {
		return err
	}
	r.chooseMethod(modeOf(serverSide), 0, false)
	r.lookFor(func() bool { return serverSide && !spec.DisableTakeOwnership && !spec.DisableOpenAPIValidation })
	r.leaveOthers()
	if !spec.DisableOpenAPIValidation {
		r.checkBefore(helmrelease.HookPreInstall, spec.DisableHooks)
	}
	i := action.NewInstall(r.config)
	i.ReleaseName = job.Desired.Target.Name
	i.Namespace = job.Desired.Target.Namespace
	i.Timeout = a.Timeout
	i.TakeOwnership = !spec.DisableTakeOwnership
	i.Wait = !spec.DisableWait
	i.WaitForJobs = !spec.DisableWaitForJobs
	i.DisableHooks = spec.DisableHooks
	i.DisableOpenAPIValidation = spec.DisableOpenAPIValidation
	i.SkipSchemaValidation = spec.DisableSchemaValidation
	i.Replace = spec.Replace
	i.PostRenderer = renderer
	i.EnableDNS = job.AllowDNS
	i.Devel = true
	// The crds folder is handled above, for install and upgrade alike.
	i.SkipCRDs = true
	return r.admitted(r.sandboxed(ctx, job, c, a.Timeout, spec.DisableSchemaValidation, func() error {
		_, err := i.Run(c, job.Values)
		return err
	}))
}

// load returns the chart under its effective version.
func (r *run) load(ctx context.Context, job Job) (*helmchart.Chart, error) {
	c, err := r.charts.Load(ctx, job.Artifact)
	if err != nil {
		return nil, fmt.Errorf("could not load chart: %w", err)
	}
	c.Metadata.Version = job.Desired.Chart.Version
	return c, nil
}

// createNamespace creates the release's namespace if it is missing. It reads the
// namespace first, since an identity may be allowed to install into a namespace and not
// to create one. Helm would create it through Build, labelled as an object of the release,
// and nothing would ever delete it.
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
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
	_, err = namespaces.Create(ctx, ns, metav1.CreateOptions{FieldManager: fieldManager})
	if err == nil || alreadyExists(err) {
		return nil
	}
	if apierrors.IsForbidden(unread) && apierrors.IsForbidden(err) && r.acceptsObjects(name) {
		return nil
	}
	return fmt.Errorf("create namespace %s: %w", name, err)
}
