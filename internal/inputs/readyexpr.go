// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/release"
)

// readyExpressions compiles the readyExpr of each dependency; nil stands for none. All are compiled
// before any is evaluated, so that an invalid one is reported at once.
func readyExpressions(hr *helmv2.HelmRelease) ([]*cel.Expression, error) {
	compiled := make([]*cel.Expression, len(hr.Spec.DependsOn))
	var compiler cel.Compiler
	for i, ref := range hr.Spec.DependsOn {
		if ref.ReadyExpr == "" {
			continue
		}
		var err error
		if compiled[i], err = compiler.Compile(ref.ReadyExpr, "self", "dep"); err != nil {
			return nil, &release.Blocked{
				Reason: helmv2.ReasonInvalidCELExpression, Terminal: true, Retry: release.Never(), Err: err,
				Message: fmt.Sprintf("Reconciliation failed terminally due to configuration error: spec.dependsOn[%d].readyExpr: %s", i, err),
			}
		}
	}
	return compiled, nil
}

// satisfies reports whether an expression holds. If it cannot be evaluated, why is a suffix for the
// message, empty if the reason must not be disclosed.
func (r dependencies) satisfies(e *cel.Expression, self, dep *helmv2.HelmRelease) (why string, ok bool) {
	object, err := asJSON(dep)
	if err != nil {
		return ": " + err.Error(), false
	}
	foreign := self.Namespace != dep.Namespace
	ok, restricted, err := r.evaluate(e, self, object, foreign)
	switch {
	case err == nil:
		return "", ok
	case restricted:
		return ": it may use only labels and status of objects in other namespaces", false
	case foreign:
		// The error may quote the dependency. Authors of HelmReleases may refer to
		// dependencies in other namespaces, but they may not read them.
		return "", false
	}
	return ": " + err.Error(), false
}

// objectSatisfies is satisfies for objects of other kinds. It does not quote errors: they may
// quote the object, and conditions have more readers than the object.
func (r dependencies) objectSatisfies(e *cel.Expression, self *helmv2.HelmRelease, dep *unstructured.Unstructured) (why string, ok bool) {
	ok, restricted, err := r.evaluate(e, self, dep.Object, self.Namespace != dep.GetNamespace())
	switch {
	case err == nil:
		return "", ok
	case restricted:
		return ": it may use only labels and status of objects outside its own namespace", false
	}
	return ": it cannot be evaluated with this object", false
}

// evaluate evaluates an expression with dep, which it may change. If NoCrossNamespaceRefs is set,
// an expression about a foreign dep may use labels and status only, and restricted is true.
func (r dependencies) evaluate(e *cel.Expression, self *helmv2.HelmRelease, dep map[string]any, foreign bool) (ok, restricted bool, err error) {
	restricted = foreign && r.settings.NoCrossNamespaceRefs
	if restricted {
		restrict(dep)
	}
	own, err := asJSON(self)
	if err != nil {
		return false, restricted, err
	}
	ok, err = e.Bool(map[string]any{"self": own, "dep": dep})
	return ok, restricted, err
}

// asJSON returns a HelmRelease as a map in the form of encoding/json.
func asJSON(hr *helmv2.HelmRelease) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = helmv2.GroupVersion.String(), helmv2.HelmReleaseKind
	return object, nil
}

// restrict removes all fields from which an expression could extract secrets letter by letter:
// values, annotations in which tools keep copies of values, and the data of a Secret.
func restrict(dep map[string]any) {
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
