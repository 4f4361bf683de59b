// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// manager is the name under which Pintle writes objects.
const manager = helmv2.FieldManager

// helmManager is the field manager of Helm's command line.
const helmManager = "helm"

// byClient reports whether an entry is of client-side apply by Pintle or the helm command. Other
// tools keep their fields.
func byClient(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" &&
		(e.Manager == manager || e.Manager == helmManager)
}

// byServer reports whether an entry is of server-side apply by Pintle.
func byServer(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.Manager == manager
}

// hasClientSideFields reports whether client-side apply owns fields of an object.
func hasClientSideFields(object runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	return err == nil && slices.ContainsFunc(accessor.GetManagedFields(), byClient)
}

// migrateManagedFields changes the managed fields of an object in the cluster for the other apply
// method. It reports whether there was anything to change.
//
// Towards the server, the entries of client-side apply become an entry of server-side apply.
// Without that, fields that the chart drops would stay. Away from the server, the entry of
// server-side apply becomes one of an update. Otherwise it would own fields that are no longer
// applied.
func migrateManagedFields(info *resource.Info, toServer bool) (did bool, err error) {
	helper := resource.NewHelper(info.Client, info.Mapping)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := helper.Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		patch, err := managedFieldsPatch(live, toServer)
		if err != nil || patch == nil {
			return err
		}
		did = true
		_, err = helper.Patch(info.Namespace, info.Name, types.JSONPatchType, patch, &metav1.PatchOptions{FieldManager: manager})
		return err
	})
	if err != nil {
		return did, fmt.Errorf("migrating managed fields: %w", err)
	}
	return did, nil
}

// managedFieldsPatch returns the patch that migrates an object, nil if it needs none.
func managedFieldsPatch(live runtime.Object, toServer bool) ([]byte, error) {
	if toServer {
		if !hasClientSideFields(live) {
			return nil, nil
		}
		return csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(manager, helmManager), manager)
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
	// There can be only one entry of an update, and client-side apply ignores the owners of
	// fields, so the former entry is dropped.
	fields = slices.DeleteFunc(slices.Clone(fields), func(e metav1.ManagedFieldsEntry) bool {
		return byServer(e) || e.Manager == manager && byClient(e) && e.APIVersion == entry.APIVersion
	})
	fields = append(fields, entry)
	// Managed fields are replaced as a whole. The resourceVersion prevents the patch of an object
	// that has changed in the meantime.
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": object.GetResourceVersion()},
	})
}
