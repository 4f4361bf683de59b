// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// mapsChart renders a ConfigMap for each name in .Values.maps. Those with the resource policy keep
// are kept when they leave the chart.
func mapsChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "note", "1.0.0", map[string]string{"templates/maps.yaml": `{{ range $name, $more := .Values.maps }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  namespace: {{ $.Values.namespace | default $.Release.Namespace }}
  {{ if eq $more "keep" }}annotations: {helm.sh/resource-policy: keep}{{ end }}
data: {by: {{ $.Release.Name }}}
{{ end }}`})
}

// notes are values for ConfigMaps, "name" or "name keep".
func notes(names ...string) map[string]any {
	all := map[string]any{}
	for _, name := range names {
		name, more, _ := strings.Cut(name, " ")
		all[name] = more
	}
	return values("maps", all)
}

// mapsWorld is a world that offers mapsChart.
func mapsWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.publish("maps", "1.0.0", mapsChart(t))
	return w
}

// ofMaps uses mapsChart.
func ofMaps(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "maps" }

// there returns the data and metadata of a ConfigMap as text.
func (w *world) there(name string) string {
	w.t.Helper()
	raw, err := json.Marshal(w.configMap(name))
	w.must(err)
	return string(raw)
}

// untilOwned waits until a release reports that other releases own its objects. That must neither
// count as a failure nor change anything.
func (w *world) untilOwned(hr *helmv2.HelmRelease, revisions int, texts ...string) {
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, append(texts, "Nothing was changed")...)
	if s := hr.Status; s.Failures+s.InstallFailures+s.UpgradeFailures > 0 {
		w.t.Errorf("waiting counts as %d, %d, %d failures", s.Failures, s.InstallFailures, s.UpgradeFailures)
	}
	if n := len(w.stored(hr.Name)); n != revisions {
		w.t.Errorf("%d revisions are stored", n)
	}
}

// TestObjectsOfOthersAreLeft: objects of another existing release are not adopted, with any apply
// method and adoption setting. The message names all of them, nothing is written, and the install
// follows once the owner is gone.
func TestObjectsOfOthersAreLeft(t *testing.T) {
	t.Parallel()
	no := false
	for name, install := range map[string]helmv2.Install{
		"ServerSide":          {},
		"ServerSideUnchecked": {DisableOpenAPIValidation: true},
		"ClientSide":          {ServerSideApply: &no},
		"ClientSideUnchecked": {ServerSideApply: &no, DisableOpenAPIValidation: true},
		"NotTaking":           {DisableTakeOwnership: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "ServerSide" && name != "ClientSide" {
				t.Skip("long")
			}
			t.Parallel()
			w := mapsWorld(t)
			owner := w.release("owner", notes("one", "two", "theirs"), ofMaps)
			w.untilReady(owner)
			before := w.there("one") + w.there("two")
			hr := w.release("late", notes("one", "two", "own"), ofMaps, func(hr *helmv2.HelmRelease) { hr.Spec.Install = &install })
			w.untilOwned(hr, 0,
				"ConfigMap/"+w.namespace+"/one is owned by Helm release "+w.namespace+"/owner of HelmRelease '"+w.namespace+"/owner'",
				"ConfigMap/"+w.namespace+"/two is owned by Helm release "+w.namespace+"/owner")
			w.quiet(hr)
			if after := w.there("one") + w.there("two"); after != before {
				t.Errorf("was %s, is %s", before, after)
			}
			if err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "own"}, &corev1.ConfigMap{}); err == nil {
				t.Error("an object without owner was created")
			}
			w.must(suite.client.Delete(t.Context(), owner))
			w.untilGone(owner)
			w.untilReady(hr)
			if got := w.configMap("one").Data["by"]; got != "late" || hr.Status.History[0].Version != 1 {
				t.Errorf("one is by %q, revision %d", got, hr.Status.History[0].Version)
			}
		})
	}
}

// TestOrphansAreAdopted: objects without owner are adopted, and an event has the reason. Their
// former owner is not changed.
func TestOrphansAreAdopted(t *testing.T) {
	t.Parallel()
	no := false
	for name, serverSide := range map[string]*bool{"ServerSide": nil, "ClientSide": &no} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "ServerSide" {
				t.Skip("long")
			}
			t.Parallel()
			w := mapsWorld(t)
			w.make("plain", nil)
			w.make("widowed", map[string]string{"meta.helm.sh/release-name": "dead", "meta.helm.sh/release-namespace": w.namespace})
			before := w.release("before", notes("kept keep", "other"), ofMaps)
			w.untilReady(before)
			w.upgradeTo(before, 2, notes("other"))

			hr := w.release("after", notes("plain", "widowed", "kept", "free"), ofMaps, with(serverSide, ""))
			w.untilReady(hr)
			w.untilEvent(hr, "Normal", helmv2.EventReasonObjectsAdopted,
				"ConfigMap/"+w.namespace+"/plain: it has no metadata of a Helm release",
				"ConfigMap/"+w.namespace+"/widowed: Helm release "+w.namespace+"/dead, whose metadata it has, is not there",
				"ConfigMap/"+w.namespace+"/kept: Helm release "+w.namespace+"/before, whose metadata it has, has it no more")
			if w.hasEvent(hr, "Normal", helmv2.EventReasonObjectsAdopted, "free") {
				t.Error("the event names a new object as adopted")
			}
			for _, name := range []string{"plain", "widowed", "kept"} {
				cm := w.configMap(name)
				if cm.Data["by"] != "after" || cm.Annotations["meta.helm.sh/release-name"] != "after" {
					t.Errorf("%s is %v %v", name, cm.Annotations, cm.Data)
				}
			}
			w.must(suite.client.Delete(t.Context(), before))
			w.untilGone(before)
			w.configMap("kept")
		})
	}
}

// make creates a ConfigMap as another client.
func (w *world) make(name string, annotations map[string]string) {
	w.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: annotations}, Data: map[string]string{"by": "hand"}}
	if annotations != nil {
		cm.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	w.must(suite.client.Create(w.t.Context(), cm))
}

// TestNotTakingNamesOwner: with disableTakeOwnership orphans are rejected, and the message names
// them as orphans.
func TestNotTakingNamesOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := mapsWorld(t)
	w.make("plain", nil)
	hr := w.release("late", notes("plain"), ofMaps, func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableTakeOwnership: true} })
	w.untilSays(hr, "Released", metav1.ConditionFalse, helmv2.ReasonInstallFailed,
		"exists and cannot be imported into the current release: invalid ownership metadata",
		"ConfigMap/"+w.namespace+"/plain is an orphan: it has no metadata of a Helm release")
	if got := w.configMap("plain").Data["by"]; got != "hand" {
		t.Errorf("it is by %q", got)
	}
}

// TestObjectMovesInOneCommit: the release that gains an object waits for the release that loses it,
// and continues after the upgrade of the latter. The object exists all the time.
func TestObjectMovesInOneCommit(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]helmv2.ServerSideApplyMode{"ServerSide": "", "ClientSide": helmv2.ServerSideApplyDisabled} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "ServerSide" {
				t.Skip("long")
			}
			t.Parallel()
			w := mapsWorld(t)
			loses, gets := w.release("loses", notes("moving", "one"), ofMaps), w.release("gets", notes("two"), ofMaps, with(nil, mode))
			w.untilReady(loses)
			w.untilReady(gets)
			before := w.there("moving")
			w.edit(gets, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, notes("two", "moving")) })
			w.untilOwned(gets, 1, "ConfigMap/"+w.namespace+"/moving is owned by Helm release "+w.namespace+"/loses")
			if after := w.there("moving"); after != before {
				t.Errorf("was %s, is %s", before, after)
			}
			w.upgradeTo(loses, 2, notes("one"))
			w.untilReady(gets)
			if got := w.configMap("moving").Data["by"]; got != "gets" || newest(gets) != 2 || gets.Status.Failures != 0 {
				t.Errorf("it is by %q, revision %d, %d failures", got, newest(gets), gets.Status.Failures)
			}
		})
	}
}

// TestOwnersElsewhere: the owner of an object depends neither on the storage namespace nor on the
// name alone.
func TestOwnersElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w, away := mapsWorld(t), newWorld(t)
	away.publish("maps", "1.0.0", mapsChart(t))
	stored := w.release("stored", notes("one"), ofMaps, func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = away.namespace })
	w.untilReady(stored)
	namesake := away.release("late", values("maps", notes("two")["maps"], "namespace", w.namespace), ofMaps)
	away.untilReady(namesake)

	hr := w.release("late", notes("one", "two"), ofMaps)
	w.untilOwned(hr, 0,
		"ConfigMap/"+w.namespace+"/one is owned by Helm release "+w.namespace+"/stored of HelmRelease '"+w.namespace+"/stored'",
		"ConfigMap/"+w.namespace+"/two is owned by Helm release "+away.namespace+"/late of HelmRelease '"+away.namespace+"/late'")
	if got := w.configMap("two").Data["by"]; got != "late" || w.configMap("two").Annotations["meta.helm.sh/release-namespace"] != away.namespace {
		t.Errorf("the namesake lost its object: %v", w.configMap("two").Annotations)
	}
}

// TestReleasesOfPeople: a release that a user created with the Helm CLI is an owner too, and is
// reported without a HelmRelease.
func TestReleasesOfPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := mapsWorld(t)
	c, err := loader.LoadArchive(bytes.NewReader(mapsChart(t)))
	w.must(err)
	in := action.NewInstall(w.helmByHand())
	in.ReleaseName, in.Namespace = "by-hand", w.namespace
	_, err = in.Run(c, notes("one"))
	w.must(err)
	hr := w.release("late", notes("one"), ofMaps)
	w.untilOwned(hr, 0, "ConfigMap/"+w.namespace+"/one is owned by Helm release "+w.namespace+"/by-hand]")

	_, err = action.NewUninstall(w.helmByHand()).Run("by-hand")
	w.must(err)
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "now"}
	})
	w.untilReady(hr)
}

// TestOwnersThatCannotBeRead: if the records of another release cannot be read, it counts as
// existing. The message names the records.
func TestOwnersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, away := mapsWorld(t), newWorld(t)
	w.account("tenant", "configmaps", "secrets")
	w.make("one", map[string]string{"meta.helm.sh/release-name": "dead", "meta.helm.sh/release-namespace": away.namespace})
	before := w.there("one")
	hr := w.release("late", notes("one"), ofMaps, as("tenant"))
	w.untilOwned(hr, 0,
		"ConfigMap/"+w.namespace+"/one is owned by Helm release "+away.namespace+"/dead, as far as is known",
		"system:serviceaccount:"+w.namespace+":tenant", `cannot list resource "secrets"`, away.namespace)
	if after := w.there("one"); after != before {
		t.Errorf("was %s, is %s", before, after)
	}
	w.must(suite.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: away.namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"}},
	}))
	w.untilReady(hr)
}

// TestMadeMeanwhile: an object that another client creates or labels between the check and the
// write is not adopted.
func TestMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"Made": false, "Adopted": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if there {
				b.make("one", nil)
			}
			c, err := loader.LoadArchive(bytes.NewReader(mapsChart(t)))
			b.must(err)
			theirs := action.NewInstall(b.helmByHand())
			theirs.ReleaseName, theirs.Namespace, theirs.TakeOwnership = "by-hand", b.namespace, true
			done := false
			b.meanwhile(func(req *http.Request) error {
				// The revision is stored after the check.
				if done || req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/secrets") {
					return nil
				}
				done = true
				_, err := theirs.Run(c, notes("one"))
				return err
			})
			out := b.run(install, mapsChart(t), notes("one"), helmv2.HelmReleaseSpec{})
			if out.Err == nil || !containsAll(out.Err.Error(), "ConfigMap/"+b.namespace+"/one is owned by Helm release "+b.namespace+"/by-hand") {
				t.Errorf("error %v", out.Err)
			}
			if len(out.Owners) != 0 || !out.Stored() {
				t.Errorf("a revision is stored, so it is a failure as any other: %+v", out)
			}
			if cm := b.configMap("one"); !done || cm.Data["by"] != "by-hand" || cm.Annotations["meta.helm.sh/release-name"] != "by-hand" {
				t.Errorf("%t: %v %v", done, cm.Annotations, cm.Data)
			}
		})
	}
}

// TestMadeByTwoAtOnce: of two actions that find an object free at the same moment one
// makes it, and the other waits.
func TestMadeByTwoAtOnce(t *testing.T) {
	t.Parallel()
	for name, unchecked := range map[string]bool{"Checked": false, "Unchecked": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var second release.Outcome
			var begun atomic.Bool
			b.meanwhile(func(req *http.Request) error {
				if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/secrets") && begun.CompareAndSwap(false, true) {
					second = b.as("second").run(install, mapsChart(t), notes("one", "two"), helmv2.HelmReleaseSpec{})
				}
				return nil
			})
			b.mustRun(install, mapsChart(t), notes("one"), helmv2.HelmReleaseSpec{Install: &helmv2.Install{DisableOpenAPIValidation: unchecked}})
			if second.Err == nil || !containsAll(second.Err.Error(), "ConfigMap/"+b.namespace+"/one is about to be made or adopted by another release") ||
				strings.Contains(second.Err.Error(), "app") {
				t.Errorf("error %v", second.Err)
			}
			if len(second.Owners) != 1 || second.Owners[0].Name != "app" || second.Stored() {
				t.Errorf("it does not wait: %+v", second)
			}
			if got := b.configMap("one").Data["by"]; got != "app" {
				t.Errorf("it is by %q", got)
			}
			third := b.as("second").run(install, mapsChart(t), notes("two"), helmv2.HelmReleaseSpec{})
			if third.Err != nil {
				t.Errorf("an object that the action did not create is not free: %v", third.Err)
			}
		})
	}
}

// as is the bench for another release than app.
func (b *bench) as(name string) *bench {
	return &bench{world: b.world, conn: b.conn, runner: b.runner, name: name}
}

// meanwhile runs do before each request is sent.
func (b *bench) meanwhile(do func(*http.Request) error) {
	b.t.Helper()
	config, err := b.conn.ToRESTConfig()
	b.must(err)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if err := do(req); err != nil {
				return nil, errors.New("meanwhile: " + err.Error())
			}
			return next.RoundTrip(req)
		})
	})
	b.conn, err = cluster.Connect(config)
	b.must(err)
}

// TestReturningTakesNothing: a rollback neither adopts nor deletes objects that another release
// owns by now.
func TestReturningTakesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustRun(install, mapsChart(t), notes("one", "two", "three"), helmv2.HelmReleaseSpec{})
	b.mustRun(upgrade, mapsChart(t), notes("two", "three"), helmv2.HelmReleaseSpec{})
	c, err := loader.LoadArchive(bytes.NewReader(mapsChart(t)))
	b.must(err)
	theirs := action.NewInstall(b.helmByHand())
	theirs.ReleaseName, theirs.Namespace, theirs.TakeOwnership = "by-hand", b.namespace, true
	_, err = theirs.Run(c, notes("one", "three"))
	b.must(err)

	out := b.run(release.Rollback{Version: 1, Timeout: 10 * time.Second}, mapsChart(t), nil, helmv2.HelmReleaseSpec{})
	if out.Err == nil || !containsAll(out.Err.Error(), "ConfigMap/"+b.namespace+"/one is owned by Helm release "+b.namespace+"/by-hand") {
		t.Errorf("error %v", out.Err)
	}
	b.mustRun(upgrade, mapsChart(t), notes("two"), helmv2.HelmReleaseSpec{})
	for _, name := range []string{"one", "three"} {
		if got := b.configMap(name).Data["by"]; got != "by-hand" {
			t.Errorf("%s is by %q", name, got)
		}
	}
}

// TestRequestsForAdoption: an absent object costs no request, an existing one at most one, and each
// other release at most two.
func TestRequestsForAdoption(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	dead := map[string]string{"meta.helm.sh/release-name": "dead", "meta.helm.sh/release-namespace": b.namespace}
	b.make("one", dead)
	b.make("two", dead)
	b.mustRun(install, mapsChart(t), notes("one", "two", "three", "four"), helmv2.HelmReleaseSpec{})
	if free, there := b.asked("GET", "/configmaps/three?")+b.asked("GET", "/configmaps/four?"), b.asked("GET", "/configmaps/one?"); free != 0 || there != 3 {
		// Three reads: in the check, right before the adoption, and again because another manager
		// owns the ownership metadata.
		t.Errorf("%d requests for an absent object, %d for an existing one", free, there)
	}
	if n := b.asked("GET", "/secrets?", "dead"); n != 1 {
		t.Errorf("%d requests for the other release", n)
	}
}
