// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	jobPath  = "/apis/batch/v1/namespaces/prod/jobs/migrate"
	jobYAML  = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n"
	oneYAML  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	onePath  = "/api/v1/namespaces/prod/configmaps/one"
	bothYAML = jobYAML + "---\n" + oneYAML
)

// patient returns the client of an install and the objects in manifests, none of which exists
// yet.
func patient(ctx context.Context, t *testing.T, w *world, idle func() func(), manifests string) (*apply.Client, kube.ResourceList) {
	t.Helper()
	j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
	j.Idle = idle
	r, err := w.runner.prepare(ctx, w.conn, j, redact.Redactor{}, false)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.client.Build(strings.NewReader(manifests), false)
	if err != nil {
		t.Fatal(err)
	}
	return r.client, list
}
