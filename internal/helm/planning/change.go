// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"

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
		return c, true, nil
	case replaces:
		c.Change = v1alpha1.ChangeReplace
	}
	if s.Live == nil || s.Answer == nil {
		return c, true, nil
	}
	fields, err := drift.Answered(s.Live, s.Answer, redact)
	if err != nil {
		return c, false, fmt.Errorf("%s: %w", wait.ObjectName(s.Info), err)
	}
	for _, f := range fields {
		c.Fields = append(c.Fields, v1alpha1.PlanField{Path: f.Path, From: f.Have, To: f.Want, TakenFrom: f.Manager})
	}
	return c, len(fields) > 0, nil
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
