// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// CheckTarget checks whether a job that installs could succeed after the release at old is
// uninstalled: whether the name is free, the namespaces exist, records may be created, the chart
// renders, and the API server accepts its objects. It writes nothing. Storage is read from the API
// server, never from the index.
//
// An error means that the check is incomplete, so that nothing may be uninstalled.
func (r *Runner) CheckTarget(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, old release.Target) (release.TargetCheck, error) {
	redactor := redact.New(job.Secrets)
	run, err := r.prepare(ctx, getter, job, redactor)
	if err != nil {
		return release.TargetCheck{}, redactor.Error(err)
	}
	defer run.client.Close()
	t := &targetCheck{run: run, objects: apply.TargetCheck{Client: run.client, Old: old, Redact: redactor.Text}}
	if job.Spec.Install != nil {
		t.objects.Install = *job.Spec.Install
	}
	var found release.TargetCheck
	found.Revisions, err = t.check(ctx)
	found.Revisions = release.BelieveAll(found.Revisions, job.Desired.UID, nil)
	var refused apply.Refusal
	if errors.As(err, &refused) {
		found.Refused, err = redactor.Error(redact.OneLine(refused.Unwrap())).Error(), nil
	}
	return found, redactor.Error(redact.OneLine(err))
}

// targetCheck is the state of one check.
type targetCheck struct {
	*run

	// objects checks the objects of the release, and holds the options of the install.
	objects apply.TargetCheck
	clients kubernetes.Interface
}

// check returns the revisions that are stored under the new name. A panic of Helm is an error.
func (t *targetCheck) check(ctx context.Context) (stored []release.Revision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("checking the target panicked: %v", p)
			logr.FromContextOrDiscard(ctx).Error(t.redact.Error(err), "Helm panicked", "stack", string(debug.Stack()))
		}
	}()
	stored, err = t.storedThere(ctx)
	if err != nil || len(stored) > 0 && stored[0].Status != helmv2.StatusUninstalled {
		// The caller decides by the owner of these revisions.
		return stored, err
	}
	if t.clients, err = t.client.Factory.KubernetesClientSet(); err != nil {
		return stored, err
	}
	rls, err := t.render(ctx)
	if err != nil {
		return stored, err
	}
	if err := t.namespaceExists(ctx, rls); err != nil {
		return stored, err
	}
	if err := t.recordAllowed(ctx); err != nil {
		return stored, err
	}
	return stored, t.objects.Check(ctx, rls, apply.Method{ServerSide: t.serverSide()})
}

// storedThere returns the revisions under the new name. It refuses a name whose history Helm keeps.
func (t *targetCheck) storedThere(ctx context.Context) ([]release.Revision, error) {
	target, install := t.job.Desired.Target, t.objects.Install
	if release.SameRecords(target, t.objects.Old) {
		if t.job.Spec.Uninstall != nil && t.job.Spec.Uninstall.KeepHistory && !install.Replace {
			return nil, apply.Refusef("spec.uninstall.keepHistory keeps the name %s in use, and spec.install.replace is not set", target.Name)
		}
		return nil, nil
	}
	stored, err := t.store.ListRevisions(ctx)
	if apierrors.IsForbidden(err) {
		return nil, apply.Refuse(err)
	}
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 && stored[0].Status == helmv2.StatusUninstalled && !install.Replace {
		return stored, apply.Refusef("Helm keeps the history of an uninstalled release %s in namespace %s, and spec.install.replace is not set",
			target.Name, target.StorageNamespace)
	}
	return stored, nil
}

// render returns the revision that the install would create.
func (t *targetCheck) render(ctx context.Context) (*helmrelease.Release, error) {
	c, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	files, err := t.crdsOf(ctx, c)
	if err != nil {
		return nil, ofChart(err)
	}
	if err := t.objects.ReadCRDs(files.Files); err != nil {
		return nil, apply.Refuse(err)
	}
	in := remote.Rendering{
		Chart: c, Namespace: t.job.Desired.Target.Namespace, Install: true, Revision: 1, Hooks: true,
		SkipSchemas: t.objects.Install.DisableSchemaValidation, Timeout: t.job.Desired.Policy.Install.Timeout,
	}
	if t.objects.Install.GetCRDs() != helmv2.CRDsSkip {
		in.APIs = servedBy(files.Files)
	}
	rendered, err := t.rendering(ctx, in)
	if err != nil {
		return nil, ofChart(err)
	}
	rls := t.revision(c, rendered)
	t.findings.addRevisions(rls)
	rls.Version = 1
	size, err := t.store.Precheck(rls, apply.MethodName(t.serverSide()))
	if err != nil {
		return nil, err
	}
	if err := t.checkSize(size); err != nil {
		return nil, apply.Refuse(err)
	}
	return rls, nil
}

// ofChart returns a refusal for an error that the chart or its values have caused. Other errors are
// errors of the cluster or of this process.
func ofChart(err error) error {
	var large *worker.TooLarge
	if renderFailure(err) != "" || errors.As(err, &large) {
		return apply.Refuse(err)
	}
	return err
}

func (t *targetCheck) serverSide() bool { return t.objects.Install.UseServerSideApply(t.job.Defaults) }

// namespaceExists refuses a target namespace that is missing, unless the install creates it or the
// chart contains it.
func (t *targetCheck) namespaceExists(ctx context.Context, rls *helmrelease.Release) error {
	name := t.job.Desired.Target.Namespace
	creates := t.objects.Install.CreateNamespace && t.job.Spec.TargetNamespace != ""
	ns, err := t.clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil && ns.Status.Phase == corev1.NamespaceTerminating:
		return apply.Refusef("namespace %s is being deleted", name)
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && !creates:
		// The dry runs in the namespace show whether it exists.
		return nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("read namespace %s: %w", name, err)
	case !creates:
		if apply.HasNamespace(rls.Manifest, name) {
			return nil
		}
		return apply.Refusef("namespace %s does not exist", name)
	}
	_, err = t.clients.CoreV1().Namespaces().Create(ctx, newNamespace(name),
		metav1.CreateOptions{FieldManager: helmv2.FieldManager, DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	t.objects.NewNamespace = name
	return t.objects.Answer("create namespace "+name, name, err)
}

// recordAllowed refuses a storage namespace in which the identity of the job may not create the
// record of a revision.
func (t *targetCheck) recordAllowed(ctx context.Context) error {
	target := t.job.Desired.Target
	if target.StorageNamespace == t.objects.NewNamespace {
		return nil
	}
	secret := storage.NewSecret(target.Name)
	_, err := t.clients.CoreV1().Secrets(target.StorageNamespace).Create(ctx, secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return t.objects.Answer(fmt.Sprintf("create Secret %s/%s", target.StorageNamespace, secret.Name), secret.Name, err)
}
