// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
)

// server sends the requests about one object to the API server.
type server struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one comparison
	info *resource.Info
	// redact removes secrets from the API server's errors.
	redact redact
}

// get returns the live object, nil if it does not exist. An object whose kind is not served is an
// error: it may exist in another version.
func (s server) get() (*unstructured.Unstructured, error) {
	object, err := s.info.Client.Get().
		NamespaceIfScoped(s.info.Namespace, s.info.Namespaced()).
		Resource(s.info.Mapping.Resource.Resource).
		Name(s.info.Name).
		Do(s.ctx).Get()
	if apierrors.IsNotFound(err) && !apiretry.NotServed(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	return toUnstructured(object)
}

// apply applies an object by force and returns the result. With dry, the API server does not store
// it.
func (s server) apply(object *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	force := true
	// An apply fails for unknown fields in any case.
	options := metav1.PatchOptions{FieldManager: helmv2.FieldManager, Force: &force, FieldValidation: metav1.FieldValidationIgnore}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return s.patch(types.ApplyPatchType, body, options)
}

// correct sends the requests of a finding's correction.
func (s server) correct(f *finding) (*unstructured.Unstructured, error) {
	if f.patch != nil {
		body, err := json.Marshal(f.patch)
		if err != nil {
			return nil, err
		}
		return s.patch(types.JSONPatchType, body, metav1.PatchOptions{FieldManager: helmv2.FieldManager})
	}
	if f.disown != nil {
		patch := map[string]any{"metadata": map[string]any{"resourceVersion": f.body.GetResourceVersion(), "managedFields": f.disown}}
		body, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		ours, err := s.patch(types.MergePatchType, body, metav1.PatchOptions{FieldManager: helmv2.FieldManager})
		if err != nil {
			return nil, err
		}
		f.body.SetResourceVersion(ours.GetResourceVersion())
		f.disown = nil
	}
	return s.apply(f.body, false)
}

func (s server) patch(kind types.PatchType, body []byte, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	object, err := s.info.Client.Patch(kind).
		NamespaceIfScoped(s.info.Namespace, s.info.Namespaced()).
		Resource(s.info.Mapping.Resource.Resource).
		Name(s.info.Name).
		VersionedParams(&options, metav1.ParameterCodec).
		Body(body).
		Do(s.ctx).Get()
	if err != nil {
		return nil, err
	}
	return toUnstructured(object)
}

func toUnstructured(object any) (*unstructured.Unstructured, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server answered with %T", object)
	}
	return u, nil
}

// explain returns an error as text for users. The API server quotes the values of a rejected
// Secret, so for Secrets only the names of the fields are returned.
func (s server) explain(err error) string {
	var status apierrors.APIStatus
	secret := s.info.Mapping.GroupVersionKind.GroupKind().String() == "Secret"
	if !secret || !errors.As(err, &status) {
		text, _ := apiretry.Describe(err)
		return s.redact.text(text)
	}
	if status.Status().Details == nil || !apierrors.IsInvalid(err) {
		return fmt.Sprintf("the API server rejected the request: %s", status.Status().Reason)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return "invalid: " + strings.Join(fields, ", ")
}
