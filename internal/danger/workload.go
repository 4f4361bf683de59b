// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// template returns the template of the Pods of an object, or the object if it is a Pod; nil if there
// is none. Custom resources have templates too.
func (o *object) template() map[string]any {
	if o.is("Pod") {
		return o.content
	}
	for _, path := range [][]string{{"spec", "jobTemplate", "spec", "template"}, {"spec", "template"}} {
		if t := fields(o.content, path...); fields(t, "spec") != nil {
			return t
		}
	}
	return nil
}

// containers returns all containers of an object.
func (o *object) containers() []map[string]any {
	spec := fields(o.template(), "spec")
	return append(list(spec, "initContainers"), list(spec, "containers")...)
}

// replicas finds objects that are scaled to zero.
func (w *world) replicas() {
	w.pairs(func(was, is *object) {
		n, set := number(at(is.content, "spec", "replicas"))
		if before, known := number(at(was.content, "spec", "replicas")); set && n == 0 && (!known || before > 0) {
			w.add(v1alpha1.Outage, is, "it is scaled to zero")
		}
	})
}

// pods returns the least number of Pods of a workload: of its autoscaler, if it has one, or of the
// workload.
func pods(all objects, o *object) int {
	for _, a := range all.all {
		if a.is("HorizontalPodAutoscaler.autoscaling") && text(a.content, "spec", "scaleTargetRef", "kind") == o.kind &&
			text(a.content, "spec", "scaleTargetRef", "name") == o.name && a.key.namespace == o.key.namespace {
			if n, set := number(at(a.content, "spec", "minReplicas")); set {
				return n
			}
			return 1
		}
	}
	if n, set := number(at(o.content, "spec", "replicas")); set {
		return n
	}
	return 1
}

// restarts finds workloads of several Pods that all stop at once. A workload of one Pod stops with each
// upgrade, and that is no news.
func (w *world) restarts() {
	w.pairs(func(was, is *object) {
		if is.template() == nil || equal(was.template(), is.template()) {
			return
		}
		n := pods(w.after, is)
		strategy := fields(is.content, "spec", "strategy")
		switch {
		case is.is(deployment) && text(strategy, "type") == "Recreate":
			if n > 1 {
				w.add(v1alpha1.Outage, is, "all %d Pods stop before the first new one starts (strategy Recreate)", n)
			}
			return
		case is.is(daemonSet):
			// The number of nodes is not known.
			n = 100
			strategy = fields(is.content, "spec", "updateStrategy")
		case is.is(statefulSet):
			strategy = fields(is.content, "spec", "updateStrategy")
		case !is.is(deployment):
			return
		}
		gone, set := portion(at(strategy, "rollingUpdate", "maxUnavailable"), n, math.Floor)
		if set && n > 1 && gone >= n && text(strategy, "type") != "OnDelete" {
			w.add(v1alpha1.Outage, is, "all its Pods may stop at once (maxUnavailable %v)", at(strategy, "rollingUpdate", "maxUnavailable"))
		}
	})
}

// budgets finds PodDisruptionBudgets that newly block each eviction.
func (w *world) budgets() {
	for _, is := range w.after.all {
		if !is.is("PodDisruptionBudget.policy") {
			continue
		}
		why := blocks(w.after, is)
		if was := w.before.by[is.key]; why != "" && (was == nil || blocks(w.before, was) == "") {
			w.add(v1alpha1.Outage, is, "it lets no Pod be evicted (%s), so that nodes cannot be drained", why)
		}
	}
}

// blocks returns why a PodDisruptionBudget lets no Pod be evicted; empty if it does.
func blocks(all objects, budget *object) string {
	selector, n := fields(budget.content, "spec", "selector", "matchLabels"), 0
	for _, o := range all.all {
		if labels := fields(o.template(), "metadata", "labels"); len(selector) > 0 && !o.hook && includes(labels, selector) && len(labels) > 0 {
			n += pods(all, o)
		}
	}
	if max := at(budget.content, "spec", "maxUnavailable"); max != nil {
		if allowed, ok := portion(max, 100, math.Ceil); ok && allowed == 0 {
			return fmt.Sprintf("maxUnavailable %v", max)
		}
		return ""
	}
	min := at(budget.content, "spec", "minAvailable")
	if min == "100%" {
		return "minAvailable 100%"
	}
	if needed, ok := portion(min, n, math.Ceil); ok && n > 0 && needed >= n {
		return fmt.Sprintf("minAvailable %v of %d", min, n)
	}
	return ""
}

// requests finds Pods that request at least half as much again, so that nodes may have no room for
// them. Small amounts do not count.
func (w *world) requests() {
	// Cores, and bytes.
	least := map[string]float64{"cpu": 0.1, "memory": 128 << 20}
	w.pairs(func(was, is *object) {
		for _, name := range []string{"cpu", "memory"} {
			before, after := was.requested(name), is.requested(name)
			a, b := before.AsApproximateFloat64(), after.AsApproximateFloat64()
			if a > 0 && b >= 1.5*a && b-a >= least[name] {
				w.add(v1alpha1.Outage, is, "each Pod requests %s of %s, before %s: nodes may have no room", after.String(), name, before.String())
			}
		}
	})
}

// requested returns how much of a resource the containers of a Pod request together.
func (o *object) requested(name string) resource.Quantity {
	var sum resource.Quantity
	for _, c := range list(fields(o.template(), "spec"), "containers") {
		value := at(c, "resources", "requests", name)
		if value == nil {
			value = at(c, "resources", "limits", name)
		}
		sum.Add(quantity(value))
	}
	return sum
}
