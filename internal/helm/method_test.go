// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

func TestChooseMethod(t *testing.T) {
	enabled, disabled, auto := helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled, helmv2.ServerSideApplyAuto
	cases := map[string]struct {
		reason  string
		mode    helmv2.ServerSideApplyMode
		version int
		force   bool
		stored  map[int]string
		next    int
		want    apply.Method
	}{
		"Install":         {"existing objects may be of any client", enabled, 0, false, nil, 1, apply.Method{ServerSide: true, Migrate: true}},
		"InstallByClient": {"nothing is handed over", disabled, 0, false, nil, 1, apply.Method{}},
		"Goes on": {
			"the last revision says how, not one before", auto, 0, false,
			map[int]string{1: storage.ClientSide, 2: storage.ServerSide},
			3,
			apply.Method{ServerSide: true},
		},
		"GoesOnByClient": {"and the other way", auto, 0, false, map[int]string{2: storage.ClientSide}, 3, apply.Method{}},
		"Helm3":          {"a record that says nothing is client-side", auto, 0, true, nil, 3, apply.Method{Force: true}},
		"Rollback": {
			"a rollback follows where it goes to", auto, 1, false,
			map[int]string{1: storage.ServerSide, 2: storage.ClientSide},
			3,
			apply.Method{ServerSide: true, Migrate: true},
		},
		"RollbackByClient": {
			"a rollback follows where it goes to", auto, 1, false,
			map[int]string{1: storage.ClientSide, 2: storage.ServerSide},
			3,
			apply.Method{Migrate: true},
		},
		"Switch": {"a mode is obeyed", enabled, 0, true, map[int]string{2: storage.ClientSide}, 3, apply.Method{ServerSide: true, Migrate: true}},
		"CutOffSwitch": {
			"what a failed change left is still there", disabled, 0, false,
			map[int]string{1: storage.ServerSide, 2: storage.ClientSide},
			3,
			apply.Method{Migrate: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r, err := w.runner.prepare(t.Context(), w.conn, Job{Desired: release.Desired{Target: target()}}, redact.Redactor{})
			if err != nil {
				t.Fatal(err)
			}
			for version := 1; version < tc.next; version++ {
				r.store.SetApplyMethod(tc.stored[version])
				if err := r.store.Create(keyOf(version), mock(version)); err != nil {
					t.Fatal(err)
				}
			}
			chosen := apply.NextMethod(r.store, tc.mode, tc.version, tc.next-1, tc.force)
			r.chooseMethod(tc.mode, tc.version, tc.force)
			if err := r.gate.Create(keyOf(tc.next), mock(tc.next)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, chosen); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := r.store.ApplyMethod(tc.next); got != apply.MethodName(tc.want.ServerSide) {
				t.Errorf("%s: recorded as %q", tc.reason, got)
			}
		})
	}
}

func mock(version int) *helmrelease.Release {
	return helmrelease.Mock(&helmrelease.MockReleaseOptions{Name: "app", Namespace: "prod", Version: version, Status: helmrelease.StatusDeployed})
}

func keyOf(version int) string { return storage.Key("app", version) }
