// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
	"github.com/pintle-dev/pintle/test/storagetest"
)

// mapsYAML renders a ConfigMap for each name in .Values.maps. Its value may be the resource policy.
const mapsYAML = `{{ range $name, $policy := .Values.maps }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  {{ if $policy }}annotations: {helm.sh/resource-policy: {{ $policy }}}{{ end }}
{{ end }}`

const mapsPath = "/api/v1/namespaces/prod/configmaps/"

// broken is the name of a ConfigMap that the API server refuses. It is the last one in manifests.
const broken = "zz-broken"

// leftoversWorld has creation times, and makes revisions with the ConfigMap broken fail.
type leftoversWorld struct {
	*world
	method     helmv2.ServerSideApplyMode
	maxHistory int
	// refuse, if set, refuses more requests.
	refuse func(method, path string) bool
}

func newLeftoversWorld(t *testing.T, method helmv2.ServerSideApplyMode) *leftoversWorld {
	t.Helper()
	w := &leftoversWorld{world: newWorld(t), method: method}
	w.Created = apitest.CreationTimes(time.Unix(1_000_000, 0))
	w.Refuse = func(method, path string) int {
		if strings.HasSuffix(path, "/"+broken) && method == http.MethodPatch || w.refuse != nil && w.refuse(method, path) {
			return http.StatusForbidden
		}
		return 0
	}
	return w
}

// bothMethods runs a test with each apply method.
func bothMethods(t *testing.T, test func(t *testing.T, w *leftoversWorld)) {
	t.Helper()
	for name, method := range map[string]helmv2.ServerSideApplyMode{
		"ServerSide": helmv2.ServerSideApplyEnabled, "ClientSide": helmv2.ServerSideApplyDisabled,
	} {
		t.Run(name, func(t *testing.T) { test(t, newLeftoversWorld(t, method)) })
	}
}

// run runs an action with the ConfigMaps of names, "name" or "name policy".
func (w *leftoversWorld) run(action release.HelmAction, names ...string) release.Outcome {
	w.t.Helper()
	return w.runner.Run(w.t.Context(), w.conn, w.job(action, names...))
}

// job returns the job of run.
func (w *leftoversWorld) job(action release.HelmAction, names ...string) Job {
	w.t.Helper()
	maps := map[string]any{}
	for _, n := range names {
		name, policy, _ := strings.Cut(n, " ")
		maps[name] = policy
	}
	j := job(action, w.chart("1.0.0", map[string]string{"templates/maps.yaml": mapsYAML}), "1.0.0", map[string]any{"maps": maps})
	serverSide := w.method == helmv2.ServerSideApplyEnabled
	j.Spec.Install.ServerSideApply, j.Spec.Upgrade.ServerSideApply = &serverSide, w.method
	j.Spec.Rollback = &helmv2.Rollback{ServerSideApply: w.method}
	if w.maxHistory > 0 {
		j.Spec.MaxHistory = &w.maxHistory
	}
	return j
}

func (w *leftoversWorld) succeed(action release.HelmAction, names ...string) release.Outcome {
	w.t.Helper()
	out := w.run(action, names...)
	if out.Err != nil {
		w.t.Fatal(out.Err)
	}
	return out
}

// fail runs an action that creates all ConfigMaps and then fails.
func (w *leftoversWorld) fail(action release.HelmAction, names ...string) {
	w.t.Helper()
	if w.method == helmv2.ServerSideApplyDisabled {
		// Helm creates objects at the path of their collection. A patch fails like a creation.
		w.Put(mapsPath+broken, apitest.Parse(w.t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+broken+"}\n").Object)
	}
	out := w.run(action, append(names, broken)...)
	if out.Err == nil || !out.Stored() {
		w.t.Fatalf("error %v, revisions %+v", out.Err, out.Revisions)
	}
	w.Mu.Lock()
	delete(w.Objects, mapsPath+broken)
	w.Mu.Unlock()
}

// exists creates a ConfigMap as another client.
func (w *leftoversWorld) exists(name string) {
	w.t.Helper()
	object := apitest.Parse(w.t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}\n").Object
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Created(object)
	w.Store(mapsPath+name, object)
}

// change changes a ConfigMap as another client.
func (w *leftoversWorld) change(name string, edit func(u *unstructured.Unstructured)) {
	w.t.Helper()
	u := w.Object(mapsPath + name)
	if u == nil {
		w.t.Fatalf("%s does not exist", name)
	}
	edit(u)
	w.Put(mapsPath+name, u.Object)
}

// expect compares the names of the ConfigMaps.
func (w *leftoversWorld) expect(want ...string) {
	w.t.Helper()
	w.Mu.Lock()
	defer w.Mu.Unlock()
	var got []string
	for path := range w.Objects {
		if name, ok := strings.CutPrefix(path, mapsPath); ok {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("ConfigMaps (-want +got):\n%s", diff)
	}
}

var (
	leftoversInstall   = release.Install{Timeout: time.Minute}
	leftoversUpgrade   = release.Upgrade{Timeout: time.Minute}
	leftoversUninstall = release.Uninstall{Timeout: time.Minute, Target: target()}
)

// TestLeftoversOfUpgrades: an upgrade deletes the objects that only failed upgrades created. Adopted
// objects stay, and so do those that are kept or have another owner.
func TestLeftoversOfUpgrades(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.exists("adopted")
		w.succeed(leftoversInstall, "one", "two")
		w.fail(leftoversUpgrade, "one", "first", "both", "adopted", "kept keep", "theirs", "unnamed")
		w.exists("adopted-late")
		w.fail(leftoversUpgrade, "one", "both", "second", "adopted-late")
		w.expect("adopted", "adopted-late", "both", "first", "kept", "one", "second", "theirs", "two", "unnamed")
		w.change("theirs", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{helmv2.AnnotationHelmReleaseName: "shop", helmv2.AnnotationHelmReleaseNamespace: "prod"})
		})
		w.change("unnamed", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
		w.TakeReads()

		out := w.succeed(leftoversUpgrade, "one", "three")
		w.expect("adopted", "adopted-late", "kept", "one", "theirs", "three", "unnamed")
		logs := strings.Join(out.Logs, "\n")
		for _, line := range []string{
			// The log of an outcome has the last lines.
			"ConfigMap/prod/theirs is not deleted: it is of Helm release prod/shop",
			"ConfigMap/prod/adopted-late is not deleted: it is older than revision 3",
			"ConfigMap/prod/second is deleted: ",
		} {
			if !strings.Contains(logs, line) {
				t.Errorf("%q is not logged:\n%s", line, logs)
			}
		}
		reads := map[string]int{}
		for _, r := range w.TakeReads() {
			reads[r]++
		}
		for revision, want := range map[string]int{"1": 1, "2": 1, "3": 1} {
			if n := reads["GET /api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v"+revision]; n != want {
				t.Errorf("revision %s is read %d times", revision, n)
			}
		}
		// The failed revisions are older than the deployed one now.
		w.TakeReads()
		w.succeed(leftoversUpgrade, "one")
		for _, r := range w.TakeReads() {
			// Records show whether server-side apply owns fields, which a client-side upgrade removes.
			record := w.method == helmv2.ServerSideApplyEnabled && (strings.HasSuffix(r, "app.v2") || strings.HasSuffix(r, "app.v3"))
			if record || strings.HasSuffix(r, "/adopted") {
				t.Errorf("needless request %s", r)
			}
		}
		w.expect("adopted", "adopted-late", "kept", "one", "theirs", "unnamed")
	})
}

// TestDroppedObjectOfAnother: an object that the new revision drops stays if it is of another release
// by now.
func TestDroppedObjectOfAnother(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "one", "dropped", "moved")
		w.change("moved", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{helmv2.AnnotationHelmReleaseName: "other", helmv2.AnnotationHelmReleaseNamespace: "prod"})
			u.SetLabels(map[string]string{helmv2.LabelManagedBy: helmv2.ManagedByHelm})
		})
		out := w.succeed(leftoversUpgrade, "one")
		w.expect("moved", "one")
		want := []string{"ConfigMap/prod/moved: it is of Helm release prod/other by now"}
		if n := out.Changes.Objects.Deleted; n != 1 || !slices.Equal(out.Kept, want) {
			t.Errorf("%d objects were deleted, kept %q", n, out.Kept)
		}
	})
}

// TestUninstalledObjectOfAnother: an uninstall leaves objects that another existing release has created
// anew or adopted, and does not wait for them. Metadata of a release that is not there, or does not
// have the object, does not count.
func TestUninstalledObjectOfAnother(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "one", "moved", "unowned", "orphan")
		for name, owner := range map[string]string{"moved": "shop", "unowned": "shop", "orphan": "gone"} {
			w.change(name, func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{helmv2.AnnotationHelmReleaseName: owner, helmv2.AnnotationHelmReleaseNamespace: "prod"})
			})
		}
		theirs := storagetest.Revision(1, helmrelease.StatusDeployed, strings.Replace(oneYAML, "one", "moved", 1))
		theirs.Name = "shop"
		storagetest.Store(t, w.Server, "prod", theirs)
		out := w.succeed(leftoversUninstall)
		w.expect("moved")
		want := []string{"ConfigMap/prod/moved: it is of Helm release prod/shop by now"}
		if diff := cmp.Diff(want, out.Kept); diff != "" || out.Changes.Objects.Deleted != 3 {
			t.Errorf("%d objects were deleted; kept (-want +got):\n%s", out.Changes.Objects.Deleted, diff)
		}
	})
}

// TestUninstallWithoutRecordsOfAnother: an uninstall leaves objects whose metadata names another release
// if it may not read the records of that release.
func TestUninstallWithoutRecordsOfAnother(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "one", "theirs")
		w.change("theirs", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{helmv2.AnnotationHelmReleaseName: "shop", helmv2.AnnotationHelmReleaseNamespace: "stage"})
		})
		w.refuse = func(_, path string) bool { return strings.HasPrefix(path, "/api/v1/namespaces/stage/secrets") }
		out := w.succeed(leftoversUninstall)
		w.expect("theirs")
		const want = "ConfigMap/prod/theirs: it is of Helm release stage/shop by now, as far as is known: whether it is there, and what it has, cannot be read: "
		if len(out.Kept) != 1 || !strings.HasPrefix(out.Kept[0], want) {
			t.Errorf("kept %q", out.Kept)
		}
	})
}

// TestUninstallOfUnreadObjects: an uninstall does not delete an object that it cannot read, since another
// release may own it. An object of the newest revision makes it fail after it has deleted the others. An
// object that only earlier revisions have is named. The plan says so.
func TestUninstallOfUnreadObjects(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "deployed", "dropped", "readable")
		w.fail(leftoversUpgrade, "deployed", "earlier")
		w.fail(leftoversUpgrade, "deployed", "newest")
		newest, others := []string{"deployed", "newest"}, []string{"dropped", "earlier"}
		w.refuse = func(method, path string) bool {
			return method == http.MethodGet && strings.HasPrefix(path, mapsPath) && path != mapsPath+"readable" && path != mapsPath+broken
		}
		p := planOf(t, w.world, w.job(leftoversUninstall), v1alpha1.PlanUninstall)
		if diff := cmp.Diff([]string{"Delete ConfigMap/readable destructive"}, changesIn(p.All)); diff != "" || len(p.Status.Warnings) != 4 {
			t.Errorf("warnings %q, changes (-want +got):\n%s", p.Status.Warnings, diff)
		}
		named := func(out release.Outcome) {
			t.Helper()
			for i, name := range others {
				if want := "ConfigMap/prod/" + name + ": its owner is not known: "; len(out.Kept) != len(others) || !slices.ContainsFunc(out.Kept, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("%d: kept %q", i, out.Kept)
				}
			}
		}
		out := w.run(leftoversUninstall)
		w.expect("deployed", "dropped", "earlier", "newest")
		named(out)
		for _, name := range newest {
			if out.Err == nil || !strings.Contains(out.Err.Error(), "ConfigMap/prod/"+name+" is not deleted, because its owner is not known: ") {
				t.Errorf("%s is not in the error %v", name, out.Err)
			}
		}
		w.refuse = func(method, path string) bool {
			return method == http.MethodGet && (path == mapsPath+"dropped" || path == mapsPath+"earlier")
		}
		named(w.succeed(leftoversUninstall))
		w.expect(others...)
	})
}

// TestUninstallReadsOnce: an uninstall reads each object once, even if its revision is not proven.
func TestUninstallReadsOnce(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "one", "two")
		w.fail(leftoversUpgrade, "one", "failed")
		w.forge(3, helmrelease.StatusDeployed, nil)
		w.TakeReads()
		w.run(leftoversUninstall)
		reads := map[string]int{}
		for _, r := range w.TakeReads() {
			if strings.Contains(r, mapsPath) {
				reads[r]++
			}
		}
		for r, n := range reads {
			if n != 1 {
				t.Errorf("%d times %s", n, r)
			}
		}
		if len(reads) == 0 {
			t.Error("no object is read")
		}
	})
}

// TestLeftoversWithoutHistory: the records of failed revisions are read before the new revision
// displaces them.
func TestLeftoversWithoutHistory(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.maxHistory = 1
		w.succeed(leftoversInstall, "one")
		w.fail(leftoversUpgrade, "one", "made")
		w.succeed(leftoversUpgrade, "one")
		w.expect("one")
		if n := len(w.history()); n != 2 {
			t.Errorf("%d revisions", n)
		}
	})
}

// TestLeftoversStayOnFailure: a failed upgrade deletes nothing, and neither a failed deletion nor a
// failed read fails an upgrade.
func TestLeftoversStayOnFailure(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(leftoversInstall, "one")
		w.fail(leftoversUpgrade, "one", "made", "unread")
		w.fail(leftoversUpgrade, "one")
		w.expect("made", "one", "unread")
		w.refuse = func(method, path string) bool {
			return method == http.MethodDelete && path == mapsPath+"made" || method == http.MethodGet && path == mapsPath+"unread"
		}
		logs := strings.Join(w.succeed(leftoversUpgrade, "one").Logs, "\n")
		w.expect("made", "one", "unread")
		for _, name := range []string{"made", "unread"} {
			if !strings.Contains(logs, "ConfigMap/prod/"+name+" is not deleted: ") {
				t.Errorf("%s is not in the log:\n%s", name, logs)
			}
		}
	})
}

// TestLeftoversOfUnreadableRevisions: an upgrade does not fail because of a record that it does not
// need otherwise.
func TestLeftoversOfUnreadableRevisions(t *testing.T) {
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	w.succeed(leftoversInstall, "one")
	w.fail(leftoversUpgrade, "one", "made")
	w.fail(leftoversUpgrade, "one")
	w.refuse = func(method, path string) bool { return method == http.MethodGet && strings.HasSuffix(path, "app.v2") }
	logs := strings.Join(w.succeed(leftoversUpgrade, "one").Logs, "\n")
	if !strings.Contains(logs, "objects of failed revisions are not deleted: the revisions cannot be read: revision 2: ") {
		t.Errorf("log:\n%s", logs)
	}
	w.expect("made", "one")
}

// TestLeftoversOfRollbacks: Helm deletes all objects of the failed revision that the target does
// not contain. Those that it only adopted stay, but not those of the deployed revision.
func TestLeftoversOfRollbacks(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.exists("adopted")
		w.exists("deployed")
		w.succeed(leftoversInstall, "one")
		w.succeed(leftoversUpgrade, "one", "deployed")
		w.fail(leftoversUpgrade, "one", "earlier")
		w.fail(leftoversUpgrade, "one", "deployed", "made", "adopted")
		w.expect("adopted", "deployed", "earlier", "made", "one")
		w.succeed(release.Rollback{Timeout: time.Minute, Version: 1})
		w.expect("adopted", "one")
	})
}

// TestLeftoversOfInstalls: an upgrade of a release that was never deployed compares with the failed
// revision. Objects that this only adopted stay.
func TestLeftoversOfInstalls(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.exists("adopted")
		w.fail(leftoversInstall, "one", "made", "adopted")
		w.fail(leftoversUpgrade, "one", "second", "adopted")
		w.succeed(leftoversUpgrade, "one")
		w.expect("adopted", "one")
	})
}

// TestLeftoversOfLostRevisions: if the record of an older failed revision was deleted, it may have
// created the objects, and Helm decides.
func TestLeftoversOfLostRevisions(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.fail(leftoversInstall, "one", "made")
		w.fail(leftoversUpgrade, "one", "made")
		w.Mu.Lock()
		delete(w.Objects, "/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v1")
		w.Mu.Unlock()
		w.succeed(leftoversUpgrade, "one")
		w.expect("one")
	})
}

// TestLeftoversOfUninstalls: an uninstall after failed upgrades deletes the objects of the deployed
// revision and those that the failed ones created, also when it is repeated.
func TestLeftoversOfUninstalls(t *testing.T) {
	for _, stuck := range []string{"", "earlier", "deployed", "made"} {
		t.Run("Stuck"+stuck, func(t *testing.T) {
			w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
			w.exists("adopted")
			w.succeed(leftoversInstall, "one", "deployed", "deployed-kept keep")
			w.fail(leftoversUpgrade, "one", "earlier")
			// Helm deletes no object with a resource policy that it does not know.
			w.fail(leftoversUpgrade, "one", "made", "adopted", "kept keep", "kept-by-helm unknown")
			w.expect("adopted", "deployed", "deployed-kept", "earlier", "kept", "kept-by-helm", "made", "one")
			if stuck != "" {
				w.refuse = func(method, path string) bool { return method == http.MethodDelete && path == mapsPath+stuck }
				if out := w.run(leftoversUninstall); out.Err == nil || !strings.Contains(out.Err.Error(), "refused by the test") {
					t.Errorf("error %v", out.Err)
				}
				w.expect(slices.Sorted(slices.Values([]string{"adopted", "deployed-kept", "kept", "kept-by-helm", stuck}))...)
				w.refuse = nil
			}
			w.succeed(leftoversUninstall)
			w.expect("adopted", "deployed-kept", "kept", "kept-by-helm")
			if n := len(w.history()); n > 0 {
				t.Errorf("%d revisions", n)
			}
		})
	}
}

// TestLeftoversOfUninstalledInstalls: the uninstall of a release that was never deployed leaves
// adopted objects, also when it is repeated. That of a deployed one deletes them.
func TestLeftoversOfUninstalledInstalls(t *testing.T) {
	for name, tc := range map[string]struct {
		deployed bool
		left     []string
	}{
		"NeverDeployed": {false, []string{"adopted"}},
		"Deployed":      {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
			w.exists("adopted")
			if tc.deployed {
				w.succeed(leftoversInstall, "made", "adopted")
			} else {
				w.fail(leftoversInstall, "made", "adopted")
			}
			w.refuse = func(method, path string) bool { return method == http.MethodDelete && path == mapsPath+"made" }
			for range 2 {
				if out := w.run(leftoversUninstall); out.Err == nil || w.Object(mapsPath+"made") == nil {
					t.Errorf("error %v", out.Err)
				}
			}
			w.refuse = nil
			w.succeed(leftoversUninstall)
			w.expect(tc.left...)
		})
	}
}

// TestLeftoversAreAwaited: an uninstall waits for the objects of failed revisions, too, and its
// hooks run as before.
func TestLeftoversAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
		w.succeed(leftoversInstall, "one")
		w.fail(leftoversUpgrade, "made")
		w.fail(leftoversUpgrade, "one")
		w.change("made", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/stays"}) })
		out := w.run(leftoversUninstall)
		if out.Err == nil || !strings.Contains(out.Err.Error(), "ConfigMap/prod/made") {
			t.Errorf("error %v", out.Err)
		}
	})
}

// TestLeftoversAndHooks: the objects of hooks are no leftovers, and hooks of an uninstall run once.
func TestLeftoversAndHooks(t *testing.T) {
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	w.succeed(leftoversInstall, "one")
	files := hooked("pre-delete")
	files["templates/maps.yaml"] = mapsYAML
	j := job(leftoversUpgrade, w.chart("1.0.0", files), "1.0.0", map[string]any{"maps": map[string]any{"made": "", broken: ""}})
	if out := w.runner.Run(t.Context(), w.conn, j); out.Err == nil || !out.Stored() {
		t.Fatal(out.Err)
	}
	created := w.Created
	w.Created = func(object map[string]any) {
		created(object)
		finished(true)(object)
	}
	w.Requests = nil
	if out := w.runner.Run(t.Context(), w.conn, job(leftoversUninstall, chart.Artifact{}, "", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	w.expect()
	var requests []string
	for _, r := range w.Requests {
		if method, p, _ := strings.Cut(r, " "); !strings.Contains(p, "/secrets") {
			requests = append(requests, method+" "+path.Base(path.Dir(p)))
		}
	}
	// The hook has no object that would be deleted before.
	want := []string{"POST prod", "DELETE configmaps"}
	if diff := cmp.Diff(want, slices.Compact(requests)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestLeftoversInOrder: an uninstall deletes leftovers in Helm's order of kinds.
func TestLeftoversInOrder(t *testing.T) {
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	w.succeed(leftoversInstall, "one")
	failing := w.chart("1.0.0", map[string]string{
		"templates/maps.yaml": mapsYAML, "templates/job.yaml": jobYAML, "templates/crd.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: own}\n",
	})
	w.Offered = map[string][]string{"example.com/v1": {`{"name":"widgets","namespaced":true,"kind":"Widget","verbs":["get"]}`}}
	out := w.runner.Run(t.Context(), w.conn, job(leftoversUpgrade, failing, "1.0.0", map[string]any{"maps": map[string]any{"one": "", broken: ""}}))
	if out.Err == nil || !out.Stored() || w.Object(jobPath) == nil {
		t.Fatal(out.Err)
	}
	w.fail(leftoversUpgrade, "one")
	w.Requests = nil
	w.succeed(leftoversUninstall)
	var deleted []string
	for _, r := range w.Requests {
		if p, ok := strings.CutPrefix(r, "DELETE "); ok {
			deleted = append(deleted, path.Base(path.Dir(p)))
		}
	}
	// The record of the release is deleted last.
	want := []string{"jobs", "configmaps", "widgets", "secrets"}
	deleted = slices.Compact(deleted)
	if diff := cmp.Diff(want, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestLeftoversOfInterruptedActions: an action is interrupted at each of its writes, before and
// after the write is carried out, and resumed. No leftover stays, and the adopted object does.
func TestLeftoversOfInterruptedActions(t *testing.T) {
	for name, tc := range map[string]struct {
		action   release.HelmAction
		deployed bool
		left     []string
	}{
		"Upgrade":       {release.Upgrade{Timeout: time.Hour}, true, []string{"adopted", "one"}},
		"UpgradeFailed": {release.Upgrade{Timeout: time.Hour}, false, []string{"adopted", "one"}},
		"Rollback":      {release.Rollback{Timeout: time.Hour, Version: 1}, true, []string{"adopted", "one"}},
		"Uninstall":     {release.Uninstall{Timeout: time.Hour, Target: target()}, true, []string{"adopted"}},
		"UninstallOne":  {release.Uninstall{Timeout: time.Hour, Target: target()}, false, []string{"adopted"}},
	} {
		for _, answers := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/Answered=%t", name, answers), func(t *testing.T) {
				t.Parallel()
				for writes, ended := 0, false; !ended && !t.Failed(); writes++ {
					synctest.Test(t, func(t *testing.T) { ended = interruptLeftovers(t, tc.action, tc.deployed, writes, answers, tc.left) })
				}
			})
		}
	}
}

// interruptLeftovers interrupts an action after a number of writes, and resumes it. It reports
// whether the action ended before.
func interruptLeftovers(t *testing.T, action release.HelmAction, deployed bool, writes int, answers bool, left []string) (ended bool) {
	t.Helper()
	m := newMortal(t)
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	uids, times := m.Created, w.Created
	w.world, m.Refuse = m.world, w.Refuse
	m.Created = func(object map[string]any) {
		uids(object)
		times(object)
	}
	w.exists("adopted")
	last := 0
	if deployed {
		w.succeed(leftoversInstall, "one")
		w.fail(leftoversUpgrade, "one", "first", "adopted")
		w.fail(leftoversUpgrade, "one", "second", "adopted")
		last = 3
	} else {
		w.fail(leftoversInstall, "one", "first", "adopted")
		last = 1
	}
	m.left, m.answers = writes, answers
	ended = w.run(action, "one").Err == nil
	m.away, m.left = false, -1
	if next := m.interrupted(action, last); !ended && next != nil {
		if out := w.run(next, "one"); out.Err != nil {
			t.Errorf("after %d writes: the resumed action: %v", writes, out.Err)
		}
	}
	w.expect(left...)
	if t.Failed() {
		t.Errorf("after %d writes", writes)
	}
	return ended
}

// interrupted returns the action that follows an interruption of a; nil if a has ended. The action
// began after revision last.
func (m *mortal) interrupted(a release.HelmAction, last int) release.HelmAction {
	if _, uninstalls := a.(release.Uninstall); uninstalls {
		return m.next(a)
	}
	newest := m.history()[0]
	if newest.Version > last && !newest.Pending() {
		return nil
	}
	resume := 0
	if newest.Pending() {
		resume = newest.Version
	}
	switch a := a.(type) {
	case release.Upgrade:
		a.Resume = resume
		return a
	case release.Rollback:
		a.Resume = resume
		return a
	}
	return a
}
