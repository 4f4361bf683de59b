// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/release"
)

// DependsOn returns the names of the HelmReleases that hr waits for, in the order
// of the spec. Objects of other kinds are not among them: they have no part in
// cycles, and in the order of deletions.
func DependsOn(hr *helmv2.HelmRelease) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(hr.Spec.DependsOn))
	for _, ref := range hr.Spec.DependsOn {
		if IsHelmRelease(ref) {
			keys = append(keys, dependencyKey(hr, ref))
		}
	}
	return keys
}

// IsHelmRelease reports whether what is depended on is a HelmRelease, of whatever
// version.
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

// IsReady reports whether a HelmRelease is what those wait for that depend on it:
// ready, as its present spec asks for. With ok false it says why not.
func IsReady(hr *helmv2.HelmRelease) (why string, ok bool) {
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	switch {
	case hr.Generation != hr.Status.ObservedGeneration:
		return "its latest generation has not been reconciled", false
	case ready == nil:
		return "it has no Ready condition yet", false
	case ready.Status != metav1.ConditionTrue:
		// Not the message, which changes without a change of anything that matters.
		return fmt.Sprintf("Ready is %s with reason %s", ready.Status, ready.Reason), false
	}
	return "", true
}

// dependencies checks what hr depends on, in order.
func (r *Resolver) dependencies(ctx context.Context, hr *helmv2.HelmRelease) error {
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

// checkRelease checks a HelmRelease that hr depends on.
func (r *Resolver) checkRelease(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, e *cel.Expression) error {
	key := dependencyKey(hr, ref)
	dep, err := r.dependency(ctx, key)
	if err != nil {
		blocked := r.waitFor("unable to get '%s' dependency: %s", key, r.orNamesake(ctx, hr, key, err))
		blocked.Err = err
		return blocked
	}
	if e == nil || r.settings.AdditiveReadyExpr {
		if why, ok := IsReady(dep); !ok {
			return r.waitFor("dependency '%s' is not ready: %s", key, r.orCycle(ctx, hr, key, why))
		}
	}
	if e != nil {
		if why, ok := r.satisfied(e, hr, dep); !ok {
			return r.waitFor("dependency '%s' is not ready according to readyExpr eval%s", key, why)
		}
	}
	return nil
}

// readyExpressions compiles all expressions before any is needed: whoever wrote a
// wrong one is to know now. Where there is none, there is nil.
func readyExpressions(hr *helmv2.HelmRelease) ([]*cel.Expression, error) {
	compiled := make([]*cel.Expression, len(hr.Spec.DependsOn))
	for i, ref := range hr.Spec.DependsOn {
		if ref.ReadyExpr == "" {
			continue
		}
		var err error
		if compiled[i], err = cel.Compile(ref.ReadyExpr, "self", "dep"); err != nil {
			return nil, &release.Blocked{
				Reason: helmv2.ReasonInvalidCELExpression, Terminal: true, Retry: release.Never(), Err: err,
				Message: fmt.Sprintf("Reconciliation failed terminally due to configuration error: spec.dependsOn[%d].readyExpr: %s", i, err),
			}
		}
	}
	return compiled, nil
}

// dependency reads a HelmRelease. The cache may not hold it: this controller may
// have been told to watch one namespace, or only some objects.
func (r *Resolver) dependency(ctx context.Context, key types.NamespacedName) (*helmv2.HelmRelease, error) {
	dep := &helmv2.HelmRelease{}
	if err := r.reader.Get(ctx, key, dep); err == nil {
		return dep, nil
	}
	return dep, r.live.Get(ctx, key, dep)
}

// satisfied evaluates an expression, and says what went wrong if it cannot be.
func (r *Resolver) satisfied(e *cel.Expression, self, dep *helmv2.HelmRelease) (why string, ok bool) {
	object, err := asJSON(dep)
	if err != nil {
		return ": " + err.Error(), false
	}
	foreign := self.Namespace != dep.Namespace
	ok, closed, err := r.evaluate(e, self, object, foreign)
	switch {
	case err == nil:
		return "", ok
	case closed:
		return ": it may use no more than labels and status of what is in another namespace", false
	case foreign:
		// What went wrong may quote the dependency, which not everybody may read
		// who may name it.
		return "", false
	}
	return ": " + err.Error(), false
}

// evaluate asks an expression about dep, which it may change. What is foreign may be
// closed to it but for labels and status.
func (r *Resolver) evaluate(e *cel.Expression, self *helmv2.HelmRelease, dep map[string]any, foreign bool) (ok, closed bool, err error) {
	closed = foreign && r.settings.NoCrossNamespaceRefs
	if closed {
		conceal(dep)
	}
	own, err := asJSON(self)
	if err != nil {
		return false, closed, err
	}
	ok, err = e.Bool(map[string]any{"self": own, "dep": dep})
	return ok, closed, err
}

// asJSON returns a HelmRelease as JSON has it.
func asJSON(hr *helmv2.HelmRelease) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = helmv2.GroupVersion.String(), helmv2.HelmReleaseKind
	return object, nil
}

// conceal takes away what an expression could find out letter by letter: values,
// which may hold secrets, and where tools keep copies of them. Other kinds have more
// than a spec: the data of a Secret, say.
func conceal(dep map[string]any) {
	for field := range dep {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field) {
			delete(dep, field)
		}
	}
	if meta, ok := dep["metadata"].(map[string]any); ok {
		delete(meta, "annotations")
		delete(meta, "managedFields")
	}
}

// waitFor is how all dependencies are waited for. Their progress wakes us; a look
// now and then is the net under that, and all there is for those not in the cache.
func (r *Resolver) waitFor(format string, args ...any) *release.Blocked {
	return &release.Blocked{
		Reason: helmv2.ReasonDependencyNotReady, Normal: true,
		Retry: release.After(r.settings.DependencyRetry), Message: fmt.Sprintf(format, args...),
	}
}

// orCycle returns why, or something better to know: that hr waits for itself.
func (r *Resolver) orCycle(ctx context.Context, hr *helmv2.HelmRelease, dep types.NamespacedName, why string) string {
	self := client.ObjectKeyFromObject(hr)
	way := r.wayTo(ctx, self, dep, map[types.NamespacedName]bool{})
	if way == nil {
		return why
	}
	names, known := []string{self.String()}, DependsOn(hr)
	for _, key := range way {
		name := key.String()
		if key.Namespace != self.Namespace && !slices.Contains(known, key) {
			// What others depend on is for those to know who may read it.
			name = "one in another namespace"
		}
		names = append(names, name)
	}
	return "dependency cycle " + strings.Join(names, " -> ")
}

// wayTo returns how to get from one HelmRelease to another through what each
// depends on, both included, and nil if there is no way.
func (r *Resolver) wayTo(ctx context.Context, target, from types.NamespacedName, seen map[types.NamespacedName]bool) []types.NamespacedName {
	if from == target {
		return []types.NamespacedName{from}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	hr := &helmv2.HelmRelease{}
	if err := r.reader.Get(ctx, from, hr); err != nil {
		return nil
	}
	for _, next := range DependsOn(hr) {
		if way := r.wayTo(ctx, target, next, seen); way != nil {
			return slices.Insert(way, 0, from)
		}
	}
	return nil
}
