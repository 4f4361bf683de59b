// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// claimChart renders a ConfigMap, and with .Values.claim a second one and a PersistentVolumeClaim,
// which never becomes ready.
func claimChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: base}
data: {message: {{ .Values.message }}}
{{ if .Values.claim }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: made}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
{{ end }}`})
}

// makeClaim creates the PersistentVolumeClaim as another client, and returns in a later second:
// creation times have seconds.
func (w *world) makeClaim() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	w.must(suite.client.Create(w.t.Context(), claim))
	for {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
		w.must(suite.client.Create(w.t.Context(), probe, client.DryRunAll))
		if claim.CreationTimestamp.Before(&probe.CreationTimestamp) {
			return claim
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// exists reports whether a ConfigMap exists.
func (w *world) exists(name string) bool {
	w.t.Helper()
	err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		return false
	}
	w.must(err)
	return true
}

// expectClaim fails unless the PersistentVolumeClaim is the one that another client created. Its
// annotation names the release if it was adopted.
func (w *world) expectClaim(claim *corev1.PersistentVolumeClaim, adopter string) {
	w.t.Helper()
	now := &corev1.PersistentVolumeClaim{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), now))
	if now.UID != claim.UID || now.DeletionTimestamp != nil || now.Annotations[helmv2.AnnotationHelmReleaseName] != adopter {
		w.t.Errorf("the claim is %+v", now.ObjectMeta)
	}
}

// TestLeftovers: an upgrade creates an object, adopts a PersistentVolumeClaim and waits for it, and
// newer inputs without both end the wait. The next upgrade or the uninstall deletes the object and
// not the claim, with both apply methods.
func TestLeftovers(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	no := false
	for name, edit := range map[string]func(*helmv2.HelmRelease){
		"ServerSide": with(nil, ""),
		"ClientSide": with(&no, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.publish("app", "1.0.0", claimChart(t))
			claim := w.makeClaim()
			hr := w.release("app", values("message", "one"), edit, func(hr *helmv2.HelmRelease) { hr.Spec.Timeout.Duration = time.Hour })
			w.untilReady(hr)
			w.expectClaim(claim, "")

			untilWaiting := func(message string) {
				t.Helper()
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, values("message", message, "claim", true)) })
				w.until(hr, "the wait of the upgrade", func(*helmv2.HelmRelease) bool {
					return w.exists("made") && w.configMap("base").Data["message"] == message
				})
				w.until(hr, "the adoption", func(*helmv2.HelmRelease) bool {
					now := &corev1.PersistentVolumeClaim{}
					w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(claim), now))
					return now.Annotations[helmv2.AnnotationHelmReleaseName] == "app"
				})
			}
			untilWaiting("two")
			w.upgradeTo(hr, 3, values("message", "three"))
			if w.exists("made") {
				t.Error("the upgrade has left the object of the revision before it")
			}
			w.expectClaim(claim, "app")

			untilWaiting("four")
			w.must(suite.client.Delete(t.Context(), hr))
			w.untilGone(hr)
			if left := slices.DeleteFunc([]string{"base", "made"}, func(name string) bool { return !w.exists(name) }); len(left) > 0 {
				t.Errorf("the uninstall has left %v", left)
			}
			w.expectClaim(claim, "app")
		})
	}
}
