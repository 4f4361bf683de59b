// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// watched is the label that makes changes of the object trigger reconciliations.
func watched() map[string]string { return map[string]string{watchLabel: "Enabled"} }

func (w *world) values(name string, labels, data map[string]string) *corev1.ConfigMap {
	w.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}, Data: data}
	w.must(suite.client.Create(w.t.Context(), cm))
	return cm
}

func (w *world) secretValues(name string, labels, data map[string]string) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}, StringData: data}
	w.must(suite.client.Create(w.t.Context(), secret))
	return secret
}

func from(refs ...helmv2.ValuesReference) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = refs }
}

func (w *world) untilRevision(hr *helmv2.HelmRelease, n int) {
	w.t.Helper()
	w.until(hr, "another revision, Ready", func(hr *helmv2.HelmRelease) bool {
		return newest(hr) == n && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue
	})
}

func (w *world) wantData(name, message, unset string) {
	w.t.Helper()
	if got := w.configMap(name).Data; got["message"] != message || got["secret"] != unset {
		w.t.Errorf("message is %q and the other value %q, want %q and %q", got["message"], got["secret"], message, unset)
	}
}

// settleConfigs waits until the controller has done nothing about a change of watched ConfigMaps or
// Secrets.
func (w *world) settleConfigs(hr *helmv2.HelmRelease, changed ...client.Object) {
	w.t.Helper()
	for _, object := range changed {
		w.received(object)
	}
	w.quiet(hr)
}

// untilAtRest waits until a HelmRelease is Ready and the reconciliation after the action has ended.
// That reconciliation would detect a change too, so that no watch would be tested.
func (w *world) untilAtRest(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.untilReady(hr)
	w.quiet(hr)
}

// TestValuesFromWatchedObjects: the interval is an hour, so it is the change that
// leads to the upgrade.
func TestValuesFromWatchedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("fed", "1.0.0", configMapChart(t, "1.0.0"))
	cm := w.values("base", watched(), map[string]string{"values.yaml": "message: base\nunset: base"})
	secret := w.secretValues("keys", watched(), map[string]string{"token": "t0"})
	hr := w.release("fed", map[string]any{"message": "inline"}, from(
		helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "keys", ValuesKey: "token", TargetPath: "unset"},
		helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: "base"},
	))
	w.untilAtRest(hr)
	w.wantData("fed", "inline", "t0")

	before := secret.DeepCopy()
	secret.StringData = map[string]string{"token": "t1"}
	w.must(suite.client.Patch(t.Context(), secret, client.MergeFrom(before)))
	w.untilRevision(hr, 2)
	w.wantData("fed", "inline", "t1")

	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = nil })
	w.untilAtRest(hr)
	w.wantData("fed", "base", "t1")
	cm.Data["values.yaml"] = "message: changed"
	w.must(suite.client.Update(t.Context(), cm))
	w.untilRevision(hr, 4)
	w.wantData("fed", "changed", "t1")

	// A change that does not change the values has no effect.
	w.untilAtRest(hr)
	settled := hr.ResourceVersion
	cm.Data["other"] = "x"
	w.must(suite.client.Update(t.Context(), cm))
	w.settleConfigs(hr, cm)
	if hr.ResourceVersion != settled {
		t.Errorf("a change of another key led to a write: %+v", hr.Status)
	}
}

func TestMissingValues(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.publish("early", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("early", nil, from(helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "later", ValuesKey: "m", TargetPath: "message"}))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError,
		"could not resolve Secret chart values reference '"+w.namespace+"/later' with key 'm': the object does not exist")
	if len(w.stored("early")) != 0 {
		t.Error("something was installed")
	}
	secret := w.secretValues("later", watched(), map[string]string{"other": "x"})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError, "the object has no such key")
	secret.StringData = map[string]string{"m": "here"}
	w.must(suite.client.Update(t.Context(), secret))
	w.untilAtRest(hr)
	w.wantData("early", "here", "none")

	// The installed release stays when its values are deleted.
	w.must(suite.client.Delete(t.Context(), secret))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonValuesError, "does not exist")
	w.wantData("early", "here", "none")
	w.secretValues("later", nil, map[string]string{"m": "here"})
	w.untilAtRest(hr)
	if newest(hr) != 1 {
		t.Errorf("revision %d for the same values", newest(hr))
	}
}

// TestValuesReferenceRules: the API server rejects entries of spec.valuesFrom that the controller would
// refuse.
func TestValuesReferenceRules(t *testing.T) {
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("kinds of sources are not a part of the definitions in PINTLE_CRDS")
	}
	t.Parallel()
	w := newWorld(t)
	git := helmv2.KindGitRepository
	for name, tc := range map[string]struct {
		ref helmv2.ValuesReference
		// want is a part of the error; empty if the object is accepted.
		want string
	}{
		"Git":             {ref: helmv2.ValuesReference{Kind: git, Namespace: "config", ValuesKey: "envs/prod/*.yaml"}},
		"OCI":             {ref: helmv2.ValuesReference{Kind: helmv2.KindOCIRepository}},
		"Bucket":          {ref: helmv2.ValuesReference{Kind: helmv2.KindBucket, ValuesKey: "a@b/c+d=e/?.yaml"}},
		"Artifact":        {ref: helmv2.ValuesReference{Kind: helmv2.KindExternalArtifact, Optional: true}},
		"PathAtTarget":    {ref: helmv2.ValuesReference{Kind: git, ValuesKey: "certs/ca.pem", TargetPath: "ca", Literal: true}},
		"GlobAtTarget":    {helmv2.ValuesReference{Kind: git, ValuesKey: "certs/*.pem", TargetPath: "ca"}, "targetPath must not be set if valuesKey matches several files"},
		"Space":           {helmv2.ValuesReference{Kind: git, ValuesKey: "a b"}, "spec.valuesFrom[0].valuesKey"},
		"UnknownKind":     {helmv2.ValuesReference{Kind: "HelmRepository"}, "spec.valuesFrom[0].kind"},
		"Key":             {ref: helmv2.ValuesReference{Kind: helmv2.KindSecret, ValuesKey: "a-b_c.yaml"}},
		"PathInConfigMap": {helmv2.ValuesReference{Kind: helmv2.KindConfigMap, ValuesKey: "a/b"}, "valuesKey must be a key"},
		"GlobInSecret":    {helmv2.ValuesReference{Kind: helmv2.KindSecret, ValuesKey: "a*"}, "valuesKey must be a key"},
		"SecretElsewhere": {helmv2.ValuesReference{Kind: helmv2.KindSecret, Namespace: "config"}, "namespace must not be set if kind is Secret or ConfigMap"},
	} {
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: strings.ToLower(name)}}
		hr.Spec.Interval.Duration = actionTimeout
		templated("")(hr)
		tc.ref.Name = "config"
		from(tc.ref)(hr)
		err := suite.client.Create(t.Context(), hr, client.DryRunAll)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
