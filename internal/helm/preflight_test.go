// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestDeletedDuringDryRun: an object that is deleted between the read and the patch of a
// client-side dry run is created by the upgrade.
func TestDeletedDuringDryRun(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "one")
	gone := false
	w.Refuse = func(method, path string) int {
		if method != http.MethodPatch || path != configMapPath || gone {
			return 0
		}
		gone = true
		w.Remove(path)
		return http.StatusNotFound
	}
	j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
	j.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyDisabled}
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
		t.Error(out.Err)
	}
	if object := w.Object(configMapPath); !gone || object == nil || !strings.Contains(fmt.Sprint(object.Object["data"]), "two") {
		t.Errorf("it was deleted: %t; it is %v", gone, object)
	}
}
