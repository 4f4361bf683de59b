// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Order returns the indexes of the hooks of a release in the order in which they run: by weight and
// name, as with Helm. But hooks that a Job needs go before it, if they have its weight and one of its
// events: by name, a Job may precede its own ServiceAccount.
//
// A chart may have very many hooks, so each of them is parsed at most once.
func Order(hooks []Hook, namespace string) []int {
	o := &ordering{
		hooks: hooks, namespace: namespace, placed: make([]bool, len(hooks)),
		at: map[place]int{}, grants: map[place][]int{}, granted: map[string]bool{},
	}
	sorted := make([]int, len(hooks))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return byWeight(hooks[a], hooks[b]) })
	if slices.ContainsFunc(hooks, func(h Hook) bool { return h.Kind == kindJob }) {
		o.index(sorted)
	}
	for _, i := range sorted {
		if hooks[i].Kind == kindJob {
			o.placeNeeds(i)
		}
		o.place(i)
	}
	return o.order
}

// First returns the index of the hook of an event that runs first; -1 if the event has no hook.
func First(hooks []Hook, namespace, event string) int {
	for _, i := range Order(hooks, namespace) {
		if slices.Contains(hooks[i].Events, event) {
			return i
		}
	}
	return -1
}

// place identifies a hook among the hooks of one weight.
type place struct {
	weight     int
	kind, name string
}

// ordering is the state of Order.
type ordering struct {
	hooks     []Hook
	namespace string
	order     []int
	placed    []bool
	// at has the index of each hook that is neither Job nor Pod. grants are the roles and bindings of
	// each ServiceAccount.
	at     map[place]int
	grants map[place][]int
	// granted are the ServiceAccounts whose grants are placed, with the events of the Job.
	granted map[string]bool
}

func (o *ordering) place(i int) {
	if !o.placed[i] {
		o.placed[i] = true
		o.order = append(o.order, i)
	}
}

// index finds the hooks that Jobs may need.
func (o *ordering) index(sorted []int) {
	for _, i := range sorted {
		at := place{o.hooks[i].Weight, o.hooks[i].Kind, o.hooks[i].Name}
		if _, found := o.at[at]; !found && !runs(o.hooks[i]) {
			o.at[at] = i
		}
	}
	for _, i := range sorted {
		h := o.hooks[i]
		if h.Kind != kindRoleBinding && h.Kind != kindClusterRoleBinding {
			continue
		}
		// A ClusterRoleBinding has the same fields.
		var binding rbacv1.RoleBinding
		if object, err := parse(h.Manifest); err != nil || read(object, &binding) != nil {
			continue
		}
		for _, s := range binding.Subjects {
			if s.Kind != kindServiceAccount || s.Namespace != "" && s.Namespace != o.namespace {
				continue
			}
			account := place{h.Weight, kindServiceAccount, s.Name}
			if role, found := o.at[place{h.Weight, binding.RoleRef.Kind, binding.RoleRef.Name}]; found {
				o.grants[account] = append(o.grants[account], role)
			}
			o.grants[account] = append(o.grants[account], i)
		}
	}
}

// placeNeeds places the hooks without which the Pods of a Job do not start, or lack rights.
func (o *ordering) placeNeeds(job int) {
	h := o.hooks[job]
	var spec batchv1.JobSpec
	if object, err := parse(h.Manifest); err != nil || read(object["spec"], &spec) != nil {
		return
	}
	pod := spec.Template.Spec
	needs := &closure{optional: true}
	needs.pod(pod)
	for _, n := range needs.needs {
		if k, found := o.at[place{h.Weight, n.Kind, n.Name}]; found {
			o.placeFor(job, k)
		}
	}
	account := cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount)
	if key := fmt.Sprint(h.Weight, account, h.Events); !o.granted[key] {
		o.granted[key] = true
		for _, k := range o.grants[place{h.Weight, kindServiceAccount, account}] {
			o.placeFor(job, k)
		}
	}
}

// placeFor places a hook that a Job needs, if it runs for an event of the Job.
func (o *ordering) placeFor(job, k int) {
	if slices.ContainsFunc(o.hooks[k].Events, func(e string) bool { return slices.Contains(o.hooks[job].Events, e) }) {
		o.place(k)
	}
}
