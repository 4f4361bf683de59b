// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// The versions of a HookRow.
const (
	HookInstalled = "installed"
	HookNext      = "next"
)

// HookRow is a hook of the installed or of the next version of a release.
type HookRow struct {
	Version string `json:"version"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Events  string `json:"events"`
	// Weight is nil if it is not known: plans do not have it.
	Weight       *int   `json:"weight,omitempty"`
	DeletePolicy string `json:"deletePolicy,omitempty"`
	// LastRun is nil if no run is known.
	LastRun *HookRun `json:"lastRun,omitempty"`
	// Command runs the hook as an Operation; empty if none can.
	Command string `json:"command,omitempty"`
}

// HookRun is a run of a hook.
type HookRun struct {
	// By is Helm or an Operation.
	By     string    `json:"by"`
	Result string    `json:"result"`
	At     time.Time `json:"at"`
}

// Hooks are the hooks of a release.
type Hooks struct {
	// Revision is the revision with the installed hooks; zero without one.
	Revision int       `json:"revision,omitempty"`
	Items    []HookRow `json:"items"`
	// Notes say what is not known.
	Notes []string `json:"notes,omitempty"`
}

// HookFacts are what was read about the hooks of a release.
type HookFacts struct {
	Release  *helmv2.HelmRelease
	Revision int
	Hooks    []Hook
	// Operations are the Operations in the namespace of the HelmRelease.
	Operations []opsv1alpha1.Operation
	// Plan is nil if there is none.
	Plan *v1alpha1.ReleasePlan
	// Notes say what could not be read.
	Notes []string
}

// HooksOf returns the hooks of the installed version in the order of their events' runs, and then the
// hooks that the plan of the next version runs.
func HooksOf(f HookFacts) Hooks {
	hr := f.Release
	all := Hooks{Revision: f.Revision, Items: []HookRow{}, Notes: slices.Clone(f.Notes)}
	sorted := slices.Clone(f.Hooks)
	slices.SortStableFunc(sorted, func(a, b Hook) int {
		if a.Weight != b.Weight {
			return a.Weight - b.Weight
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, h := range sorted {
		weight := h.Weight
		row := HookRow{Version: HookInstalled, Name: h.Name, Kind: h.Kind, Events: h.Events, Weight: &weight, DeletePolicy: h.DeletePolicy, LastRun: lastRun(f, h)}
		if runnable(h) {
			row.Command = fmt.Sprintf("kubectl pintle run %s %s -n %s", hr.Name, h.Name, hr.Namespace)
		}
		all.Items = append(all.Items, row)
	}
	if !isNext(f.Plan) {
		all.Notes = append(all.Notes, fmt.Sprintf("The hooks of the next version are not known. Request a plan: kubectl pintle plan %s -n %s --request", hr.Name, hr.Namespace))
		return all
	}
	for _, h := range f.Plan.Status.Hooks {
		row := HookRow{Version: HookNext, Name: h.Name, Kind: h.Kind, Events: strings.Join(h.Events, ", ")}
		if (h.Kind == "Job" || h.Kind == "Pod") && f.Plan.Status.Action == v1alpha1.PlanUpgrade && slices.Contains(h.Events, "pre-upgrade") {
			row.Command = fmt.Sprintf("kubectl pintle run %s %s --from=next -n %s", hr.Name, h.Name, hr.Namespace)
		}
		all.Items = append(all.Items, row)
	}
	return all
}

// isNext reports whether a plan is of an action that has not run.
func isNext(p *v1alpha1.ReleasePlan) bool {
	if p == nil || p.Status.Digest == "" {
		return false
	}
	state := PlanOf(p).State
	return state != v1alpha1.ReasonApplied && state != "ApplyFailed"
}

// runnable reports whether an Operation runs the hook: a Job or Pod with an event of an existing release.
func runnable(h Hook) bool {
	never := []string{string(opsv1alpha1.EventPreInstall), string(opsv1alpha1.EventPreDelete), string(opsv1alpha1.EventPostDelete)}
	return (h.Kind == "Job" || h.Kind == "Pod") && slices.ContainsFunc(strings.Split(h.Events, ", "), func(event string) bool {
		return !slices.Contains(never, event)
	})
}

// lastRun returns the last run of a hook by Helm, or by an Operation that still exists.
func lastRun(f HookFacts, h Hook) *HookRun {
	var last *HookRun
	if !h.Ran.IsZero() {
		last = &HookRun{By: "Helm", Result: h.Result, At: h.Ran.UTC()}
	}
	if h.Kind != "Job" && h.Kind != "Pod" {
		return last
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		if op.Namespace != f.Release.Namespace || op.Status.Outputs == nil || !isFor(op, f.Release) {
			continue
		}
		for _, j := range op.Status.Outputs.Jobs {
			if j.Hook == h.Name && !j.StartedAt.IsZero() && (last == nil || j.StartedAt.After(last.At)) {
				last = &HookRun{By: "Operation " + op.Name, Result: string(j.Phase), At: j.StartedAt.UTC()}
			}
		}
	}
	return last
}
