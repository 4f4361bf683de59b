// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/watch"
)

// watcher enqueues Operations when one of the objects changes.
type watcher interface {
	WatchObjects(key types.NamespacedName, c watch.Cluster, objects []watch.Target)
	Forget(key types.NamespacedName)
}

// placementOf returns where the Jobs of a release are; nil if that is the namespace of the
// Operation.
func placementOf(own, namespace string, hr *helmv2.HelmRelease, clones []*unstructured.Unstructured) *opsv1alpha1.Placement {
	if own == namespace && hr.Spec.KubeConfig == nil {
		return nil
	}
	to := &opsv1alpha1.Placement{Namespace: namespace, ServiceAccountName: hr.Spec.ServiceAccountName}
	if c := hr.Spec.KubeConfig; c != nil {
		to.KubeConfig = &opsv1alpha1.ConnectionReference{}
		if r := c.SecretRef; r != nil {
			*to.KubeConfig = opsv1alpha1.ConnectionReference{Kind: "Secret", Name: r.Name, Key: r.Key}
		}
		if r := c.ConfigMapRef; r != nil {
			*to.KubeConfig = opsv1alpha1.ConnectionReference{Kind: "ConfigMap", Name: r.Name}
		}
	}
	for _, c := range clones {
		to.Objects = append(to.Objects, opsv1alpha1.PlacedObject{Kind: c.GetKind(), Name: c.GetName()})
	}
	return to
}

// actingRelease returns a HelmRelease with the identity and the connection of a recorded placement,
// whatever has become of the HelmRelease that they are from. Its name is not valid, so that waiting
// for a cluster does not disturb that HelmRelease.
func actingRelease(rec reconciliation) *helmv2.HelmRelease {
	to := rec.op.Status.Placement
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: rec.op.Namespace, Name: "operation/" + rec.op.Name}}
	hr.Spec.ServiceAccountName = to.ServiceAccountName
	if rec.hr != nil {
		hr.Spec.PersistentClient = rec.hr.Spec.PersistentClient
	}
	if c := to.KubeConfig; c != nil {
		// A connection whose description is gone for good is reported only for a deletion.
		hr.DeletionTimestamp = rec.op.DeletionTimestamp
		hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
		if c.Kind == "ConfigMap" {
			hr.Spec.KubeConfig.ConfigMapRef = &helmv2.LocalObjectReference{Name: c.Name}
		} else {
			hr.Spec.KubeConfig.SecretRef = &helmv2.SecretKeyReference{Name: c.Name, Key: c.Key}
		}
	}
	return hr
}

// placed reports whether an Operation has created a Job elsewhere. A label alone does not prove it,
// since it can be added to any Job; the name cannot.
func placed(op *opsv1alpha1.Operation, job *batchv1.Job) bool {
	recorded := op.Status.Outputs != nil && slices.ContainsFunc(op.Status.Outputs.Jobs, func(j opsv1alpha1.JobResult) bool {
		return j.UID == string(job.UID)
	})
	return hookjob.IsJobName(string(op.UID), job.Name) && (recorded || job.Labels[opsv1alpha1.LabelOperation] == string(op.UID))
}

// elsewhere returns rec with the Jobs and Pods at the recorded placement, or with the reason why
// they cannot be read. They are read with the impersonated identity.
func (o *observer) elsewhere(ctx context.Context, rec reconciliation) (reconciliation, error) {
	rec.in.Elsewhere.Undeleted = o.undeleted.get(rec.op.UID)
	as, err := rec.identity(ctx)
	if err != nil {
		return o.unread(ctx, rec, err)
	}
	options := []client.ListOption{
		client.InNamespace(rec.namespace()), client.MatchingLabels{opsv1alpha1.LabelOperation: string(rec.op.UID)},
	}
	var jobs batchv1.JobList
	if err := as.client.List(ctx, &jobs, options...); err != nil {
		return o.unread(ctx, rec, err)
	}
	rec.jobs = jobs.Items
	if run := running(rec.op); run != nil && !slices.ContainsFunc(rec.jobs, func(j batchv1.Job) bool { return string(j.UID) == run.UID }) {
		// The label of the Job may have been removed.
		var job batchv1.Job
		err := as.client.Get(ctx, client.ObjectKey{Namespace: rec.namespace(), Name: run.Name}, &job)
		if client.IgnoreNotFound(err) != nil {
			return o.unread(ctx, rec, err)
		}
		if err == nil {
			rec.jobs = append(rec.jobs, job)
		}
	}
	if len(rec.jobs) > 0 || running(rec.op) != nil {
		var pods corev1.PodList
		if err := as.client.List(ctx, &pods, options...); err != nil {
			return o.unread(ctx, rec, err)
		}
		rec.pods = ofJobs(rec, pods.Items)
	}
	rec.in.LivePods = operation.LivePods(rec.pods)
	var targets []watch.Target
	for i := range rec.jobs {
		rec = rec.withJob(rec.jobs[i])
		targets = append(targets, watch.Target{
			Resource: batchv1.SchemeGroupVersion.WithResource("jobs"), Namespace: rec.namespace(), Name: rec.jobs[i].Name,
		})
	}
	o.watches.WatchObjects(client.ObjectKeyFromObject(rec.op), as.watched, targets)
	return rec, nil
}

// ofJobs returns the Pods whose controller is a Job of the Operation. Other Pods may have its label.
func ofJobs(rec reconciliation, pods []corev1.Pod) []corev1.Pod {
	uids := map[types.UID]bool{}
	for i := range rec.jobs {
		uids[rec.jobs[i].UID] = placed(rec.op, &rec.jobs[i])
	}
	if o := rec.op.Status.Outputs; o != nil {
		for _, j := range o.Jobs {
			uids[types.UID(j.UID)] = true
		}
	}
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(&p)
		return owner == nil || !uids[owner.UID]
	})
}

// unread returns rec with the reason why nothing can be read at the recorded placement. In the
// controller's own cluster, a namespace that does not exist contains no Jobs.
func (o *observer) unread(ctx context.Context, rec reconciliation, err error) (reconciliation, error) {
	to, gone := rec.op.Status.Placement, errGone{}
	rec.jobs, rec.pods, rec.in.Jobs, rec.in.LivePods = nil, nil, nil, nil
	switch {
	case to.KubeConfig == nil && apierrors.IsForbidden(err):
		there := o.live.Get(ctx, client.ObjectKey{Name: to.Namespace}, &corev1.Namespace{})
		if apierrors.IsNotFound(there) {
			return rec, nil
		}
		if there != nil {
			return rec, there
		}
		missing, unknown := o.identities.missing(ctx, actingRelease(rec))
		if unknown != nil {
			return rec, unknown
		}
		rec.in.Elsewhere.Lost = missing
	case to.KubeConfig == nil:
		return rec, err
	case errors.As(err, &gone):
		rec.in.Elsewhere.Lost = true
	}
	if rec.in.Elsewhere.Unread = obstacle(err); rec.in.Elsewhere.Unread.Reason != opsv1alpha1.ReasonAccessDenied {
		rec.in.Elsewhere.Unread.Reason = opsv1alpha1.ReasonClusterUnreachable
	}
	return rec, nil
}

// placedObjects returns rec with the recorded objects that still exist. Names are recorded before
// the objects are created, and the label shows that an object of the name is the Operation's.
func (o *observer) placedObjects(ctx context.Context, rec reconciliation) (reconciliation, error) {
	for _, placed := range rec.op.Status.Placement.Objects {
		group := corev1.SchemeGroupVersion
		if placed.Kind == "Role" || placed.Kind == "RoleBinding" {
			group = rbacv1.SchemeGroupVersion
		}
		found, err := o.placedObject(ctx, rec, group.WithKind(placed.Kind), placed.Name)
		if err != nil {
			return o.unread(ctx, rec, err)
		}
		if found != nil {
			rec.companions = append(rec.companions, *found)
			rec.in.Companions = append(rec.in.Companions, placed.Kind+" "+placed.Name)
		}
	}
	return rec, nil
}

// placedObject returns the metadata of an object with the label of the Operation; nil if there is
// none.
func (o *observer) placedObject(ctx context.Context, rec reconciliation, kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
	as, err := rec.identity(ctx)
	if err != nil {
		return nil, err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	if err := as.client.Get(ctx, client.ObjectKey{Namespace: rec.namespace(), Name: name}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if object.Labels[opsv1alpha1.LabelOperation] != string(rec.op.UID) || !object.DeletionTimestamp.IsZero() {
		return nil, nil //nolint:nilnil // nothing to delete
	}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// forget drops what is kept in memory about an Operation.
func (o *observer) forget(key types.NamespacedName, uid types.UID) {
	o.watches.Forget(key)
	o.undeleted.set(uid, nil)
}

// failures stores the message of the last failure of each Operation. It may be used concurrently.
type failures struct{ byUID sync.Map }

// set stores the message of err; nil removes it.
func (f *failures) set(uid types.UID, err error) {
	if err == nil {
		f.byUID.Delete(uid)
		return
	}
	f.byUID.Store(uid, err.Error())
}

func (f *failures) get(uid types.UID) string {
	text, _ := f.byUID.Load(uid)
	message, _ := text.(string)
	return message
}
