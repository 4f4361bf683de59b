// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/base64"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

func deploymentYAML(image string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: web, image: " + image + "}]}}}\n"
}

func settingsYAML(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %s}\n", name, value)
}

// changesWorld is a world whose API server serves Deployments.
type changesWorld struct{ *goneWorld }

func newChangesWorld(t *testing.T, method helmv2.ServerSideApplyMode) *changesWorld {
	t.Helper()
	w := &changesWorld{newGoneWorld(t, method)}
	w.Offered["apps/v1"] = []string{apitest.Entry("deployments", "Deployment")}
	return w
}

func (w *changesWorld) expect(out release.Outcome, counts *release.ObjectCounts, images ...string) {
	w.t.Helper()
	if diff := cmp.Diff(counts, out.Changes.Objects); diff != "" {
		w.t.Errorf("%s: objects (-want +got):\n%s", release.Name(out.Action), diff)
	}
	var got []string
	for _, i := range out.Changes.Images {
		got = append(got, i.Object.Kind+"/"+i.Object.Namespace+"/"+i.Object.Name+" "+i.Container+" "+i.From+">"+i.To)
	}
	if diff := cmp.Diff(images, got); diff != "" {
		w.t.Errorf("%s: images (-want +got):\n%s", release.Name(out.Action), diff)
	}
}

// eachMethod runs a test for both apply methods.
func eachMethod(t *testing.T, test func(t *testing.T, w *changesWorld)) {
	t.Helper()
	for _, method := range []helmv2.ServerSideApplyMode{helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled} {
		t.Run(string(method), func(t *testing.T) { test(t, newChangesWorld(t, method)) })
	}
}

// TestChanges: the outcome of an action has the images that differ, and the numbers of objects that
// the requests have created, changed and deleted.
func TestChanges(t *testing.T) {
	eachMethod(t, func(t *testing.T, w *changesWorld) {
		// The ConfigMap of the chart has the version of the chart, and changes each time.
		up := release.Upgrade{Timeout: time.Minute}
		same, dropped := settingsYAML("same", "x"), settingsYAML("dropped", "x")
		out := w.succeed(release.Install{Timeout: time.Minute}, deploymentYAML("web:7"), same, dropped, settingsYAML("other", "1"))
		w.expect(out, &release.ObjectCounts{Created: 5}, "Deployment/prod/web web >web:7")
		out = w.succeed(up, deploymentYAML("web:8"), same, dropped, settingsYAML("other", "2"), settingsYAML("new", "x"))
		w.expect(out, &release.ObjectCounts{Created: 1, Changed: 3}, "Deployment/prod/web web web:7>web:8")
		w.expect(w.succeed(up, deploymentYAML("web:8"), same, settingsYAML("other", "2")), &release.ObjectCounts{Changed: 1, Deleted: 2})
		// The objects that are created again are not counted as changed.
		w.serve(true, func() { delete(w.Objects, "/api/v1/namespaces/prod/configmaps/same") })
		w.expect(w.succeed(up, deploymentYAML("web:8"), same, settingsYAML("other", "3")), &release.ObjectCounts{Created: 1, Changed: 2})
		w.expect(w.succeed(release.Rollback{Timeout: time.Minute, Version: 1}),
			&release.ObjectCounts{Created: 1, Changed: 3}, "Deployment/prod/web web web:8>web:7")
		// An object that is gone already is not counted as deleted.
		w.serve(true, func() { delete(w.Objects, "/api/v1/namespaces/prod/configmaps/same") })
		w.expect(w.succeed(release.Uninstall{Timeout: time.Minute, Target: target()}), &release.ObjectCounts{Deleted: 4})
	})
}

// TestChangesOfFailures: a failed action has none.
func TestChangesOfFailures(t *testing.T) {
	w := newChangesWorld(t, helmv2.ServerSideApplyEnabled)
	w.Refuse = func(method, path string) int {
		if method == "PATCH" && path == "/api/v1/namespaces/prod/configmaps/bad" {
			return 403
		}
		return 0
	}
	out := w.run(release.Install{Timeout: time.Minute}, deploymentYAML("web:7"), settingsYAML("bad", "x"))
	if out.Err == nil {
		t.Error("the install has succeeded")
	}
	w.expect(out, nil)
}

// TestChangesOfMendedFailure: after a failed upgrade whose objects are live, the numbers compare with them.
func TestChangesOfMendedFailure(t *testing.T) {
	for _, method := range []helmv2.ServerSideApplyMode{helmv2.ServerSideApplyEnabled, helmv2.ServerSideApplyDisabled} {
		synctest.Test(t, func(t *testing.T) {
			w := newChangesWorld(t, method)
			w.succeed(release.Install{Timeout: time.Minute}, settingsYAML("back", "1"), settingsYAML("stays", "1"), settingsYAML("again", "1"))
			failing := w.job(release.Upgrade{Timeout: time.Minute}, settingsYAML("back", "2"), settingsYAML("stays", "2"), settingsYAML("again", "2"), deploymentYAML("web:7"))
			failing.Spec.Upgrade.DisableWait = false
			if out := w.runner.Run(t.Context(), w.conn, failing); out.Err == nil || !w.history()[0].Applied {
				t.Fatalf("%s: the failed upgrade ended with %v", method, out.Err)
			}
			// The ConfigMap of the chart has the version of the chart, and changes each time.
			mended := w.succeed(release.Upgrade{Timeout: time.Minute}, settingsYAML("back", "1"), settingsYAML("stays", "2"), settingsYAML("again", "3"), deploymentYAML("web:7"))
			w.expect(mended, &release.ObjectCounts{Changed: 3}, "Deployment/prod/web web >web:7")
		})
	}
}

// TestEnded: the record of a revision has the end of the action that made it, also after tests and after
// later revisions.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		artifact := w.chart("1.0.0", note())
		run := func(action release.HelmAction, message string) {
			t.Helper()
			if out := w.runner.Run(t.Context(), w.conn, job(action, artifact, "1.0.0", map[string]any{"message": message})); out.Err != nil {
				t.Fatal(out.Err)
			}
			time.Sleep(time.Minute)
		}
		start := time.Now()
		run(release.Install{Timeout: time.Minute}, "one")
		run(release.Test{Timeout: time.Minute}, "one")
		run(release.Upgrade{Timeout: time.Minute}, "two")
		records := w.history()
		for i, want := range []time.Time{start.Add(2 * time.Minute), start} {
			if took := records[i].Ended.Sub(want.Truncate(time.Second)); took < 0 || took > 30*time.Second || !records[i].Sealed {
				t.Errorf("revision %d ended at %s, not %s, sealed %t", records[i].Version, records[i].Ended, want, records[i].Sealed)
			}
		}
	})
}

// TestChangesHideSecrets: the value of a Secret is removed from images.
func TestChangesHideSecrets(t *testing.T) {
	w := newChangesWorld(t, helmv2.ServerSideApplyEnabled)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {p: " + base64.StdEncoding.EncodeToString([]byte("very-secret")) + "}\n"
	w.expect(w.succeed(release.Install{Timeout: time.Minute}, deploymentYAML("very-secret/web:7"), secret),
		&release.ObjectCounts{Created: 3}, "Deployment/prod/web web >***/web:7")
	w.expect(w.succeed(release.Upgrade{Timeout: time.Minute}, deploymentYAML("web:8")),
		&release.ObjectCounts{Changed: 2, Deleted: 1}, "Deployment/prod/web web ***/web:7>web:8")
}

// TestSourceRevision: the record of a revision has the revision of the source. A rollback copies that
// of its target, and later writes of a record keep it.
func TestSourceRevision(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	run := func(action release.HelmAction, source, want string) {
		t.Helper()
		j := job(action, artifact, "1.0.0", map[string]any{"message": source})
		j.Desired.SourceRevision = source
		if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil || out.Revisions[0].SourceRevision != want {
			t.Fatalf("%s: revision %q, want %q, error %v", release.Name(action), out.Revisions[0].SourceRevision, want, out.Err)
		}
	}
	run(release.Install{Timeout: time.Minute}, "main@sha1:1", "main@sha1:1")
	run(release.Upgrade{Timeout: time.Minute}, "main@sha1:2", "main@sha1:2")
	run(release.Rollback{Timeout: time.Minute, Version: 1}, "main@sha1:3", "main@sha1:1")
	run(release.Upgrade{Timeout: time.Minute}, "", "")
	run(release.Test{Timeout: time.Minute}, "main@sha1:5", "")
	secrets := secretsOf(t, w)
	for version, want := range map[int]string{1: "main@sha1:1", 2: "main@sha1:2", 3: "main@sha1:1", 4: ""} {
		record, err := secrets.Get(t.Context(), fmt.Sprint(key, version), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, set := record.Annotations[helmv2.AnnotationSourceRevision]; got != want || set != (want != "") {
			t.Errorf("record %d: %q, want %q", version, got, want)
		}
	}
	if newest := w.history()[0]; newest.SourceRevision != "" || newest.Version != 4 {
		t.Errorf("newest revision %+v", newest)
	}
}

// TestSourceRevisionAfterCrash: a resumed action keeps the revision of the source with which it was
// begun, and counts no objects.
func TestSourceRevisionAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		artifact := m.chart("1.0.0", note())
		run := func(action release.HelmAction, source string) release.Outcome {
			j := job(action, artifact, "1.0.0", map[string]any{"message": source})
			j.Desired.SourceRevision = source
			return m.runner.Run(t.Context(), m.conn, j)
		}
		if out := run(release.Install{Timeout: time.Minute}, "main@sha1:1"); out.Err != nil {
			t.Fatal(out.Err)
		}
		// The record is stored, and nothing after it.
		m.left = 1
		m.answers = true
		if out := run(release.Upgrade{Timeout: time.Minute}, "main@sha1:2"); out.Err == nil {
			t.Fatal("the upgrade has succeeded")
		}
		m.left, m.away = -1, false
		out := run(release.Upgrade{Timeout: time.Minute, Resume: 2}, "main@sha1:3")
		if out.Err != nil || out.Revisions[0].SourceRevision != "main@sha1:2" || out.Changes.Objects != nil {
			t.Errorf("outcome %+v", out)
		}
		record, err := secretsOf(t, m.world).Get(t.Context(), key+"2", metav1.GetOptions{})
		if err != nil || record.Annotations[helmv2.AnnotationSourceRevision] != "main@sha1:2" {
			t.Errorf("record %v, error %v", record.Annotations, err)
		}
		if out := m.runner.Run(t.Context(), m.conn, job(release.Rollback{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil)); out.Revisions[0].SourceRevision != "main@sha1:1" {
			t.Errorf("rolled back to %q, error %v", out.Revisions[0].SourceRevision, out.Err)
		}
	})
}
