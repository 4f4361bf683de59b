// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// dryRuns sends dry runs of the requests that apply objects, and stores their results.
type dryRuns struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one action
	method *Method
	builds *builds
	// replacements are the objects whose dry run is a creation.
	replacements *replacements

	mu      sync.Mutex
	results map[*resource.Info]dryRun
}

// dryRun is the result of a server-side dry run.
type dryRun struct {
	// body was sent, and is applied afterwards.
	body []byte
	// clientSideFields is true if client-side apply owns fields of the object.
	clientSideFields bool
	// created is true if the object did not exist.
	created bool
}

// run sends a dry run of the request that will apply an object.
func (d *dryRuns) run(info *resource.Info) error {
	if d.replacements.has(info) {
		return recreationDryRun(info)
	}
	if !d.method.ServerSide {
		return d.runClientSide(info)
	}
	body, err := encode(info.Object)
	if err != nil {
		return err
	}
	result, created, err := sendApply(d.ctx, info, body, acceptMetadata, metav1.PatchOptions{Force: new(true), DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		d.keep(info, dryRun{body: body, clientSideFields: hasClientSideFields(result), created: created})
	}
	if !apierrors.IsInvalid(err) {
		return err
	}
	// The fields of client-side apply are migrated before the object is applied, but not for a dry
	// run. A client-side dry run shows the result without them.
	live, getErr := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if getErr != nil || !hasClientSideFields(live) {
		return err
	}
	return d.runClientSide(info)
}

func (d *dryRuns) keep(info *resource.Info, result dryRun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.results == nil {
		d.results = map[*resource.Info]dryRun{}
	}
	d.results[info] = result
}

// result returns the result for an object, and false if there was no dry run.
func (d *dryRuns) result(info *resource.Info) (dryRun, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	result, ok := d.results[info]
	return result, ok
}

// takeBody returns the body of the request that applies an object, and drops the result.
func (d *dryRuns) takeBody(info *resource.Info) ([]byte, error) {
	result, ok := d.result(info)
	if !ok {
		return encode(info.Object)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.results, info)
	return result.body, nil
}

func (d *dryRuns) runClientSide(info *resource.Info) error {
	err := d.merge(info)
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		// Another client deleted or created the object between the read and the dry run.
		err = d.merge(info)
	}
	return err
}

// merge sends a dry run of a client-side apply.
func (d *dryRuns) merge(info *resource.Info) error {
	helper := dryRunHelper(info)
	object := info.Object.DeepCopyObject()
	live, err := helper.Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		_, err = helper.Create(info.Namespace, true, object)
		return err
	}
	if err != nil {
		return err
	}
	if d.method.Force {
		_, err = helper.Replace(info.Namespace, info.Name, true, object)
		return err
	}
	// For an object that the previous revision does not contain, Helm uses the new object here too.
	original := object
	if was := d.builds.previous.Get(info); was != nil {
		original = was.Object
	}
	patch, kind, err := threeWayPatch(info, original, live)
	if err != nil || string(patch) == "{}" {
		return err
	}
	_, err = helper.Patch(info.Namespace, info.Name, kind, patch, nil)
	return err
}

// answer sends a dry run of the request that will apply an object, and returns the answer. live is nil
// if the object does not exist, and original if the previous revision does not contain it.
func (d *dryRuns) answer(info *resource.Info, original, live runtime.Object, m Method, strict bool) (*unstructured.Unstructured, error) {
	helper := dryRunHelper(info)
	if !strict {
		helper = helper.WithFieldValidation(metav1.FieldValidationIgnore)
	}
	object := info.Object.DeepCopyObject()
	var answer runtime.Object
	var err error
	switch {
	case m.ServerSide && (live == nil || !hasClientSideFields(live)):
		var body []byte
		if body, err = encode(object); err == nil {
			answer, _, err = sendApply(d.ctx, info, body, "", metav1.PatchOptions{Force: new(true), DryRun: []string{metav1.DryRunAll}})
		}
	case live == nil:
		answer, err = helper.Create(info.Namespace, true, object)
	case m.Force:
		// With the resourceVersion, the helper does not read the object again.
		version, _ := meta.NewAccessor().ResourceVersion(live)
		if err = meta.NewAccessor().SetResourceVersion(object, version); err == nil {
			answer, err = helper.Replace(info.Namespace, info.Name, false, object)
		}
	default:
		// The fields of client-side apply are migrated before the object is applied on the server, but
		// not for a dry run.
		answer, err = d.sendPatch(helper, info, original, live)
	}
	parsed, _ := answer.(*unstructured.Unstructured)
	return parsed, err
}

// sendPatch sends a dry run of the patch of client-side apply. Without an original, Helm uses the
// new object in its place.
func (d *dryRuns) sendPatch(helper *resource.Helper, info *resource.Info, original, live runtime.Object) (runtime.Object, error) {
	if original == nil {
		original = info.Object
	}
	patch, kind, err := threeWayPatch(info, original, live)
	if err != nil {
		return nil, err
	}
	if string(patch) == "{}" {
		return live, nil
	}
	return helper.Patch(info.Namespace, info.Name, kind, patch, nil)
}

// createDryRun sends a dry run of the creation of an object. If the object exists, the API server
// still validates it first.
func createDryRun(info *resource.Info) error {
	_, err := dryRunHelper(info).Create(info.Namespace, true, info.Object.DeepCopyObject())
	return err
}

func dryRunHelper(info *resource.Info) *resource.Helper {
	return resource.NewHelper(info.Client, info.Mapping).DryRun(true).
		WithFieldManager(fieldManager).WithFieldValidation(metav1.FieldValidationStrict)
}

// threeWayPatch returns the patch that client-side apply would send for a live object. Helm
// applies with code of its own, which cannot send a dry run.
func threeWayPatch(target *resource.Info, original, live runtime.Object) ([]byte, types.PatchType, error) {
	raw, err := marshalAll(original, target.Object, live)
	if err != nil {
		return nil, "", err
	}
	typed := kube.AsVersioned(target)
	_, unknown := typed.(runtime.Unstructured)
	_, isCRD := typed.(*apiextensionsv1.CustomResourceDefinition)
	if unknown || isCRD {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(raw[0], raw[1], raw[2])
		return patch, types.MergePatchType, err
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	const overwrite = true
	patch, err := strategicpatch.CreateThreeWayMergePatch(raw[0], raw[1], raw[2], lookup, overwrite)
	return patch, types.StrategicMergePatchType, err
}

func marshalAll(objects ...runtime.Object) ([][]byte, error) {
	all := make([][]byte, len(objects))
	for i, o := range objects {
		var err error
		if all[i], err = json.Marshal(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}
