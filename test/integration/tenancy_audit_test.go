// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"
)

// ownRequests: without impersonation, the controller requests only data that it needs to determine
// the identity. This check runs last, since it reads all audit logs.
func (y *tenancy) ownRequests(t *testing.T) {
	foreign := map[string]request{}
	asTenant, own := map[string]int{}, 0
	for _, r := range y.requests(t) {
		switch {
		case r.Impersonated != nil:
			if !strings.HasPrefix(r.Impersonated.Username, "system:serviceaccount:tenant-") {
				t.Errorf("a wrong identity was impersonated: %s", r.Impersonated.Username)
			}
			asTenant[r.what()]++
		case r.controllers():
			own++
		default:
			foreign[r.what()] = r
		}
	}
	for what, r := range foreign {
		t.Errorf("the controller sent without impersonation %s: %s", what, r.RequestURI)
	}
	if own == 0 {
		t.Error("no requests: is the audit log enabled?")
	}
	for _, what := range []string{"create secrets", "update secrets", "get secrets", "list secrets", "patch configmaps", "create configmaps", "delete configmaps", "create namespaces"} {
		if asTenant[what] == 0 {
			t.Errorf("no tenant was impersonated to %s", what)
		}
	}
	t.Logf("the controller itself: %d requests; as tenants: %v", own, asTenant)
}

func (r request) what() string {
	if r.Object == nil {
		return r.Verb + " " + r.RequestURI
	}
	what := r.Verb + " " + r.Object.Resource
	if r.Object.Subresource != "" {
		what += "/" + r.Object.Subresource
	}
	return what
}

// controllers reports whether the controller may send a request without impersonation: watches,
// HelmReleases, the sources of their charts, values, kubeconfigs and identities, and status
// updates.
func (r request) controllers() bool {
	if r.Object == nil || r.Verb == "watch" {
		return true
	}
	known := map[string][]string{
		"helm.toolkit.fluxcd.io":   {"get helmreleases", "patch helmreleases", "patch helmreleases/status"},
		"source.toolkit.fluxcd.io": {"get ocirepositories", "get helmcharts", "patch helmcharts", "delete helmcharts"},
		"":                         {"get serviceaccounts", "create events", "patch events"},
		"coordination.k8s.io":      {"get leases", "create leases", "update leases"},
	}
	switch {
	case r.Verb == "list":
		// A watch begins with this request. A request for one release has a namespace.
		return r.Object.Namespace == ""
	case r.what() == "get namespaces":
		// A release may be given up only in a namespace that is being deleted.
		return r.Object.Name == "tenant-a"
	case r.what() == "get secrets":
		return r.Object.Namespace == "tenant-a" && r.Object.Name == "treasure"
	}
	return slices.Contains(known[r.Object.Group], r.what())
}
