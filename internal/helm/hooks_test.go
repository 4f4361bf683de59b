// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/helm/apitest"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestLeftOverHook: the message about a hook whose object exists names the object and what to do.
func TestLeftOverHook(t *testing.T) {
	w := newWorld(t)
	w.Put(jobPath, apitest.Parse(t, jobYAML).Object)
	artifact := w.chart("1.0.0", map[string]string{
		"templates/job.yaml": strings.Replace(jobYAML, "name: migrate", "name: migrate, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}", 1),
	})
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil))
	const want = "Job/prod/migrate already exists, from an earlier run of the hook or from another client; delete it, or add before-hook-creation to the annotation helm.sh/hook-delete-policy of the hook"
	if out.Err == nil || !strings.Contains(out.Err.Error(), want) {
		t.Errorf("error %v", out.Err)
	}
}
