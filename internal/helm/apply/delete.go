// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"

	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// deletion deletes objects.
type deletion struct {
	helm      *kube.Client
	log       func(format string, args ...any)
	waiter    *wait.Waiter
	ownership *ownership

	mu sync.Mutex
	// errs are the errors of an uninstall.
	errs []error
}

// uninstall deletes objects and keeps the errors. Helm replaces them by the name of the release.
func (d *deletion) uninstall(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, errs := d.deleteAll(list, policy)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs = append(d.errs, errs...)
	return result, errs
}

func (d *deletion) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.errs...)
}

// deleteAll deletes objects, kind after kind, and stores the answers. As with Helm, objects that do
// not exist count as deleted, and there is no result if there was any error.
func (d *deletion) deleteAll(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	if len(list) == 0 {
		return d.helm.DeleteWithPropagationPolicy(list, policy)
	}
	result := &kube.Result{}
	var failures []error
	for _, batch := range byKind(list) {
		for i, err := range each(batch, func(_ int, info *resource.Info) error { return d.delete(info, policy) }) {
			if err != nil {
				failures = append(failures, err)
				continue
			}
			result.Deleted.Append(batch[i])
		}
	}
	if len(failures) > 0 {
		return nil, failures
	}
	return result, nil
}

func (d *deletion) delete(info *resource.Info, policy metav1.DeletionPropagation) error {
	kind := info.Mapping.GroupVersionKind
	d.log("Starting delete for %q %s", info.Name, kind.Kind)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		answer, err := resource.NewHelper(info.Client, info.Mapping).
			DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{PropagationPolicy: &policy})
		if apierrors.IsNotFound(err) {
			d.log("Ignoring delete failure for %q %s: %v", info.Name, kind, err)
			answer, err = &metav1.Status{}, nil
		}
		if err == nil {
			d.waiter.Deleted(info, answer)
		}
		return err
	})
}

// prune deletes objects that the new revision does not contain, and returns the deleted ones. As
// with Helm, an object that cannot be deleted is logged and stays.
func (d *deletion) prune(list kube.ResourceList) kube.ResourceList {
	var deleted kube.ResourceList
	for _, info := range list {
		if err := info.Get(); err != nil {
			if !apierrors.IsNotFound(err) {
				d.log("%s is not deleted: %s", wait.ObjectName(info), err)
			}
			continue
		}
		if keeps(info.Object) {
			d.log("%s is kept, as its annotation %s asks", wait.ObjectName(info), kube.ResourcePolicyAnno)
			continue
		}
		if metadata, other := d.ownership.ofOther(info.Object); other {
			d.log("%s is not deleted: it is of Helm release %s/%s by now", wait.ObjectName(info), metadata.Namespace, metadata.Name)
			continue
		}
		if _, errs := d.deleteAll(kube.ResourceList{info}, metav1.DeletePropagationBackground); len(errs) > 0 {
			d.log("%s is not deleted: %s", wait.ObjectName(info), errors.Join(errs...))
			continue
		}
		deleted.Append(info)
	}
	return deleted
}
