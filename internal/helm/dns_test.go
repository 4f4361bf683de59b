// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestAllowDNS: the result of a template must not depend on DNS, unless an administrator allows it.
func TestAllowDNS(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		w := newWorld(t)
		artifact := w.chart("1.0.0", map[string]string{
			"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {found: {{ ne (getHostByName \"localhost\") \"\" | quote }}}\n",
		})
		for _, action := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
			j := job(action, artifact, "1.0.0", map[string]any{})
			j.AllowDNS = allowed
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			want := map[bool]string{false: "false", true: "true"}[allowed]
			if got, _, err := nested(w, configMapPath, "data", "found"); err != nil || got != want {
				t.Errorf("%s with lookups allowed %t: found %q, %v", release.Name(action), allowed, got, err)
			}
		}
	}
}
