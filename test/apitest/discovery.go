// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const discovered = `{"kind":"APIResourceList","groupVersion":"%s","resources":[%s]}`

// resources are the default resources, by group and version.
func resources() map[string][]string {
	return map[string][]string{
		"v1":                   {entry("configmaps", "ConfigMap", true), entry("secrets", "Secret", true), entry("namespaces", "Namespace", false), entry("pods", "Pod", true), entry("services", "Service", true), entry("serviceaccounts", "ServiceAccount", true), entry("persistentvolumeclaims", "PersistentVolumeClaim", true)},
		"apps/v1":              {entry("deployments", "Deployment", true)},
		"batch/v1":             {entry("jobs", "Job", true)},
		"networking.k8s.io/v1": {entry("ingresses", "Ingress", true)},
		"apiextensions.k8s.io/v1": {
			entry("customresourcedefinitions", "CustomResourceDefinition", false),
		},
	}
}

func discovery(path string, known map[string][]string) (string, bool) {
	if path == "/version" {
		return `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`, true
	}
	if path == "/readyz" {
		return "ok", true
	}
	if path == "/openapi/v2" {
		// An empty schema, against which Helm can validate hooks.
		return "", true
	}
	if path == "/api" {
		return `{"kind":"APIVersions","versions":["v1"]}`, true
	}
	if path == "/apis" {
		var all []string
		for _, group := range groups(known) {
			all = append(all, group)
		}
		return `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(all, ",") + `]}`, true
	}
	if group, ok := groups(known)[strings.TrimPrefix(path, "/apis/")]; ok {
		return group, true
	}
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	list, ok := known[gv]
	return fmt.Sprintf(discovered, gv, strings.Join(list, ",")), ok
}

// groups returns the discovery of the API groups, by name. The last version is the preferred one.
func groups(known map[string][]string) map[string]string {
	versions, all := map[string][]string{}, map[string]string{}
	for _, gv := range slices.Sorted(maps.Keys(known)) {
		if group, version, ok := strings.Cut(gv, "/"); ok {
			v := fmt.Sprintf(`{"groupVersion":%q,"version":%q}`, gv, version)
			versions[group] = append(versions[group], v)
			all[group] = fmt.Sprintf(`{"kind":"APIGroup","apiVersion":"v1","name":%q,"versions":[%s],"preferredVersion":%s}`,
				group, strings.Join(versions[group], ","), v)
		}
	}
	return all
}

// isServed reports whether the path of an object is of a group and version that is served.
func isServed(path string, known map[string][]string) bool {
	of, ok := strings.CutPrefix(path, "/apis/")
	parts := strings.Split(of, "/")
	if !ok || len(parts) < 3 {
		return true
	}
	_, ok = known[parts[0]+"/"+parts[1]]
	return ok
}

// Entry returns a resource for Server.Offered.
func Entry(name, kind string) string { return entry(name, kind, true) }

// ClusterEntry returns a resource without namespaces.
func ClusterEntry(name, kind string) string { return entry(name, kind, false) }

func entry(name, kind string, namespaced bool) string {
	return fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%t,"verbs":["get","create","update","patch","delete","list"]}`, name, kind, namespaced)
}

// Discovery returns the answer to a discovery request for the default resources, and whether the
// path is one of discovery.
func Discovery(path string) (string, bool) { return discovery(path, resources()) }
