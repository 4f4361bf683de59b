// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

const twoPath = "/api/v1/namespaces/prod/configmaps/two"

// twoNotes are two ConfigMaps.
func twoNotes(data string) map[string]string {
	return map[string]string{"templates/notes.yaml": oneYAML + "data: {a: " + data + "}\n---\n" + strings.Replace(oneYAML, "one", "two", 1)}
}

// TestLookups: lookups are sent to the API server only if their results have an effect.
func TestLookups(t *testing.T) {
	no := false
	const foreign, owned = oneYAML, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: app, meta.helm.sh/release-namespace: prod}}\n"
	cases := map[string]struct {
		reason string
		spec   helmv2.Install
		there  string
		looks  []string
		want   string
	}{
		"Nothing":    {"applying and taking over need not know", helmv2.Install{}, "", nil, ""},
		"Foreign":    {"whose it is that is there is asked", helmv2.Install{}, foreign, []string{onePath}, ""},
		"Unchecked":  {"without a check beforehand, this is one", helmv2.Install{DisableOpenAPIValidation: true}, "", []string{onePath, twoPath}, ""},
		"ClientSide": {"merging in the client differs from creating", helmv2.Install{ServerSideApply: &no, DisableOpenAPIValidation: true}, "", []string{onePath, twoPath}, ""},
		"NotMine": {
			"what belongs to others is left alone",
			helmv2.Install{DisableTakeOwnership: true},
			foreign,
			[]string{onePath, twoPath},
			`Unable to continue with install: ConfigMap "one" in namespace "prod" exists and cannot be imported into the current release: invalid ownership metadata`,
		},
		"Mine": {"what belongs to the release is its own", helmv2.Install{DisableTakeOwnership: true}, owned, []string{onePath, twoPath}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", twoNotes("x"))
			if tc.there != "" {
				w.Put(onePath, apitest.Parse(t, tc.there).Object)
			}
			j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)
			tc.spec.DisableWait = true
			j.Spec.Install = &tc.spec
			out := w.runner.Run(t.Context(), w.conn, j)
			if tc.want == "" && out.Err != nil || tc.want != "" && (out.Err == nil || !strings.HasPrefix(out.Err.Error(), tc.want)) {
				t.Errorf("%s: error %v, want %q", tc.reason, out.Err, tc.want)
			}
			var looks []string
			for _, r := range w.TakeReads() {
				// Client-side apply reads the live object once more.
				if path, ok := strings.CutPrefix(r, "GET "); ok && strings.Contains(path, "/configmaps/") && !slices.Contains(looks, path) {
					looks = append(looks, path)
				}
			}
			slices.Sort(looks)
			if diff := cmp.Diff(tc.looks, looks); diff != "" {
				t.Errorf("%s: looks (-want +got):\n%s", tc.reason, diff)
			}
			if kept := w.Object(onePath); tc.want != "" && (len(kept.GetLabels()) != 0 || w.Object(twoPath) != nil || len(w.stored()) != 0) {
				t.Errorf("%s: something was done: %v", tc.reason, kept)
			}
		})
	}
}

// TestLookupsOfUpgrades: only new objects are read. A failed read ends the upgrade before anything
// is stored.
func TestLookupsOfUpgrades(t *testing.T) {
	w := newWorld(t)
	install := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", map[string]string{"templates/one.yaml": oneYAML}), "1.0.0", nil)
	if out := w.runner.Run(t.Context(), w.conn, install); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.TakeReads()
	w.Refuse = func(method, path string) int {
		if method == http.MethodGet && path == twoPath {
			return http.StatusForbidden
		}
		return 0
	}
	j := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.1.0", twoNotes("x")), "1.1.0", nil)
	out := w.runner.Run(t.Context(), w.conn, j)
	const want = `Unable to continue with update: could not get information about the resource ConfigMap "two" in namespace "prod": refused by the test`
	if out.Err == nil || out.Err.Error() != want || len(w.stored()) != 1 {
		t.Errorf("error %v, %d revisions", out.Err, len(w.stored()))
	}
	j = job(release.Upgrade{Timeout: time.Minute}, w.chart("1.1.0", twoNotes("x")), "1.1.0", nil)
	j.Spec.Upgrade = &helmv2.Upgrade{DisableWait: true}
	if out = w.runner.Run(t.Context(), w.conn, j); out.Err != nil || w.Object(twoPath) == nil {
		t.Errorf("who applies and checks beforehand does not look: %v", out.Err)
	}
}

// TestAppliedObjectsAreNotRead: for objects that are ready by their apply results no further read
// is sent. An uninstall reads each object once, for its owner.
func TestAppliedObjectsAreNotRead(t *testing.T) {
	no := false
	for name, serverSide := range map[string]*bool{"ServerSide": nil, "ClientSide": &no} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run := func(j Job) []string {
				t.Helper()
				w.TakeReads()
				if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
					t.Fatal(out.Err)
				}
				var all []string
				for _, r := range w.TakeReads() {
					if strings.Contains(r, "/configmaps") {
						all = append(all, r)
					}
				}
				slices.Sort(all)
				return all
			}
			in := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", twoNotes("x")), "1.0.0", nil)
			in.Spec.Install = &helmv2.Install{ServerSideApply: serverSide}
			// One lookup, and two reads for the dry run and for the apply.
			installed := run(in)
			up := job(release.Upgrade{Timeout: time.Minute}, w.chart("1.1.0", twoNotes("y")), "1.1.0", nil)
			upgraded := run(up)
			gone := run(job(release.Uninstall{Timeout: time.Minute, Target: target()}, up.Artifact, "", nil))
			want := map[string][]string{"upgraded": nil, "gone": {"GET " + onePath, "GET " + twoPath}}
			if serverSide != nil {
				want["installed"] = []string{"GET " + onePath, "GET " + onePath, "GET " + twoPath, "GET " + twoPath}
				want["upgraded"] = []string{"GET " + onePath, "GET " + onePath, "GET " + twoPath, "GET " + twoPath, "GET " + twoPath}
			}
			got := map[string][]string{"upgraded": upgraded, "gone": gone}
			if installed != nil {
				got["installed"] = installed
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}
