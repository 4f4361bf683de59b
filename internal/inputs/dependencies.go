// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/rollout"
)

// DependsOn returns the names of the HelmReleases that hr depends on, in the order of the spec. It
// leaves out objects of other kinds: they take no part in cycles and in the order of deletions.
func DependsOn(hr *helmv2.HelmRelease) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(hr.Spec.DependsOn))
	for _, ref := range hr.Spec.DependsOn {
		if IsHelmRelease(ref) {
			keys = append(keys, dependencyKey(hr, ref))
		}
	}
	return keys
}

// Member returns a HelmRelease as a member of rollouts. source is its source; nil if that is not known.
func Member(hr *helmv2.HelmRelease, source client.Object, now time.Time) rollout.Member {
	var wants rollout.Input
	if source != nil {
		wants, _ = ChartOf(source)
	}
	m := rollout.MemberOf(hr, wants, now)
	if hr.HasChartTemplate() {
		source = TemplateSource(hr)
	}
	if from := fetchOf(source); from != "" {
		m.From = []string{from}
	}
	for _, key := range DependsOn(hr) {
		m.DependsOn = append(m.DependsOn, key.String())
	}
	return m
}

// IsHelmRelease reports whether a dependency is a HelmRelease, of any API version.
func IsHelmRelease(ref helmv2.DependencyReference) bool {
	if ref.APIVersion == "" && ref.Kind == "" {
		return true
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return gvk.Group == helmv2.GroupVersion.Group && gvk.Kind == helmv2.HelmReleaseKind
}

func dependencyKey(hr *helmv2.HelmRelease, ref helmv2.DependencyReference) types.NamespacedName {
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if key.Namespace == "" {
		key.Namespace = hr.Namespace
	}
	return key
}

// IsReady reports whether a HelmRelease is ready with its latest spec, as its dependents require.
// If it is not, why is the reason.
func IsReady(hr *helmv2.HelmRelease) (why string, ok bool) {
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	switch {
	case hr.Generation != hr.Status.ObservedGeneration:
		return "its latest generation has not been reconciled", false
	case ready == nil:
		return "it has no Ready condition yet", false
	case ready.Status != metav1.ConditionTrue:
		// The message of the condition is left out: it changes more often than the reason, and
		// each change would be an event.
		return fmt.Sprintf("Ready is %s with reason %s", ready.Status, ready.Reason), false
	}
	return "", true
}

// check returns a *release.Blocked for the first dependency of hr that is not ready.
func (r dependencies) check(ctx context.Context, hr *helmv2.HelmRelease) error {
	if err := checkKinds(hr); err != nil {
		return err
	}
	expressions, err := readyExpressions(hr)
	if err != nil {
		return err
	}
	for i, ref := range hr.Spec.DependsOn {
		check := r.checkRelease
		if !IsHelmRelease(ref) {
			check = r.checkObject
		}
		if err := check(ctx, hr, ref, expressions[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkRelease returns a *release.Blocked if a HelmRelease that hr depends on is not ready.
func (r dependencies) checkRelease(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, e *cel.Expression) error {
	key := dependencyKey(hr, ref)
	dep, err := r.dependency(ctx, key)
	if err != nil {
		blocked := r.dependencyBlocked("unable to get '%s' dependency: %s", key, r.namesakeHint(ctx, hr, key, err))
		blocked.Err = err
		return blocked
	}
	if e == nil || r.settings.AdditiveReadyExpr {
		if why, ok := IsReady(dep); !ok {
			return r.dependencyBlocked("dependency '%s' is not ready: %s", key, r.cycleOr(ctx, hr, key, why))
		}
	}
	if e != nil {
		if why, ok := r.satisfies(e, hr, dep); !ok {
			return r.dependencyBlocked("dependency '%s' is not ready according to readyExpr eval%s", key, why)
		}
	}
	return nil
}

// dependency reads a HelmRelease. The cache may not hold it, since the controller may watch one
// namespace only, or objects with certain labels only.
func (r dependencies) dependency(ctx context.Context, key types.NamespacedName) (*helmv2.HelmRelease, error) {
	dep := &helmv2.HelmRelease{}
	if err := r.reader.Get(ctx, key, dep); err == nil {
		return dep, nil
	}
	return dep, r.live.Get(ctx, key, dep)
}

// cycleOr returns the dependency cycle from hr through dep back to hr, or else why.
func (r dependencies) cycleOr(ctx context.Context, hr *helmv2.HelmRelease, dep types.NamespacedName, why string) string {
	self := client.ObjectKeyFromObject(hr)
	path := DependencyPath(ctx, r.reader, dep, self)
	if path == nil {
		return why
	}
	names, known := []string{self.String()}, DependsOn(hr)
	for _, key := range path {
		name := key.String()
		if key.Namespace != self.Namespace && !slices.Contains(known, key) {
			// The dependencies of a HelmRelease in another namespace are not disclosed.
			name = "one in another namespace"
		}
		names = append(names, name)
	}
	return "dependency cycle " + strings.Join(names, " -> ")
}

// DependencyPath returns the HelmReleases on a path of dependencies from one to another, both
// included. It returns nil if there is none, or if one on the path cannot be read.
func DependencyPath(ctx context.Context, reader client.Reader, from, target types.NamespacedName) []types.NamespacedName {
	searched := map[types.NamespacedName]bool{}
	var path func(from types.NamespacedName) []types.NamespacedName
	path = func(from types.NamespacedName) []types.NamespacedName {
		if from == target {
			return []types.NamespacedName{from}
		}
		hr := &helmv2.HelmRelease{}
		if searched[from] || reader.Get(ctx, from, hr) != nil {
			return nil
		}
		searched[from] = true
		for _, next := range DependsOn(hr) {
			if rest := path(next); rest != nil {
				return slices.Insert(rest, 0, from)
			}
		}
		return nil
	}
	return path(from)
}
