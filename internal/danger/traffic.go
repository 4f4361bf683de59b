// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// services finds Services that lose their endpoints. Services whose Pods come from elsewhere, such as
// from an operator, do not count.
func (w *world) services() {
	w.pairsOfAll(func(was, is *object) {
		selector, had := fields(is.content, "spec", "selector"), fields(was.content, "spec", "selector")
		if !is.is("Service") || len(selector) == 0 || !selects(w.before, had) {
			return
		}
		switch {
		case !selects(w.after, selector):
			w.add(v1alpha1.Outage, is, "it loses its endpoints: its selector matches no workload of the release")
		case !selects(w.before, selector):
			w.add(v1alpha1.Outage, is, "its new selector matches none of the present Pods: it has no endpoints until new Pods are ready")
		}
	})
}

// pairsOfAll calls do as pairs does, and for objects that the new revision does not contain and that
// stay.
func (w *world) pairsOfAll(do func(was, is *object)) {
	for _, is := range w.after.all {
		if was := w.before.by[is.key]; was != nil && !is.hook {
			do(was, is)
		}
	}
}

// selects reports whether a selector matches the Pods of a workload.
func selects(all objects, selector map[string]any) bool {
	for _, o := range all.all {
		if labels := fields(o.template(), "metadata", "labels"); !o.hook && len(selector) > 0 && len(labels) > 0 && includes(labels, selector) {
			return true
		}
	}
	return false
}

// hosts finds hosts that no Ingress or route has after the action.
func (w *world) hosts() {
	after := map[string]bool{}
	for _, o := range w.after.all {
		for _, host := range hostsOf(o) {
			after[host] = true
		}
	}
	for _, o := range w.before.all {
		var lost []string
		for _, host := range hostsOf(o) {
			_, domain, _ := strings.Cut(host, ".")
			if !after[host] && !after["*"] && !after["*."+domain] {
				lost = append(lost, host)
			}
		}
		if len(lost) > 0 {
			w.add(v1alpha1.Outage, o, "its host %s is lost", few(lost))
		}
	}
}

// hostsOf returns the hosts of an Ingress or of a route of the Gateway API. "*" are all hosts.
func hostsOf(o *object) []string {
	var hosts []string
	switch {
	case o.is("Ingress.networking.k8s.io"):
		for _, rule := range list(o.content, "spec", "rules") {
			host := text(rule, "host")
			if host == "" {
				host = "*"
			}
			hosts = append(hosts, host)
		}
	case o.group == "gateway.networking.k8s.io" && strings.HasSuffix(o.kind, "Route"):
		hosts = texts(o.content, "spec", "hostnames")
	}
	return hosts
}
