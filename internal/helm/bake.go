// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"strings"
	"time"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// BakeLook describes a look at a revision that is watched.
type BakeLook struct {
	// Exprs describe trouble, besides what readiness and Pods show.
	Exprs []policy.BakeExpr
	// Since is the time from which containers count that have failed.
	Since time.Time
	// Pods finds failing containers of the Pods of objects.
	Pods interface {
		Failing(ctx context.Context, objects []release.UnreadyObject, namespace string, since time.Time) *release.Diagnosis
	}
}

// BakeExprError is the error of an expression of a policy that cannot be compiled.
type BakeExprError struct {
	expr  policy.BakeExpr
	field string
	cause error
}

// Error names the policy and the field.
func (e *BakeExprError) Error() string {
	return fmt.Sprintf("%s: spec.rollout.bakeExprs[%d].%s: %s", e.expr.Policy, e.expr.Index, e.field, e.cause)
}

// Unwrap returns the cause.
func (e *BakeExprError) Unwrap() error { return e.cause }

// LookAtBake reads the objects of a revision once, hooks excluded, and returns the trouble they are in.
// UnreadySince is zero.
func (r *Runner) LookAtBake(ctx context.Context, getter genericclioptions.RESTClientGetter, q ReadRequest, look BakeLook) (release.Bake, error) {
	exprs, err := compileBakeExprs(look.Exprs)
	if err != nil {
		return release.Bake{}, err
	}
	client, rls, err := r.read(ctx, getter, q)
	if err != nil {
		return release.Bake{}, err
	}
	list, err := client.Build(strings.NewReader(rls.Manifest), false)
	if err != nil {
		return release.Bake{}, fmt.Errorf("objects of revision %d of release %s: %w", q.Version, rls.Name, err)
	}
	seen, err := client.Waiter.Look(list, waitsForJobs(q.Spec, storage.ActionOf(rls)))
	if err != nil {
		return release.Bake{}, err
	}
	var found release.Bake
	var live []release.UnreadyObject
	for _, s := range seen {
		if !s.Ready {
			found.Waiting = append(found.Waiting, s.Object.Status)
			found.Failed = found.Failed || s.Object.Failed
		}
		if s.Exists {
			live = append(live, s.Object)
		}
	}
	if found.Trouble = troubleOf(live, exprs, rls.Namespace); found.Trouble == nil {
		found.Trouble = look.Pods.Failing(ctx, live, rls.Namespace, look.Since)
	}
	return found, nil
}

// bakeExpr is a compiled expression.
type bakeExpr struct {
	of     policy.BakeExpr
	group  string
	failed *cel.Expression
}

func compileBakeExprs(all []policy.BakeExpr) ([]bakeExpr, error) {
	var compiler cel.Compiler
	compiled := make([]bakeExpr, len(all))
	for i, e := range all {
		gv, err := apischema.ParseGroupVersion(e.APIVersion)
		if err != nil {
			return nil, &BakeExprError{e, "apiVersion", err}
		}
		failed, err := compiler.Parse(e.Failed)
		if err != nil {
			return nil, &BakeExprError{e, "failed", err}
		}
		compiled[i] = bakeExpr{e, gv.Group, failed}
	}
	return compiled, nil
}

// troubleOf returns the first object that an expression describes; nil if there is none. An expression
// that cannot be evaluated for an object, such as one about a field that is not set, does not describe it.
func troubleOf(objects []release.UnreadyObject, exprs []bakeExpr, namespace string) *release.Diagnosis {
	for _, e := range exprs {
		for _, o := range objects {
			if o.Object.Kind != e.of.Kind || o.Object.Group != e.group {
				continue
			}
			if is, err := e.failed.Bool(o.Content); err != nil || !is {
				continue
			}
			name := o.Object.Name
			if o.Object.Namespace != namespace && o.Object.Namespace != "" {
				name = o.Object.Namespace + "/" + name
			}
			return &release.Diagnosis{
				Code: helmv2.FailureFailed, Object: o.Object,
				Summary:     fmt.Sprintf("%s %s: %s has spec.rollout.bakeExprs[%d], which is true", o.Object.Kind, name, e.of.Policy, e.of.Index),
				Fingerprint: strings.Join([]string{o.Object.Kind, o.Object.Namespace, o.Object.Name, e.of.Policy}, "/"),
			}
		}
	}
	return nil
}
