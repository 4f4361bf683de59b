// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"
)

// Delete deletes objects, and lets the cluster delete what belongs to them.
func (c *client) Delete(list kube.ResourceList) (*kube.Result, []error) {
	return c.deleteAll(list, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy deletes objects and keeps the errors, which Helm's
// uninstall reduces to the name of the release.
func (c *client) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, errs := c.deleteAll(list, policy)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deletion = append(c.deletion, errs...)
	return result, errs
}

func (c *client) deletionErrors() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.deletion...)
}

// deleteAll deletes objects, kind after kind, and remembers what became of each.
// As with Helm, what is not there counts as deleted, and there is no result if
// there was any error.
func (c *client) deleteAll(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	if len(list) == 0 {
		return c.Client.DeleteWithPropagationPolicy(list, policy)
	}
	result := &kube.Result{}
	var failures []error
	for _, batch := range byKind(list) {
		for i, err := range each(batch, func(_ int, info *resource.Info) error { return c.delete(info, policy) }) {
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

func (c *client) delete(info *resource.Info, policy metav1.DeletionPropagation) error {
	kind := info.Mapping.GroupVersionKind
	c.Log("Starting delete for %q %s", info.Name, kind.Kind)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		answer, err := resource.NewHelper(info.Client, info.Mapping).
			DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{PropagationPolicy: &policy})
		if apierrors.IsNotFound(err) {
			c.Log("Ignoring delete failure for %q %s: %v", info.Name, kind, err)
			answer, err = &metav1.Status{}, nil
		}
		if err == nil {
			c.waiter.Deleted(info, answer)
		}
		return err
	})
}
