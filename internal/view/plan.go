// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/release"
)

// Plan is a ReleasePlan.
type Plan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is Computing, Computed, Failed, Refused, Rejected, AwaitingApproval, Approved,
	// NotRequired, Applied or ApplyFailed.
	State string `json:"state"`
	// Sentence is the state in one sentence.
	Sentence   string                     `json:"sentence"`
	ApprovedBy string                     `json:"approvedBy,omitempty"`
	Created    *time.Time                 `json:"created,omitempty"`
	Content    v1alpha1.ReleasePlanStatus `json:"content"`
}

// PlanOf returns the view of a ReleasePlan. Its content has no values of Secrets.
func PlanOf(p *v1alpha1.ReleasePlan) Plan {
	v := Plan{Namespace: p.Namespace, Name: p.Name, ApprovedBy: p.Spec.ApprovedBy, Created: timeOf(&p.CreationTimestamp), Content: p.Status}
	find := func(kind string) metav1.Condition {
		if c := apimeta.FindStatusCondition(p.Status.Conditions, kind); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
	ready, approved, applied := find(v1alpha1.ConditionReady), find(v1alpha1.ConditionApproved), find(v1alpha1.ConditionApplied)
	switch {
	case p.Status.Digest == "" && ready.Status == "":
		v.State, v.Sentence = "Computing", "The plan is not computed yet."
	case applied.Status == metav1.ConditionTrue:
		v.State, v.Sentence = v1alpha1.ReasonApplied, "The plan was applied. It is deleted an hour later."
	case applied.Reason == v1alpha1.ReasonFailed:
		v.State, v.Sentence = "ApplyFailed", "The action of the plan has failed: "+applied.Message
	case ready.Status == metav1.ConditionFalse:
		v.State, v.Sentence = ready.Reason, "The plan cannot be applied: "+ready.Message
	case approved.Status == metav1.ConditionTrue && approved.Reason == v1alpha1.ReasonNotRequired:
		v.State, v.Sentence = approved.Reason, "No policy requires an approval."
	case approved.Status == metav1.ConditionTrue:
		v.State, v.Sentence = v1alpha1.ReasonApproved, fmt.Sprintf("The plan is approved by %s, and applied next.", or(p.Spec.ApprovedBy, "an unnamed user"))
	case approved.Status == "":
		v.State, v.Sentence = v1alpha1.ReasonComputed, "The plan is computed. Whether it needs an approval is not decided yet."
	default:
		v.State, v.Sentence = or(approved.Reason, v1alpha1.ReasonAwaitingApproval), waitsFor(approved.Reason, p.Spec)
	}
	return v
}

// Plans returns the views of plans, those that wait or have failed first.
func Plans(all []v1alpha1.ReleasePlan) []Plan {
	order := []string{
		v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonRefused, v1alpha1.ReasonFailed, "ApplyFailed", v1alpha1.ReasonRejected, "Computing",
		v1alpha1.ReasonComputed, v1alpha1.ReasonNotRequired, v1alpha1.ReasonApproved, v1alpha1.ReasonApplied,
	}
	views := make([]Plan, 0, len(all))
	for i := range all {
		views = append(views, PlanOf(&all[i]))
	}
	slices.SortFunc(views, func(a, b Plan) int {
		return cmp.Or(slices.Index(order, a.State)-slices.Index(order, b.State), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return views
}

// Versions returns the charts before and after the action of a plan.
func (v Plan) Versions() string {
	from, to := "nothing", "nothing"
	if p := v.Content.From; p != nil {
		from = fmt.Sprintf("%s (revision %d)", p.Chart, p.Revision)
	}
	if p := v.Content.To; p != nil {
		to = p.Chart
		if p.Source != "" {
			to += " (source " + p.Source + ")"
		}
	}
	return from + " to " + to
}

func waitsFor(reason string, spec v1alpha1.ReleasePlanSpec) string {
	if reason == v1alpha1.ReasonRejected {
		return "The plan is rejected" + release.RejectionOf(spec) + ". Nothing is changed until there is another plan."
	}
	return "The plan waits for approval. Nothing is changed until then."
}

// Approve sets the approval of a plan, with the objects that are replaced: KIND/NAME or
// NAMESPACE/KIND/NAME. It fails if the plan cannot be approved, or if its digest differs from seen, the
// digest that the user has seen; an empty seen means any.
func Approve(p *v1alpha1.ReleasePlan, seen, user string, replace ...string) error {
	v := PlanOf(p)
	switch {
	case p.Status.Digest == "":
		return fmt.Errorf("plan %s/%s is not computed: %s", p.Namespace, p.Name, v.Sentence)
	case seen != "" && seen != p.Status.Digest:
		return fmt.Errorf("plan %s/%s is another one by now, with digest %s: look at it first; nothing was approved", p.Namespace, p.Name, p.Status.Digest)
	}
	named, err := replacedObjects(&p.Status, replace)
	if err != nil {
		return err
	}
	approved := v1alpha1.ReleasePlanSpec{Approved: p.Status.Digest, ApprovedBy: user, Override: p.Spec.Override}
	if len(named) > 0 {
		approved.Replace = &v1alpha1.PlanReplace{Digest: p.Status.Digest, Objects: named}
	}
	if v.State == v1alpha1.ReasonFailed || v.State == v1alpha1.ReasonRefused && !isMended(p, approved) {
		return fmt.Errorf("plan %s/%s cannot be approved: %s%s", p.Namespace, p.Name, v.Sentence, replaceable(&p.Status, named))
	}
	p.Spec = approved
	return nil
}

// isMended reports whether an approval replaces all objects whose changes the API server refuses. A plan
// without such objects was refused by a policy.
func isMended(p *v1alpha1.ReleasePlan, approved v1alpha1.ReleasePlanSpec) bool {
	if approved.ApprovedBy == "" {
		approved.ApprovedBy = "a user to be known"
	}
	status := p.Status.DeepCopy()
	r := release.ReplaceOf(&v1alpha1.ReleasePlan{Spec: approved, Status: *status}, "")
	return status.Summary.Refused > 0 && r != nil && release.RefusedOf(status, r) == ""
}

// replaceable returns which other objects of a plan an approval can replace, as the end of a sentence.
func replaceable(status *v1alpha1.ReleasePlanStatus, named []v1alpha1.PlanObject) string {
	var text string
	for _, c := range status.Changes {
		o := v1alpha1.PlanObject{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
		if c.Change == v1alpha1.ChangeRefused && c.Replacement != nil && c.Replacement.Refused == "" && !slices.Contains(named, o) {
			text += fmt.Sprintf("; --replace %s/%s would replace it", c.Kind, c.Name)
		}
	}
	return text
}

// replacedObjects returns the objects of a plan that names stand for. It fails if one cannot be replaced.
func replacedObjects(status *v1alpha1.ReleasePlanStatus, names []string) ([]v1alpha1.PlanObject, error) {
	var all []v1alpha1.PlanObject
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return nil, fmt.Errorf("%q names no object: it must be KIND/NAME or NAMESPACE/KIND/NAME", name)
		}
		namespace, kind, object := "", parts[len(parts)-2], parts[len(parts)-1]
		if len(parts) > 2 {
			namespace = parts[0]
		}
		var found []v1alpha1.PlanObject
		for _, c := range status.Changes {
			if strings.EqualFold(c.Kind, kind) && c.Name == object && (namespace == "" || c.Namespace == namespace) {
				found = append(found, v1alpha1.PlanObject{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name})
			}
		}
		switch {
		case len(found) == 0:
			return nil, fmt.Errorf("the plan does not change %s", name)
		case len(found) > 1:
			return nil, fmt.Errorf("the plan changes several objects %s: name one as NAMESPACE/KIND/NAME", name)
		}
		if _, err := release.ReplacedChange(status, found[0], ""); err != nil {
			return nil, err
		}
		if !slices.Contains(all, found[0]) {
			all = append(all, found[0])
		}
	}
	return all, nil
}

// Replaced describes the objects that the approval of a plan replaces, each in a sentence.
func Replaced(p *v1alpha1.ReleasePlan) []string {
	if !release.Replaces(p) {
		return nil
	}
	var all []string
	for _, o := range p.Spec.Replace.Objects {
		c, err := release.ReplacedChange(&p.Status, o, "")
		if err != nil {
			continue
		}
		text := Object{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}.String() + " is deleted and created anew"
		switch {
		case c.Replacement.DeletesClaims:
			text += ", and its claims are deleted with it"
		case c.Kind == "StatefulSet":
			text += ", and its claims stay"
		}
		all = append(all, text)
	}
	return all
}

// Override lets the action of a plan pass freezes and windows as a user, with the same checks as Approve.
func Override(p *v1alpha1.ReleasePlan, seen, user, reason string, now time.Time) error {
	v := PlanOf(p)
	switch {
	case p.Status.Digest == "":
		return fmt.Errorf("plan %s/%s is not computed: %s", p.Namespace, p.Name, v.Sentence)
	case seen != "" && seen != p.Status.Digest:
		return fmt.Errorf("plan %s/%s is another one by now, with digest %s: look at it first; nothing was overridden", p.Namespace, p.Name, p.Status.Digest)
	case v.State == v1alpha1.ReasonApplied, v.State == v1alpha1.ReasonRefused, v.State == v1alpha1.ReasonFailed, v.State == v1alpha1.ReasonRejected:
		return fmt.Errorf("policies cannot be overridden for plan %s/%s: %s", p.Namespace, p.Name, v.Sentence)
	}
	p.Spec.Override = &v1alpha1.PlanOverride{Digest: p.Status.Digest, By: user, Reason: reason, At: &metav1.Time{Time: now.UTC().Truncate(time.Second)}}
	return nil
}

// Reject rejects a plan as a user, who may give a reason, with the same checks as Approve.
func Reject(p *v1alpha1.ReleasePlan, seen, user, reason string) error {
	switch {
	case p.Status.Digest == "":
		return fmt.Errorf("plan %s/%s is not computed: %s", p.Namespace, p.Name, PlanOf(p).Sentence)
	case seen != "" && seen != p.Status.Digest:
		return fmt.Errorf("plan %s/%s is another one by now, with digest %s: look at it first; nothing was rejected", p.Namespace, p.Name, p.Status.Digest)
	}
	p.Spec.Rejected, p.Spec.RejectedBy, p.Spec.RejectionReason = p.Status.Digest, user, reason
	return nil
}
