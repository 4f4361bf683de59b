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

// TestDeniedDryRuns: denials of dry runs that may depend on other objects end an action before its
// first write, unless it insists: then the server decides about each object. Other errors always do.
func TestDeniedDryRuns(t *testing.T) {
	const denial = `admission webhook "a.example.com" denied the request: no dry runs here`
	for name, tc := range map[string]struct {
		reason string
		insist bool
		// refused is how many requests to apply the object are refused. The first one is a dry run.
		refused        int
		denied, stored bool
		err            string
	}{
		"First":    {denial, false, 9, true, false, "the API server would refuse: [ConfigMap/prod/app: " + denial + "]"},
		"Insists":  {denial, true, 1, false, true, ""},
		"Denies":   {denial, true, 9, false, true, "cannot apply ConfigMap/prod/app: " + denial},
		"Rights":   {"users may not do that", false, 9, false, false, "the API server would refuse: [ConfigMap/prod/app: users may not do that]"},
		"NoRights": {"users may not do that", true, 9, false, false, "the API server would refuse: [ConfigMap/prod/app: users may not do that]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", note())
			j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one"})
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			sent, before := 0, len(w.Requests)
			w.Reason = tc.reason
			w.Refuse = func(method, path string) int {
				if method != http.MethodPatch || path != configMapPath {
					return 0
				}
				if sent++; sent > tc.refused {
					return 0
				}
				return http.StatusForbidden
			}
			j = job(release.Upgrade{Timeout: time.Minute, Insist: tc.insist}, artifact, "1.0.0", map[string]any{"message": "two"})
			j.Spec.Upgrade = nil
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Denied != tc.denied || out.Stored() != tc.stored {
				t.Errorf("denied %t, stored %t", out.Denied, out.Stored())
			}
			if (out.Err != nil) != (tc.err != "") || out.Err != nil && !strings.Contains(out.Err.Error(), tc.err) {
				t.Errorf("the error is %v, want %q", out.Err, tc.err)
			}
			if wrote := w.Requests[before:]; !tc.stored && len(wrote) > 0 {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestAppliedAfterOthers: an object that the API server denies for a reason that may depend on others
// is applied once more after the others of its kind. Helm applies one object after the other.
func TestAppliedAfterOthers(t *testing.T) {
	otherPath := strings.TrimSuffix(configMapPath, "app") + "other"
	for denial, works := range map[string]bool{
		`admission webhook "a.example.com" denied the request: app needs other`: true, "users may not do that": false,
	} {
		w := newWorld(t)
		files := note()
		files["templates/other.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
		w.Reason = denial
		sent := 0
		w.Refuse = func(method, path string) int {
			if method != http.MethodPatch || path != configMapPath {
				return 0
			}
			if sent++; sent == 1 || w.Objects[otherPath] == nil {
				return http.StatusForbidden
			}
			return 0
		}
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil))
		if (out.Err == nil) != works {
			t.Errorf("%s: %v", denial, out.Err)
		}
	}
}
