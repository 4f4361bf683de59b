// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
)

// helmByHand is Helm as a person runs it.
func (w *world) helmByHand() *action.Configuration {
	w.t.Helper()
	conn, err := cluster.Connect(suite.config)
	w.must(err)
	config := &action.Configuration{}
	w.must(config.Init(conn, w.namespace, "secret", func(string, ...any) {}))
	return config
}

func TestHelmReadsWhatWasStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("open", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("open", nil)
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "again"}) })
	w.untilReady(hr)

	config := w.helmByHand()
	listed, err := action.NewList(config).Run()
	w.must(err)
	if len(listed) != 1 || listed[0].Name != "open" || listed[0].Version != 2 {
		t.Errorf("helm list shows %v", listed)
	}
	history, err := action.NewHistory(config).Run("open")
	w.must(err)
	if len(history) != 2 {
		t.Errorf("helm history shows %d revisions", len(history))
	}
	got, err := action.NewGet(config).Run("open")
	w.must(err)
	if !bytes.Contains([]byte(got.Manifest), []byte(`message: "again"`)) {
		t.Errorf("helm get manifest shows %s", got.Manifest)
	}
	if got.Labels[helmv2.LabelRevision] != string(hr.UID)+".2" {
		t.Errorf("the revision is labelled %v", got.Labels)
	}
}

// TestUpgradeByHandIsTakenBack: a manual upgrade is detected, although Helm copies the labels of
// Pintle's revision to the user's.
func TestUpgradeByHandIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive := configMapChart(t, "1.0.0")
	w.publish("fought", "1.0.0", archive)
	hr := w.release("fought", map[string]any{"message": "ours"})
	w.untilReady(hr)

	c, err := loader.LoadArchive(bytes.NewReader(archive))
	w.must(err)
	up := action.NewUpgrade(w.helmByHand())
	up.Namespace = w.namespace
	_, err = up.Run("fought", c, map[string]any{"message": "theirs"})
	w.must(err)

	// The first request may be read before the revision of the other client.
	n := 0
	untilTrue(w, "an upgrade", func() bool {
		n++
		w.edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: fmt.Sprint("look ", n)}
		})
		w.quiet(hr)
		return newest(hr) == 3
	})
	w.until(hr, "revision 3", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == 3 && condition(hr, "Ready").Status == metav1.ConditionTrue
	})
	if got := w.configMap("fought").Data["message"]; got != "ours" {
		t.Errorf("message is %q", got)
	}
}

// TestExistingReleaseIsTakenOver: a release older than its HelmRelease is upgraded.
func TestExistingReleaseIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive := configMapChart(t, "1.0.0")
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	w.must(err)
	in := action.NewInstall(w.helmByHand())
	in.ReleaseName, in.Namespace = "older", w.namespace
	_, err = in.Run(c, nil)
	w.must(err)

	w.publish("older", "1.0.0", archive)
	hr := w.release("older", map[string]any{"message": "new"})
	w.untilReady(hr)
	if got := hr.Status.History[0]; got.Version != 2 || got.Action != helmv2.ActionUpgrade {
		t.Errorf("history[0] = %+v", got)
	}
	cm := w.configMap("older")
	if cm.Data["message"] != "new" || cm.Labels[helmv2.LabelName] != "older" {
		t.Errorf("ConfigMap is %v %v", cm.Data, cm.Labels)
	}
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err == nil {
		t.Error("the ConfigMap is left")
	}
}
