// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// helmManager is the name under which Helm's command line writes.
const helmManager = "helm"

// byClient tells an entry that client-side applying left, ours or a person's
// Helm's. Other people's tools keep what they own.
func byClient(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" &&
		(e.Manager == fieldManager || e.Manager == helmManager)
}

// byServer tells our entry of server-side applying.
func byServer(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.Manager == fieldManager
}

func clientSideTraces(object runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	return err == nil && slices.ContainsFunc(accessor.GetManagedFields(), byClient)
}

// migrateAll hands what our apply owns of the objects of target to our updates.
func (c *client) migrateAll(original, target kube.ResourceList) error {
	existing := target.Intersect(original)
	for i, err := range each(existing, func(_ int, info *resource.Info) error {
		_, err := migrate(info, false)
		return err
	}) {
		if err != nil {
			return fmt.Errorf("%s: %w", wait.ObjectName(existing[i]), err)
		}
	}
	return nil
}

// migrate makes the fields of an object in the cluster ours in the way they are
// going to be applied, and reports whether there was anything to do.
//
// Towards the server, the entries that client-side applying left become our
// apply's, or fields that the chart drops would stay for ever. Away from it, our
// apply's entry becomes an update's: it would stay and own fields that are not applied
// any more.
func migrate(info *resource.Info, toServer bool) (did bool, err error) {
	helper := resource.NewHelper(info.Client, info.Mapping)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := helper.Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		patch, err := ownershipPatch(live, toServer)
		if err != nil || patch == nil {
			return err
		}
		did = true
		_, err = helper.Patch(info.Namespace, info.Name, types.JSONPatchType, patch, &metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return did, fmt.Errorf("migrating managed fields: %w", err)
	}
	return did, nil
}

// ownershipPatch returns the patch that migrates an object, nil if it needs none.
func ownershipPatch(live runtime.Object, toServer bool) ([]byte, error) {
	if toServer {
		if !clientSideTraces(live) {
			return nil, nil
		}
		return csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(fieldManager, helmManager), fieldManager)
	}
	object, err := meta.Accessor(live)
	if err != nil {
		return nil, err
	}
	fields := object.GetManagedFields()
	at := slices.IndexFunc(fields, byServer)
	if at < 0 {
		return nil, nil
	}
	entry := fields[at]
	entry.Operation = metav1.ManagedFieldsOperationUpdate
	// An entry that we updated with gives way: there can be one only, and merging
	// in the client does not ask who owns a field.
	fields = slices.DeleteFunc(slices.Clone(fields), func(e metav1.ManagedFieldsEntry) bool {
		return byServer(e) || e.Manager == fieldManager && byClient(e) && e.APIVersion == entry.APIVersion
	})
	fields = append(fields, entry)
	// Managed fields are replaced as a whole. The resourceVersion guards against
	// an object that has moved on.
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": object.GetResourceVersion()},
	})
}
