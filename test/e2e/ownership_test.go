// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// cards is a chart with a ConfigMap for each name in .Values.cards, kept if its value is keep.
func cards() *helmchart.Chart {
	return &helmchart.Chart{
		Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "hello", Version: "0.1.0"},
		Values:   map[string]any{"cards": map[string]any{}},
		Templates: []*helmchart.File{{Name: "templates/cards.yaml", Data: []byte(`{{ range $name, $policy := .Values.cards }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  {{ with $policy }}annotations: {helm.sh/resource-policy: {{ . }}}{{ end }}
data: {by: {{ $.Release.Name }}}
{{ end }}`)}},
	}
}

// card returns a ConfigMap, and its complete content as text.
func (w world) card(name string) (configMap *corev1.ConfigMap, all string) {
	w.Helper()
	cm := &corev1.ConfigMap{}
	w.Get(name, cm)
	raw, err := json.Marshal(cm)
	w.Must(err)
	return cm, string(raw)
}

// TestOwnership: an install over existing objects creates absent ones, adopts those without owner,
// applies its own, and does not touch those of another release. The message names that owner, which
// stays in sync. When the owner is deleted, the install follows.
func TestOwnership(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	archive, err := harness.Pack(cards())
	w.Must(err)
	w.Must(env.Registry.PushChart(t.Context(), w.Namespace, archive))
	source := w.source("hello", env.Registry.Address).Name

	// A kept object outlives the release that had it, and is its own when it returns.
	late := w.release("late", source, values{"cards": values{"ours": "keep"}})
	w.UntilRevision(late, 1)
	w.Must(env.Client.Delete(t.Context(), late))
	w.UntilGone(late)
	w.Must(env.Client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "orphan"}, Data: map[string]string{"by": "hand"},
	}))
	owner := w.release("owner", source, values{"cards": values{"owned": ""}})
	w.UntilRevision(owner, 1)
	_, owned := w.card("owned")
	_, orphan := w.card("orphan")
	_, ours := w.card("ours")

	late = w.release("late", source, values{"cards": values{"free": "", "orphan": "", "ours": "keep", "owned": ""}})
	w.UntilCondition(late, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonObjectsOwned, "Nothing was changed",
		"ConfigMap/"+w.Namespace+"/owned is owned by Helm release "+w.Namespace+"/owner of HelmRelease '"+w.Namespace+"/owner'")
	for name, before := range map[string]string{"owned": owned, "orphan": orphan, "ours": ours} {
		if _, after := w.card(name); after != before {
			t.Errorf("%s was\n%s\nis\n%s", name, before, after)
		}
	}
	if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "free"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the absent object exists: %v", err)
	}
	w.UntilRevision(owner, 1)
	if got := late.Status; got.InstallFailures != 0 || got.Failures != 0 || len(got.History) != 0 {
		t.Errorf("it counts:\n%s", harness.Summary(late))
	}

	w.Must(env.Client.Delete(t.Context(), owner))
	w.UntilRevision(late, 1)
	for _, name := range []string{"free", "orphan", "ours", "owned"} {
		if cm, _ := w.card(name); cm.Data["by"] != "late" || cm.Annotations["meta.helm.sh/release-name"] != "late" {
			t.Errorf("%s is %v %v", name, cm.Annotations, cm.Data)
		}
	}
	w.untilEvents(late, helmv2.ReasonObjectsOwned, helmv2.EventReasonObjectsAdopted, helmv2.ReasonInstallSucceeded)
}
