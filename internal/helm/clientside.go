// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"helm.sh/helm/v3/pkg/kube"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// threeWayPatch returns what merging in the client would send to make live what
// the target wants, given what was wanted originally. It is for trying out:
// the real merge is Helm's own, which sends at once.
func threeWayPatch(target *resource.Info, original, live runtime.Object) ([]byte, types.PatchType, error) {
	raw, err := marshalAll(original, target.Object, live)
	if err != nil {
		return nil, "", err
	}
	typed := kube.AsVersioned(target)
	_, unknown := typed.(runtime.Unstructured)
	_, definition := typed.(*apiextensionsv1.CustomResourceDefinition)
	if unknown || definition {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(raw[0], raw[1], raw[2])
		return patch, types.MergePatchType, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	const overwrite = true
	patch, err := strategicpatch.CreateThreeWayMergePatch(raw[0], raw[1], raw[2], meta, overwrite)
	return patch, types.StrategicMergePatchType, err
}
