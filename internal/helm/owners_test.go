// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"net/http"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
	"github.com/pintle-dev/pintle/test/storagetest"
)

// TestNeverWorked: if no revision of a release ever worked, all its objects are checked, since it
// is not known which of them it created.
func TestNeverWorked(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == http.MethodPatch && path == twoPath {
			return http.StatusForbidden
		}
		return 0
	}
	fails := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", twoNotes("x")), "1.0.0", nil)
	if out := w.runner.Run(t.Context(), w.conn, fails); out.Err == nil || !out.Stored() {
		t.Fatalf("%v", out.Err)
	}
	w.Refuse = nil
	storagetest.Store(t, w.Server, "prod", storagetest.Revision(1, helmrelease.StatusDeployed, strings.Replace(oneYAML, "one", "two", 1)))
	w.Put(twoPath, apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: prod}}\n").Object)

	again := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.0.1", twoNotes("x")), "1.0.1", nil)
	out := w.runner.Run(t.Context(), w.conn, again)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "ConfigMap/prod/two is owned by Helm release prod/shop") || strings.Contains(out.Err.Error(), "prod/one") {
		t.Errorf("error %v", out.Err)
	}
	if len(out.Owners) != 1 || out.Stored() || len(w.stored()) != 1 {
		t.Errorf("owners %v, %d revisions", out.Owners, len(w.stored()))
	}
	helmRelease := job(release.Upgrade{Timeout: time.Minute}, again.Artifact, "1.0.1", nil)
	helmRelease.Spec.Upgrade = &helmv2.Upgrade{DisableTakeOwnership: true, DisableWait: true}
	if out = w.runner.Run(t.Context(), w.conn, helmRelease); out.Err == nil || len(out.Owners) != 1 {
		t.Errorf("it does not depend on what is to be taken: %v", out.Err)
	}
}
