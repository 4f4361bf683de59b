// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// newestOperations is the number of Operations on the page of a release.
const newestOperations = 10

// related is the content of the sections about the objects that are related to a release.
type related struct {
	// Plan is nil if there is none, or if PlanNote has the reason why it is not shown.
	Plan     *plan
	PlanNote string

	Dependencies view.Dependencies

	Operations     view.Limited[view.OperationRow]
	OperationsNote string

	// Hooks are the hooks of both versions, and HookNotes say what is not known of them.
	Hooks     view.Limited[view.HookRow]
	HookNotes []string
}

// Limits of the lists of a plan.
const maxChanges, maxFields, maxEntries, maxDestructive = 100, 30, 100, 20

// plan is a ReleasePlan with lists of bounded length.
type plan struct {
	view.Plan
	// Destructive are the changes that may lose data.
	Destructive view.Limited[planChange]
	Changes     []planChanges
	Images      view.Limited[v1alpha1.PlanImage]
	Values      view.Limited[v1alpha1.PlanValue]
	Hooks       view.Limited[v1alpha1.PlanHook]
	// Warnings are warnings of the API server.
	Warnings view.Limited[string]
}

// planChanges are the changes of objects or of CRDs.
type planChanges struct {
	Title string
	view.Limited[planChange]
}

// planChange is the change of one object.
type planChange struct {
	Change      v1alpha1.ChangeKind
	Object      view.Object
	Destructive bool
	Reason      string
	Fields      view.Limited[v1alpha1.PlanField]
}

// readRelated reads the objects that are related to a release. The reader must have the identity of the release.
func (s *site) readRelated(ctx context.Context, viewer *access.Viewer, reader *read.Reader, hr *helmv2.HelmRelease) (related, error) {
	r := related{}
	hooks := view.HookFacts{Release: hr}
	switch found, err := viewer.Plan(ctx, hr); {
	case apierrors.IsForbidden(err):
		r.PlanNote = "You may not get ReleasePlans in this namespace."
	case err != nil:
		r.PlanNote = "The plan could not be read: " + err.Error()
	case found != nil:
		r.Plan, hooks.Plan = planOf(view.PlanOf(found)), found
	}
	dependents, err := viewer.Dependents(ctx, hr)
	if err != nil {
		return r, err
	}
	r.Dependencies = view.DependenciesOf(reader.Dependencies(ctx, hr), len(hr.Spec.DependsOn), dependents, s.Now())
	switch all, err := viewer.OperationsIn(ctx, hr.Namespace); {
	case apierrors.IsForbidden(err):
		r.OperationsNote = "You may not get Operations in this namespace."
	case err != nil:
		r.OperationsNote = "Operations could not be read: " + err.Error() + "."
	default:
		r.Operations, hooks.Operations = view.OperationsOf(all, hr, newestOperations, s.Now()), all
	}
	if hooks.Hooks, hooks.Revision, err = reader.Hooks(ctx, hr); err != nil {
		hooks.Notes = append(hooks.Notes, "The installed hooks could not be read: "+err.Error()+".")
	}
	listed := view.HooksOf(hooks)
	r.Hooks, r.HookNotes = view.First(listed.Items, maxEntries), listed.Notes
	return r, nil
}

// planOf returns a plan with lists of bounded length.
func planOf(v view.Plan) *plan {
	p := &plan{
		Plan: v, Images: view.First(v.Content.Images, maxEntries), Values: view.First(v.Content.Values, maxEntries),
		Hooks: view.First(v.Content.Hooks, maxEntries), Warnings: view.First(v.Content.Warnings, maxEntries),
	}
	var destructive []planChange
	for _, all := range []struct {
		title   string
		changes []v1alpha1.PlanChange
	}{{"Changes", v.Content.Changes}, {"Changes of CRDs", v.Content.CRDs}} {
		if len(all.changes) > 0 {
			p.Changes = append(p.Changes, changesOf(all.title, all.changes))
		}
		for _, c := range all.changes {
			if c.Destructive {
				destructive = append(destructive, changeOf(c))
			}
		}
	}
	p.Destructive = view.First(destructive, maxDestructive)
	return p
}

func changesOf(title string, all []v1alpha1.PlanChange) planChanges {
	first := view.First(all, maxChanges)
	c := planChanges{Title: title, Limited: view.Limited[planChange]{More: first.More}}
	for _, a := range first.Entries {
		c.Entries = append(c.Entries, changeOf(a))
	}
	return c
}

func changeOf(c v1alpha1.PlanChange) planChange {
	return planChange{
		Change: c.Change, Object: view.Object{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name},
		Destructive: c.Destructive, Reason: c.Reason, Fields: view.First(c.Fields, maxFields),
	}
}
