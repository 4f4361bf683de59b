// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	widgetYAML  = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: web}\nspec: {size: 1}\n"
	widgetPath  = "/apis/example.com/v1/namespaces/prod/widgets/web"
	cronYAML    = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: web}\nspec: {schedule: '* * * * *'}\n"
	cronPath    = "/apis/batch/v1beta1/namespaces/prod/cronjobs/web"
	newCronPath = "/apis/batch/v1/namespaces/prod/cronjobs/web"
)

func newCronYAML() string { return strings.Replace(cronYAML, "v1beta1", "v1", 1) }

// goneWorld is a world whose API server serves Widgets, and CronJobs of an old version.
type goneWorld struct {
	*world

	method helmv2.ServerSideApplyMode
	// releases is the number of charts.
	releases int
}

func newGoneWorld(t *testing.T, method helmv2.ServerSideApplyMode) *goneWorld {
	t.Helper()
	w := &goneWorld{world: newWorld(t), method: method}
	w.SetUIDs()
	w.Put("/api/v1/namespaces/prod", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "prod"}})
	w.Offered = map[string][]string{
		"example.com/v1": {apitest.Entry("widgets", "Widget")},
		"batch/v1beta1":  {apitest.Entry("cronjobs", "CronJob")},
	}
	return w
}

// run runs an action with a chart that has a ConfigMap and the given manifests.
func (w *goneWorld) run(action release.HelmAction, manifests ...string) release.Outcome {
	w.t.Helper()
	return w.runner.Run(w.t.Context(), w.conn, w.job(action, manifests...))
}

// job returns the job of run.
func (w *goneWorld) job(action release.HelmAction, manifests ...string) Job {
	w.t.Helper()
	w.releases++
	version := fmt.Sprintf("1.0.%d", w.releases)
	files := note()
	for i, m := range manifests {
		files[fmt.Sprintf("templates/more-%d.yaml", i)] = m
	}
	j := job(action, w.chart(version, files), version, nil)
	j.Spec.Install.DisableWait, j.Spec.Upgrade.DisableWait = true, true
	j.Spec.Install.ServerSideApply = new(w.method != helmv2.ServerSideApplyDisabled)
	j.Spec.Upgrade.ServerSideApply, j.Spec.Rollback = w.method, &helmv2.Rollback{ServerSideApply: w.method, DisableWait: true}
	return j
}

func (w *goneWorld) succeed(action release.HelmAction, manifests ...string) release.Outcome {
	w.t.Helper()
	out := w.run(action, manifests...)
	if out.Err != nil {
		w.t.Fatalf("%s: %v\n%s", release.Name(action), out.Err, strings.Join(out.Logs, "\n"))
	}
	return out
}

// serve changes the served versions and groups. Unless stale, the cached discovery is renewed.
func (w *goneWorld) serve(stale bool, change func()) {
	w.Mu.Lock()
	change()
	w.Requests = nil
	w.Mu.Unlock()
	if mapper, err := w.conn.ToRESTMapper(); err == nil && !stale {
		meta.MaybeResetRESTMapper(mapper)
	}
}

// removeVersion replaces the old version of CronJobs by the new one.
func (w *goneWorld) removeVersion() {
	delete(w.Offered, "batch/v1beta1")
	w.Offered["batch/v1"] = []string{apitest.Entry("jobs", "Job"), apitest.Entry("cronjobs", "CronJob")}
	object := w.Objects[cronPath]
	delete(w.Objects, cronPath)
	object["apiVersion"] = "batch/v1"
	w.Objects[newCronPath] = object
}

// removeKind deletes the CRD of Widgets, and so all Widgets.
func (w *goneWorld) removeKind() {
	delete(w.Offered, "example.com/v1")
	delete(w.Objects, widgetPath)
}

// deletions returns the requests that delete objects, without records.
func (w *goneWorld) deletions() []string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	var all []string
	for _, r := range w.Requests {
		if path, ok := strings.CutPrefix(r, "DELETE "); ok && !strings.Contains(path, "/secrets/") {
			all = append(all, path)
		}
	}
	return all
}

func (w *goneWorld) expectSkipped(out release.Outcome, want ...string) {
	w.t.Helper()
	var got []string
	for _, o := range out.Skipped {
		got = append(got, fmt.Sprintf("%s/%s %s %s", o.Group, o.Version, o.Kind, o.Name))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("skipped %q, not %q", got, want)
	}
}

func (w *goneWorld) expectDeletions(want ...string) {
	w.t.Helper()
	if got := w.deletions(); !slices.Equal(got, want) {
		w.t.Errorf("deleted %q, not %q", got, want)
	}
}

const widget = "example.com/v1 Widget web"

// eachGone runs a test for both apply methods, with a fresh and with an outdated cached discovery.
func eachGone(t *testing.T, test func(t *testing.T, w *goneWorld, stale bool)) {
	t.Helper()
	for _, method := range []helmv2.ServerSideApplyMode{helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled} {
		for _, stale := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stale=%t", method, stale), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, newGoneWorld(t, method), stale) })
			})
		}
	}
}

// TestRemovedVersion: an object of a version that the API server no longer serves is the same
// object in the version that it serves.
func TestRemovedVersion(t *testing.T) {
	eachGone(t, func(t *testing.T, w *goneWorld, stale bool) {
		w.succeed(release.Install{Timeout: time.Minute}, cronYAML)
		uid := w.Object(cronPath).GetUID()
		w.serve(stale, w.removeVersion)
		out := w.succeed(release.Upgrade{Timeout: time.Minute}, newCronYAML())
		w.expectSkipped(out)
		w.expectDeletions()
		if live := w.Object(newCronPath); live == nil || live.GetUID() != uid {
			t.Errorf("the object is %v", live)
		}
		w.expectInventory(out, "batch/v1 CronJob web")
		w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute})
		if live := w.Object(newCronPath); live != nil {
			t.Errorf("the object stays: %v", live)
		}
	})
}

func (w *goneWorld) expectInventory(out release.Outcome, want string) {
	w.t.Helper()
	var got []string
	for _, o := range out.Inventory {
		got = append(got, fmt.Sprintf("%s/%s %s %s", o.Group, o.Version, o.Kind, o.Name))
	}
	if !slices.Contains(got, want) || out.Unlisted != nil {
		w.t.Errorf("the inventory is %q, %v; it lacks %s", got, out.Unlisted, want)
	}
}

// TestRemovedVersionDropped: an object of a removed version that the new revision does not contain
// is deleted.
func TestRemovedVersionDropped(t *testing.T) {
	eachGone(t, func(t *testing.T, w *goneWorld, stale bool) {
		w.succeed(release.Install{Timeout: time.Minute}, cronYAML)
		w.serve(stale, w.removeVersion)
		w.expectSkipped(w.succeed(release.Upgrade{Timeout: time.Minute}))
		if live := w.Object(newCronPath); live != nil {
			t.Errorf("the object stays: %v\n%q", live, w.Requests)
		}
	})
}

// TestRemovedVersionUninstalled: an uninstall deletes objects of a removed version.
func TestRemovedVersionUninstalled(t *testing.T) {
	eachGone(t, func(t *testing.T, w *goneWorld, stale bool) {
		w.succeed(release.Install{Timeout: time.Minute}, cronYAML)
		w.serve(stale, w.removeVersion)
		w.expectSkipped(w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute}))
		if live := w.Object(newCronPath); live != nil || len(w.stored()) != 0 {
			t.Errorf("the object stays: %v; %d records", live, len(w.stored()))
		}
	})
}

// TestRemovedVersionLeftOver: an object that only a failed revision has created is found and deleted in
// the version that is served.
func TestRemovedVersionLeftOver(t *testing.T) {
	const blocked = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: blocked}\n"
	for name, action := range map[string]release.HelmAction{
		"Upgrade":   release.Upgrade{Timeout: time.Minute},
		"Rollback":  release.Rollback{Version: 1, Timeout: time.Minute},
		"Uninstall": release.Uninstall{Target: target(), Timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			eachGone(t, func(t *testing.T, w *goneWorld, stale bool) {
				w.Created = apitest.CreationTimes(time.Now())
				w.succeed(release.Install{Timeout: time.Minute})
				w.Refuse = func(method, path string) int {
					if method != http.MethodGet && strings.Contains(path, "/ingresses") {
						return http.StatusForbidden
					}
					return 0
				}
				// Ingresses follow CronJobs in Helm's order.
				if out := w.run(release.Upgrade{Timeout: time.Minute}, cronYAML, blocked); out.Err == nil || w.Object(cronPath) == nil {
					t.Fatalf("error %v, object %v", out.Err, w.Object(cronPath))
				}
				// Helm deletes objects of the newest revision only.
				if out := w.run(release.Upgrade{Timeout: time.Minute}, blocked); out.Err == nil || w.Object(cronPath) == nil {
					t.Fatalf("error %v, object %v", out.Err, w.Object(cronPath))
				}
				w.Refuse = nil
				w.serve(stale, w.removeVersion)
				w.expectSkipped(w.succeed(action))
				if live := w.Object(newCronPath); live != nil {
					t.Errorf("the object stays: %v\n%q", live, w.Requests)
				}
			})
		})
	}
}

// TestRemovedKind: objects of a kind that is gone are skipped, and named.
func TestRemovedKind(t *testing.T) {
	for name, act := range map[string]func(w *goneWorld, stale bool) release.Outcome{
		"Upgrade": func(w *goneWorld, stale bool) release.Outcome {
			w.succeed(release.Install{Timeout: time.Minute}, widgetYAML)
			w.serve(stale, w.removeKind)
			return w.succeed(release.Upgrade{Timeout: time.Minute})
		},
		"Rollback": func(w *goneWorld, stale bool) release.Outcome {
			w.succeed(release.Install{Timeout: time.Minute})
			w.succeed(release.Upgrade{Timeout: time.Minute}, widgetYAML)
			w.serve(stale, w.removeKind)
			return w.succeed(release.Rollback{Version: 1, Timeout: time.Minute})
		},
		"Uninstall": func(w *goneWorld, stale bool) release.Outcome {
			w.succeed(release.Install{Timeout: time.Minute}, widgetYAML)
			w.serve(stale, w.removeKind)
			return w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute})
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachGone(t, func(t *testing.T, w *goneWorld, stale bool) {
				w.expectSkipped(act(w, stale), widget)
			})
		})
	}
}

// TestWantedKind: a new revision, and the target of a rollback, must consist of kinds that are
// served. The error names the version that is.
func TestWantedKind(t *testing.T) {
	t.Run("Kind", func(t *testing.T) {
		w := newGoneWorld(t, "")
		w.succeed(release.Install{Timeout: time.Minute}, widgetYAML)
		w.serve(false, w.removeKind)
		out := w.run(release.Upgrade{Timeout: time.Minute}, widgetYAML)
		if out.Err == nil || !strings.Contains(out.Err.Error(), `no matches for kind "Widget" in version "example.com/v1"`) || out.Stored() {
			t.Errorf("%v, %+v", out.Err, out.Revisions)
		}
	})
	t.Run("Version", func(t *testing.T) {
		w := newGoneWorld(t, "")
		w.succeed(release.Install{Timeout: time.Minute}, cronYAML)
		w.serve(false, w.removeVersion)
		out := w.run(release.Upgrade{Timeout: time.Minute}, cronYAML)
		if out.Err == nil || !strings.Contains(out.Err.Error(), `name: "web"`) || !strings.Contains(out.Err.Error(), "the API server serves CronJob in batch/v1") || out.Stored() {
			t.Errorf("%v, %+v", out.Err, out.Revisions)
		}
		w.expectDeletions()
	})
	t.Run("Rollback", func(t *testing.T) {
		w := newGoneWorld(t, "")
		w.succeed(release.Install{Timeout: time.Minute}, cronYAML)
		w.serve(false, w.removeVersion)
		w.succeed(release.Upgrade{Timeout: time.Minute}, newCronYAML())
		out := w.run(release.Rollback{Version: 1, Timeout: time.Minute})
		if out.Err == nil || !strings.Contains(out.Err.Error(), "the API server serves CronJob in batch/v1") || out.Interrupted != nil {
			t.Errorf("%v, %+v", out.Err, out.Revisions)
		}
		w.expectDeletions()
	})
}

// TestIncompleteDiscovery: while discovery of a kind is incomplete, an uninstall is interrupted, and
// nothing is orphaned. A denied request fails it.
func TestIncompleteDiscovery(t *testing.T) {
	const group, version, crds = "/apis/example.com", "/apis/example.com/v1", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	crd := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget", "plural": "widgets"}},
	}
	for name, tc := range map[string]struct {
		// answers are status codes by path.
		answers map[string]int
		// unserved removes the kind from discovery, and crd stores its CRD.
		unserved, crd bool
		fails         bool
	}{
		"Unavailable":      {answers: map[string]int{version: http.StatusServiceUnavailable, widgetPath: http.StatusServiceUnavailable}},
		"Internal":         {answers: map[string]int{version: http.StatusInternalServerError}},
		"Busy":             {answers: map[string]int{version: http.StatusTooManyRequests}},
		"Timeout":          {answers: map[string]int{version: http.StatusGatewayTimeout}},
		"Vanished":         {answers: map[string]int{version: http.StatusNotFound}},
		"Denied":           {answers: map[string]int{version: http.StatusForbidden}, fails: true},
		"GroupUnavailable": {unserved: true, answers: map[string]int{group: http.StatusServiceUnavailable}},
		"GroupDenied":      {unserved: true, answers: map[string]int{group: http.StatusForbidden}, fails: true},
		"CRD":              {unserved: true, crd: true},
		"CRDsUnavailable":  {unserved: true, answers: map[string]int{crds: http.StatusInternalServerError}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGoneWorld(t, "")
				w.succeed(release.Install{Timeout: time.Minute}, widgetYAML)
				offered := w.Offered["example.com/v1"]
				w.serve(false, func() {
					delete(w.Offered, "example.com/v1")
					if !tc.unserved {
						w.Offered["example.com/v1"] = nil
					}
					if tc.crd {
						w.Objects[crds+"/widgets.example.com"] = crd
					}
				})
				w.Refuse = func(_, path string) int { return tc.answers[path] }
				out := w.run(release.Uninstall{Target: target(), Timeout: time.Minute})
				if out.Err == nil || (out.Interrupted != nil) == tc.fails || len(w.deletions()) > 0 || len(w.stored()) != 1 {
					t.Fatalf("%v, interrupted %v, deleted %q, %d records", out.Err, out.Interrupted, w.deletions(), len(w.stored()))
				}
				w.expectSkipped(out)
				if !tc.fails && !strings.HasPrefix(out.Interrupted.Server, "API example.com/v1 of the API server") && name != "Busy" && name != "GroupUnavailable" {
					t.Errorf("the outage is %+v", out.Interrupted)
				}
				w.Refuse = nil
				w.serve(false, func() { w.Offered["example.com/v1"] = offered })
				w.expectSkipped(w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute}))
				if w.Object(widgetPath) != nil || len(w.stored()) != 0 {
					t.Errorf("left after the outage: %v, %d records", w.Object(widgetPath), len(w.stored()))
				}
			})
		})
	}
}

// TestUnavailableObjects: an uninstall is interrupted if the API of an object is unavailable that
// the cached discovery has.
func TestUnavailableObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGoneWorld(t, "")
		w.succeed(release.Install{Timeout: time.Minute}, widgetYAML)
		w.Refuse = func(_, path string) int {
			if strings.HasPrefix(path, "/apis/example.com/v1") {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		out := w.run(release.Uninstall{Target: target(), Timeout: time.Minute})
		if out.Interrupted == nil || !strings.HasPrefix(out.Interrupted.Server, "API example.com/v1 of the API server") || len(w.stored()) != 1 {
			t.Fatalf("%v, interrupted %v, %d records", out.Err, out.Interrupted, len(w.stored()))
		}
		w.Refuse = nil
		w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute})
		if w.Object(widgetPath) != nil || len(w.stored()) != 0 {
			t.Errorf("left after the outage: %v, %d records", w.Object(widgetPath), len(w.stored()))
		}
	})
}

// TestMovedGroup: an Ingress in the former and in the present group is one object, which is not
// deleted for its former group's sake, in either direction.
func TestMovedGroup(t *testing.T) {
	const former = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web}\n"
	present := strings.Replace(former, "extensions/v1beta1", "networking.k8s.io/v1", 1)
	for name, manifests := range map[string][2]string{"Upgrade": {former, present}, "Downgrade": {present, former}} {
		for _, method := range []helmv2.ServerSideApplyMode{helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled} {
			t.Run(name+"/"+string(method), func(t *testing.T) {
				w := newGoneWorld(t, method)
				w.Offered["extensions/v1beta1"] = []string{apitest.Entry("ingresses", "Ingress")}
				w.succeed(release.Install{Timeout: time.Minute}, manifests[0])
				w.expectSkipped(w.succeed(release.Upgrade{Timeout: time.Minute}, manifests[1]))
				w.expectDeletions()
			})
		}
	}
	t.Run("Removed", func(t *testing.T) {
		w := newGoneWorld(t, "")
		w.Offered["extensions/v1beta1"] = []string{apitest.Entry("ingresses", "Ingress")}
		w.succeed(release.Install{Timeout: time.Minute}, former)
		w.serve(false, func() { delete(w.Offered, "extensions/v1beta1") })
		w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute})
		if want := "/apis/networking.k8s.io/v1/namespaces/prod/ingresses/web"; !slices.Contains(w.deletions(), want) {
			t.Errorf("deleted %q, and not %s", w.deletions(), want)
		}
	})
}

// TestGoneHooks: an uninstall skips its hooks whose kinds are gone, or are served in another version
// only, which they may not be valid in.
func TestGoneHooks(t *testing.T) {
	hook := func(manifest string) string {
		return strings.Replace(manifest, "metadata: {name: web}", "metadata: {name: hook, annotations: {helm.sh/hook: pre-delete}}", 1)
	}
	w := newGoneWorld(t, "")
	w.succeed(release.Install{Timeout: time.Minute}, hook(widgetYAML), hook(cronYAML), cronYAML)
	w.serve(false, func() { w.removeKind(); w.removeVersion() })
	out := w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute})
	got := slices.Clone(out.Skipped)
	slices.SortFunc(got, func(a, b release.Object) int { return strings.Compare(a.Kind, b.Kind) })
	out.Skipped = got
	w.expectSkipped(out, "batch/v1beta1 CronJob hook", "example.com/v1 Widget hook")
	if len(w.stored()) != 0 || w.Object(newCronPath) != nil {
		t.Error("the release is still there")
	}
	if slices.ContainsFunc(w.Requests, func(r string) bool { return strings.HasPrefix(r, http.MethodPost) }) {
		t.Errorf("a hook was created: %q", w.Requests)
	}
}

// TestOwnDefinitions: the objects of a CRD that the release itself contains are deleted with it, and
// are not looked for elsewhere.
func TestOwnDefinitions(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n" +
		"spec: {group: example.com, names: {kind: Widget, plural: widgets}}\n"
	w := newGoneWorld(t, "")
	w.succeed(release.Install{Timeout: time.Minute}, crd, widgetYAML)
	w.TakeReads()
	w.Refuse = func(method, path string) int {
		if method == http.MethodDelete && strings.HasSuffix(path, "/widgets.example.com") {
			w.removeKind()
		}
		return 0
	}
	w.expectSkipped(w.succeed(release.Uninstall{Target: target(), Timeout: time.Minute}))
	if len(w.stored()) != 0 {
		t.Error("the release is still there")
	}
}

// TestReadsOfGoneKinds: comparisons of live objects, readiness and inventory leave out objects whose
// kinds are gone.
func TestReadsOfGoneKinds(t *testing.T) {
	w := newGoneWorld(t, "")
	w.succeed(release.Install{Timeout: time.Minute}, widgetYAML, cronYAML)
	w.serve(false, func() { w.removeKind(); w.removeVersion() })
	list, skipped, err := w.runner.Objects(t.Context(), w.conn, readRequest(1))
	if err != nil || len(list) != 1 || list[0].Name != "app" {
		t.Errorf("objects %v, %v", list, err)
	}
	// An object in another version cannot be compared: its manifest is not valid there.
	out := release.Outcome{Skipped: skipped}
	slices.SortFunc(out.Skipped, func(a, b release.Object) int { return strings.Compare(a.Kind, b.Kind) })
	w.expectSkipped(out, "batch/v1beta1 CronJob web", widget)
	health, err := w.runner.Health(t.Context(), w.conn, readRequest(1))
	if err != nil || !health.Ready {
		t.Errorf("health %+v, %v", health, err)
	}
	inventory, err := w.runner.Inventory(t.Context(), w.conn, readRequest(1))
	if err != nil || len(inventory) != 2 {
		t.Errorf("inventory %v, %v", inventory, err)
	}
}
