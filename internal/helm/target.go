// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// CheckTarget checks whether a job that installs could succeed after the release at
// old is uninstalled: whether the name is free, the namespaces exist, records may be
// created, the chart renders, and the API server accepts its objects. It writes
// nothing. Storage is read from the API server, never from the index.
//
// An error means that the check is incomplete, so that nothing may be uninstalled.
func (r *Runner) CheckTarget(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, old release.Target) (release.TargetCheck, error) {
	redact := newRedactor(job.Secrets)
	run, err := r.prepare(ctx, getter, job, redact, false)
	if err != nil {
		return release.TargetCheck{}, redact.error(err)
	}
	defer run.adoption.end()
	t := &targetCheck{run: run, job: job, old: old, install: job.Spec.Install}
	if t.install == nil {
		t.install = new(installSpec)
	}
	var found release.TargetCheck
	found.Revisions, err = t.check(ctx)
	var refused refusal
	if errors.As(err, &refused) {
		found.Refused, err = redact.error(inLine(refused.error)).Error(), nil
	}
	return found, redact.error(inLine(err))
}

// refusal is an error that keeps the release from being installed, as opposed to one
// that keeps the check from being completed.
type refusal struct{ error }

func refusef(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// targetCheck is the state of one check.
type targetCheck struct {
	*run

	job     Job
	old     release.Target
	install *installSpec
	clients kubernetes.Interface
	// creates is the namespace that the install creates first; empty if it creates none.
	creates string
}

// check returns the revisions that are stored under the new name. A panic of Helm's is
// an error.
func (t *targetCheck) check(ctx context.Context) (stored []release.Revision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("checking the target panicked: %v", p)
			logr.FromContextOrDiscard(ctx).Error(t.redact.error(err), "Helm panicked", "stack", string(debug.Stack()))
		}
	}()
	stored, err = t.storedThere(ctx)
	if err != nil || len(stored) > 0 && stored[0].Status != helmv2.StatusUninstalled {
		// Whose revisions these are decides, and is for others to find out.
		return stored, err
	}
	if t.clients, err = t.client.Factory.KubernetesClientSet(); err != nil {
		return stored, err
	}
	rls, crds, err := t.render(ctx)
	if err != nil {
		return stored, err
	}
	if err := t.namespaceExists(ctx, rls); err != nil {
		return stored, err
	}
	if err := t.recordAllowed(ctx); err != nil {
		return stored, err
	}
	return stored, t.objectsAccepted(ctx, rls, crds)
}

// storedThere returns the revisions under the new name, and refuses a name that Helm
// keeps in history.
func (t *targetCheck) storedThere(ctx context.Context) ([]release.Revision, error) {
	target := t.job.Desired.Target
	if release.SameRecords(target, t.old) {
		if t.job.Spec.Uninstall != nil && t.job.Spec.Uninstall.KeepHistory && !t.install.Replace {
			return nil, refusef("spec.uninstall.keepHistory keeps the name %s in use, and spec.install.replace is not set", target.Name)
		}
		return nil, nil
	}
	stored, err := t.store.ListRevisions(ctx)
	if apierrors.IsForbidden(err) {
		return nil, refusal{err}
	}
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 && stored[0].Status == helmv2.StatusUninstalled && !t.install.Replace {
		return stored, refusef("Helm keeps the history of an uninstalled release %s in namespace %s, and spec.install.replace is not set",
			target.Name, target.StorageNamespace)
	}
	return stored, nil
}

// render returns the revision that the install would create, and the definitions in
// the crds folders of its chart.
func (t *targetCheck) render(ctx context.Context) (*helmrelease.Release, []*resource.Info, error) {
	c, err := t.load(ctx, t.job)
	if err != nil {
		return nil, nil, err
	}
	values := cloned(t.job.Values)
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return nil, nil, refusal{err}
	}
	crds, err := t.definitions(c)
	if err != nil {
		return nil, nil, refusal{err}
	}
	offered := c
	if t.install.GetCRDs() == helmv2.CRDsSkip {
		offered = &helmchart.Chart{}
	}
	again, err := t.rehearsal(t.job.Desired.Target, offered, true, 1)
	if err != nil {
		return nil, nil, err
	}
	rls, err := again.release(ctx, t.job, c, values, t.job.Desired.Policy.Install.Timeout)
	if err == nil && again.beforeStore != nil {
		// Helm post-renders hooks when it stores the revision.
		err = again.beforeStore(rls)
	}
	if err != nil {
		return nil, nil, refusal{err}
	}
	t.client.inquest.meet(rls)
	rls.Version = 1
	size, err := t.store.Precheck(rls, methodName(t.serverSide()))
	if err != nil {
		return nil, nil, err
	}
	if err := t.checkSize(size); err != nil {
		return nil, nil, refusal{err}
	}
	return rls, crds, nil
}

func (t *targetCheck) serverSide() bool { return t.install.UseServerSideApply(t.job.Defaults) }

// namespaceExists refuses a target namespace that is missing, unless the install
// creates it or the chart has it among its objects.
func (t *targetCheck) namespaceExists(ctx context.Context, rls *helmrelease.Release) error {
	name := t.job.Desired.Target.Namespace
	creates := t.install.CreateNamespace && t.job.Spec.TargetNamespace != ""
	ns, err := t.clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil && ns.Status.Phase == corev1.NamespaceTerminating:
		return refusef("namespace %s is being deleted", name)
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && !creates:
		// Dry runs in the namespace tell.
		return nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("read namespace %s: %w", name, err)
	case !creates:
		if hasNamespace(rls.Manifest, name) {
			return nil
		}
		return refusef("namespace %s does not exist", name)
	}
	ns = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
	_, err = t.clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	t.creates = name
	return t.answer("create namespace "+name, &preflight{}, &resource.Info{Name: name}, err)
}

// recordAllowed refuses a storage namespace in which the identity of the job may not
// create the record of a revision.
func (t *targetCheck) recordAllowed(ctx context.Context) error {
	target := t.job.Desired.Target
	if target.StorageNamespace == t.creates {
		return nil
	}
	secret := storage.NewSecret(target.Name)
	_, err := t.clients.CoreV1().Secrets(target.StorageNamespace).Create(ctx, secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return t.answer(fmt.Sprintf("create Secret %s/%s", target.StorageNamespace, secret.Name), &preflight{}, &resource.Info{Name: secret.Name}, err)
}
