// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// watched is the label of objects that the controller watches.
func watched() map[string]string { return map[string]string{watchLabel: "Enabled"} }

// byGitOps is the labels of watched objects that a Kustomization applies.
func byGitOps() map[string]string {
	return map[string]string{watchLabel: "Enabled", "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": namespace}
}

// TestWatchedValues: a change of a watched object leads to an upgrade at once, and one that does not
// change the values to no write.
func TestWatchedValues(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		cm := w.configMap("app-values", "one", watched())
		hr := w.release("app", "", valuesFrom(helmv2.KindConfigMap))
		w.untilReady(hr)
		time.Sleep(10 * time.Minute)
		edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["message"] = "two" })
		if took := w.untilMessage("app", "two"); took > 5*time.Second {
			t.Errorf("the upgrade took %s", took)
		}
		w.untilReady(hr)
		edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["other"] = "x" })
		w.quiet(2 * time.Hour)
	})
}

// TestOneUpgradePerCommit: objects that change within a second lead to one upgrade. So do those that
// one Kustomization applies within some seconds.
func TestOneUpgradePerCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		apart  time.Duration
		want   int
	}{
		"Together":          {watched(), 900 * time.Millisecond, 2},
		"Apart":             {watched(), 5 * time.Second, 3},
		"OneCommit":         {byGitOps(), 900 * time.Millisecond, 2},
		"OneCommitThatLags": {byGitOps(), 20 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.start()
				w.publish("app", "1.0.0", w.note("1.0.0"))
				cm := w.configMap("app-values", "one", tc.labels)
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app-values", Labels: tc.labels}, Data: map[string][]byte{"message": []byte("one")}}
				w.create(secret)
				hr := w.release("app", "", valuesFrom(helmv2.KindConfigMap), func(hr *helmv2.HelmRelease) {
					hr.Labels = tc.labels
					hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "app-values", ValuesKey: "message", TargetPath: "other"})
				})
				w.untilReady(hr)
				time.Sleep(time.Minute)
				edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["message"] = "two" })
				time.Sleep(tc.apart)
				edit(w, secret, func(s *corev1.Secret) { s.Data["message"] = []byte("two") })
				time.Sleep(time.Minute)
				if w.read(hr); newest(hr) != tc.want {
					t.Errorf("revision %d, want %d", newest(hr), tc.want)
				}
			})
		})
	}
}

// TestMissingValues: a release waits for an object with values without a write, and is installed as
// soon as the object is created.
func TestMissingValues(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "", valuesFrom(helmv2.KindConfigMap))
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError, "the object does not exist")
		w.quiet(3 * time.Hour)
		cm := w.configMap("app-values", "one", watched())
		if took := w.untilMessage("app", "one"); took > 5*time.Second {
			t.Errorf("the install took %s", took)
		}
		w.untilReady(hr)
		// The installed release stays when its values are deleted.
		w.must(w.client.Delete(t.Context(), cm, &client.DeleteOptions{}))
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError)
		if got := w.message("app"); got != "one" {
			t.Errorf("it says %q", got)
		}
	})
}
