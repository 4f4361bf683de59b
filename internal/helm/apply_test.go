// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// manifestOf is a manifest of ConfigMaps in namespace prod.
func manifestOf(names ...string) io.Reader {
	var b strings.Builder
	for _, n := range names {
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + n + ", namespace: prod}\n")
	}
	return strings.NewReader(b.String())
}

func TestChooseMethod(t *testing.T) {
	enabled, disabled, auto := helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled, helmv2.ServerSideApplyAuto
	cases := map[string]struct {
		reason  string
		mode    helmv2.ServerSideApplyMode
		version int
		force   bool
		stored  map[int]string
		next    int
		want    applying
	}{
		"Install":         {"what is found in place may be anybody's", enabled, 0, false, nil, 1, applying{serverSide: true, migrate: true}},
		"InstallByClient": {"nothing is handed over", disabled, 0, false, nil, 1, applying{}},
		"Goes on": {
			"the last revision says how, not one before", auto, 0, false, map[int]string{1: storage.ClientSide, 2: storage.ServerSide}, 3,
			applying{serverSide: true},
		},
		"GoesOnByClient": {"and the other way", auto, 0, false, map[int]string{2: storage.ClientSide}, 3, applying{}},
		"Helm3":          {"a record that says nothing is client-side", auto, 0, true, nil, 3, applying{force: true}},
		"Rollback": {
			"a rollback follows where it goes to", auto, 1, false, map[int]string{1: storage.ServerSide, 2: storage.ClientSide}, 3,
			applying{serverSide: true, migrate: true},
		},
		"RollbackByClient": {
			"a rollback follows where it goes to", auto, 1, false, map[int]string{1: storage.ClientSide, 2: storage.ServerSide}, 3,
			applying{migrate: true},
		},
		"Switch": {"a mode is obeyed", enabled, 0, true, map[int]string{2: storage.ClientSide}, 3, applying{serverSide: true, migrate: true}},
		"CutOffSwitch": {
			"what a failed change left is still there", disabled, 0, false, map[int]string{1: storage.ServerSide, 2: storage.ClientSide}, 3,
			applying{migrate: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r, err := w.runner.prepare(t.Context(), w.conn, Job{Desired: release.Desired{Target: target()}}, redactor{}, false)
			if err != nil {
				t.Fatal(err)
			}
			for version := 1; version < tc.next; version++ {
				r.store.SetApplyMethod(tc.stored[version])
				if err := r.store.Create(keyOf(version), mock(version)); err != nil {
					t.Fatal(err)
				}
			}
			r.chooseMethod(tc.mode, tc.version, tc.force)
			if err := r.gate.Create(keyOf(tc.next), mock(tc.next)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.client.applying, cmp.AllowUnexported(applying{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := r.store.ApplyMethod(tc.next); got != methodName(tc.want.serverSide) {
				t.Errorf("%s: recorded as %q", tc.reason, got)
			}
		})
	}
}

// TestGate: nothing is written before the new revision has passed, and everything
// after.
func TestGate(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"Passed": nil, "Refused": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := driver.NewMemory()
			memory.SetNamespace("prod")
			for _, v := range []int{1, 2} {
				if err := memory.Create(keyOf(v), mock(v)); err != nil {
					t.Fatal(err)
				}
			}
			asked := 0
			g := &gate{Driver: memory, client: &client{}, check: func(*helmrelease.Release) error { asked++; return refusal }}
			changed := mock(2)
			changed.Info.Status = helmrelease.StatusSuperseded
			_, gone := g.Delete(keyOf(1))
			_, missing := g.Delete(keyOf(9))
			if err := errors.Join(gone, missing, g.Update(keyOf(2), changed)); err != nil {
				t.Fatal(err)
			}
			if err := g.Create(keyOf(3), mock(3)); !errors.Is(err, refusal) {
				t.Errorf("error %v, want %v", err, refusal)
			}
			var left []string
			all, err := memory.List(func(*helmrelease.Release) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				left = append(left, keyOf(r.Version)+" "+r.Info.Status.String())
			}
			slices.Sort(left)
			want := []string{keyOf(2) + " superseded", keyOf(3) + " deployed"}
			if refusal != nil {
				want = []string{keyOf(1) + " deployed", keyOf(2) + " deployed"}
			}
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if refusal != nil {
				return
			}
			if _, err := g.Delete(keyOf(2)); err != nil || asked != 1 {
				t.Errorf("after it has passed: %v, asked %d times", err, asked)
			}
			if _, err := memory.Get(keyOf(2)); !errors.Is(err, driver.ErrReleaseNotFound) {
				t.Errorf("a write after the gate has opened is held: %v", err)
			}
		})
	}
}

func mock(version int) *helmrelease.Release {
	return helmrelease.Mock(&helmrelease.MockReleaseOptions{Name: "app", Namespace: "prod", Version: version, Status: helmrelease.StatusDeployed})
}

func keyOf(version int) string { return key + strconv.Itoa(version) }

// TestApplyAllGoesOn: one object that fails does not hide what became of others,
// and nothing is pruned then.
func TestApplyAllGoesOn(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == http.MethodPatch && (strings.HasSuffix(path, "/bad") || strings.HasSuffix(path, "/worse")) {
			return http.StatusForbidden
		}
		return 0
	}
	run, err := w.runner.prepare(t.Context(), w.conn, Job{Desired: release.Desired{Target: target()}}, redactor{}, false)
	if err != nil {
		t.Fatal(err)
	}
	c := run.client
	c.applying.serverSide = true
	for _, name := range []string{"there", "old"} {
		w.Put("/api/v1/namespaces/prod/configmaps/"+name, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "prod"},
		})
	}
	target, err := c.parse(manifestOf("bad", "there", "new", "worse"))
	if err != nil {
		t.Fatal(err)
	}
	original, err := c.parse(manifestOf("there", "old"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := c.Update(original, target, false)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap/prod/bad") || !strings.Contains(err.Error(), "ConfigMap/prod/worse") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([][]string{{"new"}, {"there"}, nil}, [][]string{names(result.Created), names(result.Updated), names(result.Deleted)}); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if w.Object("/api/v1/namespaces/prod/configmaps/old") == nil {
		t.Error("a failed upgrade has pruned")
	}
	w.Refuse = nil
	result, err = c.Update(original, target, false)
	if err != nil || !slices.Equal(names(result.Deleted), []string{"old"}) || w.Object("/api/v1/namespaces/prod/configmaps/old") != nil {
		t.Errorf("deleted %v, error %v", names(result.Deleted), err)
	}
}

func names(list kube.ResourceList) []string {
	var all []string
	for _, info := range list {
		all = append(all, info.Name)
	}
	return all
}

func TestOwnershipPatch(t *testing.T) {
	t.Parallel()
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, Subresource: subresource, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const a, b = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`
	update, apply := metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	cases := map[string]struct {
		reason   string
		fields   []metav1.ManagedFieldsEntry
		toServer bool
		want     []string // parts of the patch; none means no patch
		not      string
	}{
		"ToServer":  {"our updates become our apply", []metav1.ManagedFieldsEntry{entry(fieldManager, update, "", a)}, true, []string{`"operation":"Apply"`, `"f:a"`, `"7"`}, `"Update"`},
		"Helm":      {"so do those of a person's Helm", []metav1.ManagedFieldsEntry{entry("helm", update, "", a)}, true, []string{`"manager":"helm-controller"`}, `"manager":"helm"`},
		"Others":    {"other tools keep theirs", []metav1.ManagedFieldsEntry{entry("kubectl-client-side-apply", update, "", a)}, true, nil, ""},
		"Status":    {"and so does what writes a subresource", []metav1.ManagedFieldsEntry{entry(fieldManager, update, "status", a)}, true, nil, ""},
		"IsApplied": {"nothing is to be done", []metav1.ManagedFieldsEntry{entry(fieldManager, apply, "", a)}, true, nil, ""},
		"ToClient":  {"our apply becomes our update", []metav1.ManagedFieldsEntry{entry(fieldManager, apply, "", a), entry("x", apply, "", b)}, false, []string{`"operation":"Update"`, `"manager":"x","operation":"Apply"`, `"f:a"`}, ""},
		"IsUpdated": {"nothing is to be done", []metav1.ManagedFieldsEntry{entry(fieldManager, update, "", a)}, false, nil, ""},
		"Both":      {"there can be one entry only", []metav1.ManagedFieldsEntry{entry(fieldManager, apply, "", a), entry(fieldManager, update, "", b)}, false, []string{`"f:a"`}, `"f:b"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetResourceVersion("7")
			object.SetManagedFields(tc.fields)
			patch, err := ownershipPatch(object, tc.toServer)
			if err != nil || (patch == nil) != (tc.want == nil) {
				t.Fatalf("%s: patch %s, error %v", tc.reason, patch, err)
			}
			for _, part := range tc.want {
				if !strings.Contains(string(patch), part) {
					t.Errorf("%s: %s is missing in %s", tc.reason, part, patch)
				}
			}
			if tc.not != "" && strings.Contains(string(patch), tc.not) {
				t.Errorf("%s: %s is in %s", tc.reason, tc.not, patch)
			}
		})
	}
}
