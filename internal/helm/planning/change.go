// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// changeOf returns the change of an object; false if the object does not change. Replaces is true if
// an existing object is replaced.
func changeOf(s apply.State, replaces bool, redact func(string) string) (c v1alpha1.PlanChange, changes bool, err error) {
	c = objectOf(s.Info)
	c.Change = v1alpha1.ChangeUpdate
	switch {
	case s.Refused != "":
		c.Change, c.Reason = v1alpha1.ChangeRefused, s.Refused
		return c, true, nil
	case !s.Exists:
		c.Change = v1alpha1.ChangeCreate
		c.Fields, err = contentOfNew(s, redact)
		return c, true, err
	case replaces:
		c.Change = v1alpha1.ChangeReplace
	}
	if s.Live == nil || s.Answer == nil {
		return c, true, nil
	}
	c.Fields, err = fieldsOf(s, s.Live, s.Answer, redact)
	return c, len(c.Fields) > 0, err
}

// contentOfNew returns the fields of an object that is created, as the manifest has them. The answer to
// the dry run, if there is one, shows the keys of its lists.
func contentOfNew(s apply.State, redact func(string) string) ([]v1alpha1.PlanField, error) {
	manifest, ok := s.Info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	object := manifest.DeepCopy()
	object.SetManagedFields(nil)
	if s.Answer != nil {
		object.SetManagedFields(s.Answer.GetManagedFields())
	}
	nothing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}}
	return fieldsOf(s, nothing, object, redact)
}

// fieldsOf returns the fields that differ between two forms of an object.
func fieldsOf(s apply.State, was, is *unstructured.Unstructured, redact func(string) string) ([]v1alpha1.PlanField, error) {
	differing, err := drift.Answered(was, is, redact)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wait.ObjectName(s.Info), err)
	}
	var all []v1alpha1.PlanField
	for _, f := range differing {
		all = append(all, v1alpha1.PlanField{Path: f.Path, From: f.Have, To: f.Want, TakenFrom: f.Manager})
	}
	return all, nil
}

// objectOf returns a change without its kind. An object that is about to be named has the beginning of
// its name.
func objectOf(info *resource.Info) v1alpha1.PlanChange {
	gvk := info.Mapping.GroupVersionKind
	c := v1alpha1.PlanChange{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: info.Name}
	if info.Namespaced() {
		c.Namespace = info.Namespace
	}
	return c
}

// unserved returns the creation of an object whose kind is not served yet.
func unserved(o release.Object) v1alpha1.PlanChange {
	gv := apischema.GroupVersion{Group: o.Group, Version: o.Version}
	return v1alpha1.PlanChange{
		APIVersion: gv.String(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Change: v1alpha1.ChangeCreate,
	}
}
