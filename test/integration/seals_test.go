// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestSealKeyRights: with the rights of config/rbac, the controller creates the key of seals, reads it
// later, and may create no other Secret.
func TestSealKeyRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, err := os.ReadFile("../../config/rbac/seal_key_role.yaml")
	w.must(err)
	var role rbacv1.Role
	w.must(yaml.UnmarshalStrict(text, &role))
	config := rest.CopyConfig(suite.config)
	config.Impersonate.UserName = "controller-" + w.namespace
	rules := append([]rbacv1.PolicyRule{rule("", []string{"configmaps"}, []string{"get"})}, role.Rules...)
	w.grant("controller", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName}, rules...)
	w.untilAllowed(config.Impersonate.UserName, rules[0]) // all are in one Role
	clients, err := kubernetes.NewForConfig(config)
	w.must(err)
	for range 2 {
		s := storage.NewSealKeySource(clients.CoreV1(), w.namespace, &storage.SealKey{}, false, logr.Discard())
		w.must(s.Start(t.Context()))
	}
	key := &corev1.Secret{}
	w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: storage.SealKeySecret}, key))
	if len(key.Data) != 1 || key.Immutable == nil || !*key.Immutable {
		t.Errorf("the Secret has %d keys, immutable %v", len(key.Data), key.Immutable)
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	if _, err := clients.CoreV1().Secrets(w.namespace).Create(t.Context(), other, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another Secret is created: %v", err)
	}
}

// TestForgedRecord: the record of an interrupted upgrade that someone else has written, with the label
// of the HelmRelease and an attempt with its inputs, is not resumed. The release is upgraded from its
// chart.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("note", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("note", map[string]any{"message": "mine"})
	w.untilReady(hr)
	first := w.stored("note")[0]
	var attempt release.Attempt
	w.must(json.Unmarshal([]byte(first.Annotations[helmv2.AnnotationAttempt]), &attempt))
	attempt.ID, attempt.Action = string(hr.UID)+".2.abcdefgh", helmv2.ActionUpgrade
	raw, err := json.Marshal(attempt)
	w.must(err)

	forged := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: storage.Key("note", 2), Labels: first.Labels,
			Annotations: map[string]string{helmv2.AnnotationAttempt: string(raw), helmv2.AnnotationSeal: first.Annotations[helmv2.AnnotationSeal]},
		},
		Type: first.Type, Data: first.Data,
	}
	forged.Labels["version"], forged.Labels["status"] = "2", "pending-upgrade"
	forged.Labels[helmv2.LabelRevision] = string(hr.UID) + ".2"
	w.must(suite.client.Create(t.Context(), forged))
	w.tamperWith("note", 2, func(record map[string]any) {
		record["version"] = 2
		info, _ := record["info"].(map[string]any)
		info["status"] = "pending-upgrade"
		text, _ := record["manifest"].(string)
		record["manifest"] = text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: forged}\n"
	})
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationReconcileRequest: "now"}
	})
	w.until(hr, "an upgrade from the chart", func(hr *helmv2.HelmRelease) bool {
		last := release.Latest(hr.Status.History)
		return last != nil && last.Version == 3 && last.Status == helmv2.StatusDeployed
	})
	for _, s := range hr.Status.History {
		if s.Version == 2 {
			t.Errorf("a forged revision enters the history: %+v", s)
		}
	}
	err = suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "forged"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("an object of a forged record exists: %v", err)
	}
	for _, secret := range w.stored("note") {
		if sealed := secret.Annotations[helmv2.AnnotationSeal] != ""; sealed != !strings.HasSuffix(secret.Name, ".v2") {
			t.Errorf("%s is sealed: %t", secret.Name, sealed)
		}
	}
}
