// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"cmp"
	"context"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
)

// Reader reads policies. It is safe for concurrent use.
type Reader struct {
	namespaced kind[*v1alpha1.ReleasePolicy]
	cluster    kind[*v1alpha1.ClusterReleasePolicy]
	facts      *facts
}

// kind has the objects of a kind.
type kind[T client.Object] interface {
	Objects() []T
	// Unknown returns why the objects are not known; empty if they are.
	Unknown() string
}

// Demands returns what policies demand of a HelmRelease, apart from its chart. While policies are not
// known, those that are known apply, too.
func (r *Reader) Demands(ctx context.Context, hr *helmv2.HelmRelease) policy.Demands {
	all := r.policies(hr.Namespace)
	var d policy.Demands
	if len(all) > 0 {
		d = policy.Select(all, r.release(ctx, hr, all), r.facts.now())
	}
	if why := cmp.Or(r.namespaced.Unknown(), r.cluster.Unknown()); why != "" {
		d.Unavailable = why
	}
	return d
}

// Admit implements inputs.Admission. A fact that cannot be read is an obstacle.
func (r *Reader) Admit(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error {
	all := r.policies(hr.Namespace)
	if len(all) == 0 {
		return nil
	}
	of := r.release(ctx, hr, all)
	needs := policy.NeedsOf(all, of)
	if !needs.Chart {
		return nil
	}
	chart, name := inputs.Facts(hr, source)
	var repository *sourcev1.HelmRepository
	if name != "" && needs.Location {
		var err error
		if chart, repository, err = r.facts.locate(ctx, chart, name, source); err != nil {
			return err
		}
	}
	refusal := policy.Refuse(all, of, chart)
	if refusal != nil && !refusal.ChangesOnly {
		return &inputs.Refused{Refusal: *refusal}
	}
	if needs.Origin {
		if err := inputs.Unfetched(source, repository); err != nil {
			return err
		}
	}
	if refusal == nil {
		return nil
	}
	// Nothing is fetched for a release that is not installed.
	refusal.ChangesOnly = len(hr.Status.History) > 0
	return &inputs.Refused{Refusal: *refusal}
}

// AdmitSources implements inputs.ValuesAdmission.
func (r *Reader) AdmitSources(ctx context.Context, hr *helmv2.HelmRelease, places []policy.Place) error {
	all := r.policies(hr.Namespace)
	if len(all) == 0 {
		return nil
	}
	return refusedValues(policy.RefuseSources(all, r.release(ctx, hr, all), places))
}

// AdmitValues implements inputs.ValuesAdmission. It calls places only if a policy judges values.
func (r *Reader) AdmitValues(ctx context.Context, hr *helmv2.HelmRelease, places func() []policy.Place) error {
	all := r.policies(hr.Namespace)
	if len(all) == 0 {
		return nil
	}
	of := r.release(ctx, hr, all)
	if !policy.JudgesValues(all, of) {
		return nil
	}
	return refusedValues(policy.RefuseValues(all, of, places()))
}

func refusedValues(refusal *policy.Refusal) error {
	if refusal == nil {
		return nil
	}
	return &inputs.Refused{Refusal: *refusal}
}

// policies returns the policies that may select a release in a namespace.
func (r *Reader) policies(namespace string) []policy.Policy {
	var all []policy.Policy
	for _, p := range r.cluster.Objects() {
		all = append(all, policy.OfCluster(p))
	}
	for _, p := range r.namespaced.Objects() {
		if p.Namespace == namespace {
			all = append(all, policy.Of(p))
		}
	}
	return all
}

// HasRollouts reports whether any policy limits how charts spread.
func (r *Reader) HasRollouts() bool {
	return slices.ContainsFunc(r.cluster.Objects(), func(p *v1alpha1.ClusterReleasePolicy) bool { return p.Spec.Rollout != nil }) ||
		slices.ContainsFunc(r.namespaced.Objects(), func(p *v1alpha1.ReleasePolicy) bool { return p.Spec.Rollout != nil })
}

// Selects reports whether a policy with a rollout selects a HelmRelease, or may.
func (r *Reader) Selects(ctx context.Context, of policy.Rollout, hr *helmv2.HelmRelease) bool {
	for _, p := range r.policies(hr.Namespace) {
		if p.String() == of.Policy && p.Namespace == of.Namespace {
			return p.Selects(r.release(ctx, hr, []policy.Policy{p}))
		}
	}
	return false
}

// release returns the facts by which policies select a HelmRelease.
func (r *Reader) release(ctx context.Context, hr *helmv2.HelmRelease, all []policy.Policy) policy.Release {
	of := policy.Release{Namespace: hr.Namespace, Labels: hr.Labels}
	if policy.NeedsNamespace(all, of) {
		of.NamespaceLabels, of.NamespaceUnread = r.facts.namespace(ctx, hr.Namespace)
	}
	return of
}
