// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestHooks: what is stored, as it is stored, and nothing from memory.
func TestHooks(t *testing.T) {
	w := newWorld(t)
	files := configAndHook()
	files["templates/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\ndata: {a: aHVudGVyMjI=}\nstringData: {b: hunter33}\n"
	files["templates/service.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {selector: {app: web}}\n"
	artifact := w.chart("1.0.0", files)
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	target := release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}
	hooks := func(version int) Stored {
		t.Helper()
		s, err := w.runner.Hooks(t.Context(), w.conn, target, version, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := hooks(0)
	if s.Release == nil || s.Release.Name != "app" || s.Release.Namespace != "prod" || s.Release.Revision != 1 || s.Pending != "" {
		t.Fatalf("stored is %+v", s)
	}
	if of := w.history()[0]; s.Revision.Digest != of.Digest || s.Labelled.Version != 1 || s.Labelled.Status != of.Status || s.Labelled.Name != "app" {
		t.Errorf("the record is of %+v, labelled %+v; want %+v", s.Revision, s.Labelled, of)
	}
	theirs := helmv2.Snapshots{{APIVersion: helmv2.SnapshotAPIVersionV2, Name: "app", Namespace: "prod", Version: 1, Digest: "sha256:00"}}
	if s, err := w.runner.Hooks(t.Context(), w.conn, target, 0, theirs); err != nil || s.Revision.HelmControllerDigest == "" {
		t.Errorf("the digest of helm-controller is missing: %+v, %v", s.Revision, err)
	}
	i := slices.IndexFunc(s.Release.Hooks, func(h hookjob.Hook) bool {
		return h.Name == "before"
	})
	if i < 0 {
		t.Fatalf("hooks are %+v", s.Release.Hooks)
	}
	h := s.Release.Hooks[i]
	if h.Kind != "ConfigMap" || h.Weight != 5 || !slices.Equal(h.Events, []string{"pre-install", "pre-upgrade"}) || h.Manifest != beforeHook {
		t.Errorf("the hook is %+v", h)
	}
	if n := len(s.Release.Selecting); n != 1 || s.Release.Selecting[0].Name != "front" || !strings.Contains(s.Release.Selecting[0].Manifest, "app: web") {
		t.Errorf("selecting are %+v", s.Release.Selecting)
	}
	slices.Sort(s.Secrets)
	if !slices.Equal(s.Secrets, []string{"hunter22", "hunter33"}) || !slices.Equal(s.SecretNames, []string{"keys"}) {
		t.Errorf("secrets are %q of %q", s.Secrets, s.SecretNames)
	}
	if one, none := hooks(1), hooks(7); one.Release == nil || none.Release != nil || hooks(-1).Release != nil {
		t.Errorf("revision 1 is %+v, and 7 %+v", one.Release, none.Release)
	}
	w.Refuse = func(method, path string) int {
		if method == http.MethodGet && strings.Contains(path, "/secrets/") {
			return http.StatusForbidden
		}
		return 0
	}
	if got, err := w.runner.Hooks(t.Context(), w.conn, target, 0, nil); err == nil {
		t.Errorf("who may not read gets %+v", got.Release)
	}
}

func TestPending(t *testing.T) {
	for status, want := range map[helmv2.ReleaseStatus]string{
		helmv2.StatusPendingUpgrade: "revision 2 of the release is pending-upgrade", helmv2.StatusUninstalling: "revision 2 of the release is uninstalling",
		helmv2.StatusDeployed: "", helmv2.StatusFailed: "",
	} {
		if got := pending(&release.Revision{Version: 2, Status: status}); got != want {
			t.Errorf("%s: %q", status, got)
		}
	}
	if got := pending(nil); got != "" {
		t.Errorf("nothing is %q", got)
	}
}
