// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

const rbac = ".rbac.authorization.k8s.io"

// roles finds Roles with new permissions.
func (w *world) roles() {
	w.pairsOfAll(func(was, is *object) {
		if !is.is("Role"+rbac) && !is.is("ClusterRole"+rbac) {
			return
		}
		if added := uncovered(list(is.content, "rules"), list(was.content, "rules")); len(added) > 0 {
			w.add(v1alpha1.Access, is, "it newly grants %s", few(added))
		}
	})
}

// grant is a subject that is bound to a role, in a namespace; empty for all.
type grant struct{ namespace, subject, role string }

// bindings finds subjects that are bound to more roles than before. The permissions of roles of the
// release are compared, so that another name of a role is no danger.
func (w *world) bindings() {
	before := map[grant]bool{}
	for _, o := range w.before.all {
		for _, g := range w.grants(o) {
			before[g] = true
		}
	}
	for _, o := range w.after.all {
		for _, g := range w.grants(o) {
			rules, known := w.rulesOf(w.after, g)
			added := uncovered(rules, w.granted(before, g))
			switch {
			case before[g], known && len(added) == 0:
			case known:
				w.add(v1alpha1.Access, o, "it binds %s to %s, which grants %s", g.subject, g.role, few(added))
			default:
				w.add(v1alpha1.Access, o, "it binds %s to %s", g.subject, g.role)
			}
		}
	}
}

// grants returns what a binding grants.
func (w *world) grants(o *object) []grant {
	g := grant{role: text(o.content, "roleRef", "kind") + " " + text(o.content, "roleRef", "name")}
	switch {
	case o.is("RoleBinding" + rbac):
		g.namespace = o.key.namespace
	case !o.is("ClusterRoleBinding" + rbac):
		return nil
	}
	var all []grant
	for _, s := range list(o.content, "subjects") {
		g.subject = text(s, "kind") + " " + text(s, "name")
		if text(s, "kind") == "ServiceAccount" {
			g.subject = "ServiceAccount " + cmp.Or(text(s, "namespace"), w.namespace) + "/" + text(s, "name")
		}
		all = append(all, g)
	}
	return all
}

// rulesOf returns the rules of the role of a grant; false if the role is not one of the release.
func (w *world) rulesOf(all objects, g grant) ([]map[string]any, bool) {
	kind, name, _ := strings.Cut(g.role, " ")
	for _, o := range all.all {
		if o.is(kind+rbac) && o.name == name && (kind == "ClusterRole" || o.key.namespace == g.namespace) {
			return list(o.content, "rules"), true
		}
	}
	return nil, false
}

// granted returns the rules that the subject of a grant had in its namespace.
func (w *world) granted(before map[grant]bool, of grant) []map[string]any {
	var all []map[string]any
	for g := range before {
		if g.subject == of.subject && (g.namespace == "" || g.namespace == of.namespace) {
			rules, _ := w.rulesOf(w.before, g)
			all = append(all, rules...)
		}
	}
	return all
}

// uncovered returns the permissions of rules that others do not have, as "verbs on resource".
func uncovered(rules, others []map[string]any) []string {
	verbs := map[string][]string{}
	var order []string
	add := func(target, verb string) {
		if verbs[target] == nil {
			order = append(order, target)
		}
		if !slices.Contains(verbs[target], verb) {
			verbs[target] = append(verbs[target], verb)
		}
	}
	for _, r := range rules {
		for _, verb := range texts(r, "verbs") {
			for _, url := range texts(r, "nonResourceURLs") {
				if !slices.ContainsFunc(others, func(o map[string]any) bool { return has(o, "verbs", verb) && has(o, "nonResourceURLs", url) }) {
					add(url, verb)
				}
			}
			for _, group := range texts(r, "apiGroups") {
				for _, resource := range texts(r, "resources") {
					if !slices.ContainsFunc(others, func(o map[string]any) bool {
						return has(o, "verbs", verb) && has(o, "apiGroups", group) && has(o, "resources", resource) && names(o, r)
					}) {
						add(strings.TrimSuffix(resource+"."+group, "."), verb)
					}
				}
			}
		}
	}
	for i, target := range order {
		order[i] = strings.Join(verbs[target], "/") + " on " + target
	}
	return order
}

// has reports whether a list of a rule has an entry, or all.
func has(rule map[string]any, field, entry string) bool {
	return slices.ContainsFunc(texts(rule, field), func(s string) bool { return s == "*" || s == entry })
}

// names reports whether a rule is about all names of objects that another one is about.
func names(rule, other map[string]any) bool {
	all, needed := texts(rule, "resourceNames"), texts(other, "resourceNames")
	return len(all) == 0 || len(needed) > 0 && !slices.ContainsFunc(needed, func(name string) bool { return !slices.Contains(all, name) })
}

// nodeAccess finds Pods that newly have access to their node.
func (w *world) nodeAccess() {
	for _, is := range w.after.all {
		had := map[string]bool{}
		if was := w.before.by[is.key]; was != nil {
			had = was.nodeAccess()
		}
		if added := sortedNew(is.nodeAccess(), had); len(added) > 0 {
			w.add(v1alpha1.Access, is, "its Pods newly have access to their node: %s", few(added))
		}
	}
}

// nodeAccess returns the ways in which the Pods of an object have access to their node.
func (o *object) nodeAccess() map[string]bool {
	found := map[string]bool{}
	spec := fields(o.template(), "spec")
	for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if spec[field] == true {
			found[field] = true
		}
	}
	for _, v := range list(spec, "volumes") {
		if path := text(v, "hostPath", "path"); path != "" {
			found["hostPath "+path] = true
		}
	}
	for _, c := range o.containers() {
		if at(c, "securityContext", "privileged") == true {
			found["privileged"] = true
		}
	}
	return found
}
