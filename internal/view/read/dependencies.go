// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/view"
)

// Dependencies returns the facts about the first objects that a HelmRelease depends on, in the order
// of its spec. An object that cannot be read has the reason.
func (r *Reader) Dependencies(ctx context.Context, hr *helmv2.HelmRelease) []view.DependencyFact {
	refs := hr.Spec.DependsOn
	refs = refs[:min(len(refs), view.MaxDependencies)]
	facts := make([]view.DependencyFact, len(refs))
	for i, err := range parallel.Do(ctx, len(refs), maxLive, func(i int) error {
		return r.dependency(ctx, hr.Namespace, refs[i], &facts[i])
	}) {
		switch fact := &facts[i]; {
		case err == nil:
		case apierrors.IsForbidden(err):
			fact.Forbidden = true
		case apierrors.IsNotFound(err):
			fact.State, fact.Why = "Missing", "it does not exist"
		default:
			fact.State, fact.Why = "Unknown", err.Error()
		}
	}
	return facts
}

// dependency sets the facts about one object that a HelmRelease depends on.
func (r *Reader) dependency(ctx context.Context, namespace string, ref helmv2.DependencyReference, fact *view.DependencyFact) (err error) {
	fact.Object = view.Object{Kind: helmv2.HelmReleaseKind, Namespace: ref.GetNamespace(namespace), Name: ref.Name}
	fact.Expression = ref.ReadyExpr
	if !inputs.IsHelmRelease(ref) {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		fact.Object.Group, fact.Object.Version, fact.Object.Kind = kind.Group, kind.Version, kind.Kind
		return r.otherDependency(ctx, fact)
	}
	if fact.Release, err = r.Release(ctx, fact.Object.Namespace, ref.Name); err == nil && fact.Expression == "" {
		fact.Why, _ = inputs.IsReady(fact.Release)
	}
	return err
}

// otherDependency sets the state of an object that is no HelmRelease.
func (r *Reader) otherDependency(ctx context.Context, fact *view.DependencyFact) error {
	kind := schema.GroupVersionKind{Group: fact.Object.Group, Version: fact.Object.Version, Kind: fact.Object.Kind}
	mapping, err := r.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == apimeta.RESTScopeNameRoot {
		fact.Object.Namespace = ""
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: fact.Object.Namespace, Name: fact.Object.Name}, object); err != nil {
		return err
	}
	live := liveOf(object)
	fact.State = live.Status
	if fact.Expression == "" && live.Status != "Ready" {
		fact.Why = live.Message
	}
	return nil
}
