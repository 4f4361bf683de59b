// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func keyOf(secret string) *SealKey {
	key := &SealKey{}
	key.Set([]byte(secret))
	return key
}

// sealing returns a driver of prod/app with a key.
func sealing(clients *fake.Clientset, key *SealKey, uid string, history helmv2.Snapshots) *Driver {
	d := openDriver(context.Background(), accessTo(fakeSecrets{clients.CoreV1().Secrets("prod")}), time.Now)
	d.options = Options{UID: uid, History: history, Attempt: release.Attempt{Action: helmv2.ActionUpgrade}}
	d.key = key
	return d
}

// sealedRecord returns clients with a sealed record of revision 2, whose upgrade was interrupted.
func sealedRecord(t *testing.T, key *SealKey) (*fake.Clientset, *corev1.Secret) {
	t.Helper()
	clients := fake.NewClientset()
	if err := sealing(clients, key, "uid-1", nil).Create(Key("app", 2), revision(2, helmrelease.StatusPendingUpgrade, nil)); err != nil {
		t.Fatal(err)
	}
	secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), Key("app", 2), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return clients, secret
}

// TestSealCovers: a record has a valid seal only as it was written, under its name, and in its
// namespace. Labels and annotations of others do not matter.
func TestSealCovers(t *testing.T) {
	t.Parallel()
	key := keyOf("k")
	for name, tc := range map[string]struct {
		change func(*corev1.Secret)
		want   bool
	}{
		"As written":          {func(*corev1.Secret) {}, true},
		"Other label":         {func(s *corev1.Secret) { s.Labels["team"] = "a" }, true},
		"Other annotation":    {func(s *corev1.Secret) { s.Annotations["team"] = "a" }, true},
		"Without seal":        {func(s *corev1.Secret) { delete(s.Annotations, helmv2.AnnotationSeal) }, false},
		"Empty seal":          {func(s *corev1.Secret) { s.Annotations[helmv2.AnnotationSeal] = "" }, false},
		"Status":              {func(s *corev1.Secret) { s.Labels["status"] = "uninstalling" }, false},
		"Another HelmRelease": {func(s *corev1.Secret) { s.Labels[helmv2.LabelRevision] = "uid-2.2" }, false},
		"Applied":             {func(s *corev1.Secret) { s.Labels[helmv2.LabelApplied] = "2" }, false},
		"Time":                {func(s *corev1.Secret) { s.Labels["createdAt"] = "1" }, false},
		"Attempt":             {func(s *corev1.Secret) { s.Annotations[helmv2.AnnotationAttempt] += " " }, false},
		"Without attempt":     {func(s *corev1.Secret) { delete(s.Annotations, helmv2.AnnotationAttempt) }, false},
		"Source":              {func(s *corev1.Secret) { s.Annotations[helmv2.AnnotationSourceRevision] = "x" }, false},
		"Ended":               {func(s *corev1.Secret) { s.Annotations[helmv2.AnnotationEnded] = "2026-01-01T12:00:00Z" }, false},
		"Data":                {func(s *corev1.Secret) { s.Data[dataKey] = append(s.Data[dataKey], '=') }, false},
		"Another number":      {func(s *corev1.Secret) { s.Name = Key("app", 3) }, false},
		"Another release":     {func(s *corev1.Secret) { s.Name = Key("web", 2) }, false},
		"Another namespace":   {func(s *corev1.Secret) { s.Namespace = "stage" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, secret := sealedRecord(t, key)
			tc.change(secret)
			if got := key.verifies(secret.Namespace, secret); got != tc.want {
				t.Errorf("verifies is %t, want %t: %v", got, tc.want, secret.Annotations)
			}
			if keyOf("other").verifies(secret.Namespace, secret) {
				t.Error("valid with another key")
			}
			if (&SealKey{}).verifies(secret.Namespace, secret) || (*SealKey)(nil).verifies(secret.Namespace, secret) {
				t.Error("valid without a key")
			}
		})
	}
}

// TestSealedWrites: each write of a record has its seal, also the patch of a label.
func TestSealedWrites(t *testing.T) {
	t.Parallel()
	key, clients := keyOf("k"), fake.NewClientset()
	d := sealing(clients, key, "uid-1", nil)
	rls := revision(1, helmrelease.StatusPendingUpgrade, nil)
	check := func(step string, err error) {
		t.Helper()
		secret, unread := clients.CoreV1().Secrets("prod").Get(t.Context(), Key("app", 1), metav1.GetOptions{})
		if err != nil || unread != nil || !key.verifies("prod", secret) {
			t.Errorf("%s: no valid seal: %v, %v", step, err, unread)
		}
		for _, r := range d.Revisions() {
			if !r.Sealed {
				t.Errorf("%s: revision %d is not sealed in the outcome", step, r.Version)
			}
		}
	}
	check("created", d.Create(Key("app", 1), rls))
	check("labelled", d.StoreApplied())
	rls.Info.Status = helmrelease.StatusDeployed
	check("updated", d.Update(Key("app", 1), rls))
	another := sealing(clients, key, "uid-2", nil)
	read, err := another.Revision(1)
	if err != nil || another.Proven(1) {
		t.Fatalf("the revision of another HelmRelease is proven: %v", err)
	}
	read.Info.Status = helmrelease.StatusSuperseded
	check("superseded by another HelmRelease", another.Update(Key("app", 1), read))
}

// TestUnproven: a record with copied label and attempt, and with content of an attacker, is not
// proven. It has no attempt, and a write does not seal it.
func TestUnproven(t *testing.T) {
	t.Parallel()
	key := keyOf("k")
	clients, secret := sealedRecord(t, key)
	c, err := decode(key, "prod", secret)
	if err != nil {
		t.Fatal(err)
	}
	rls := c.release
	rls.Version, rls.Manifest = 3, "kind: Secret\n"
	forged := sealing(clients, nil, "", nil)
	w, err := forged.secret(Key("app", 3), rls, &stored{kept: preserved{unknownFields: c.unknown()}})
	if err != nil {
		t.Fatal(err)
	}
	w.secret.Labels[helmv2.LabelRevision], w.secret.Annotations = "uid-1.3", secret.Annotations
	if _, err := clients.CoreV1().Secrets("prod").Create(t.Context(), w.secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := sealing(clients, key, "uid-1", nil)
	read, err := d.Revision(3)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := d.AttemptOn(3); a != nil || err != nil || d.Proven(3) || !d.Unproven() {
		t.Errorf("attempt %+v, proven %t, %v", a, d.Proven(3), err)
	}
	if _, _, err := d.Resume(3); err == nil {
		t.Error("resumed")
	}
	read.Info.Status = helmrelease.StatusSuperseded
	if err := d.Update(Key("app", 3), read); err != nil {
		t.Fatal(err)
	}
	written, err := clients.CoreV1().Secrets("prod").Get(t.Context(), Key("app", 3), metav1.GetOptions{})
	if err != nil || written.Annotations[helmv2.AnnotationSeal] != "" || written.Annotations[helmv2.AnnotationAttempt] != "" {
		t.Errorf("annotations %v, %v", written.Annotations, err)
	}
	if all := d.Revisions(); all[0].Sealed {
		t.Error("sealed in the outcome")
	}
}

// TestHistoryProves: a record without a seal, of an earlier version of the controller or after the
// loss of the key, is proven by its digest in the history, also after the Helm CLI has superseded it.
// It is sealed when it is written.
func TestHistoryProves(t *testing.T) {
	t.Parallel()
	for _, superseded := range []bool{false, true} {
		clients, key := fake.NewClientset(), keyOf("k")
		old := sealing(clients, nil, "uid-1", nil)
		if err := old.Create(Key("app", 1), revision(1, helmrelease.StatusDeployed, nil)); err != nil {
			t.Fatal(err)
		}
		was := old.Revisions()[0]
		history := helmv2.Snapshots{{
			APIVersion: release.SnapshotScheme, Digest: was.Digest, Name: was.Name, Namespace: was.Namespace, Version: 1, Status: was.Status,
		}}
		if superseded {
			cli := driver.NewSecrets(clients.CoreV1().Secrets("prod"))
			rls, err := cli.Get(Key("app", 1))
			if err != nil {
				t.Fatal(err)
			}
			rls.Info.Status = helmrelease.StatusSuperseded
			if err := cli.Update(Key("app", 1), rls); err != nil {
				t.Fatal(err)
			}
		}
		d := sealing(clients, key, "uid-1", history)
		rls, err := d.Revision(1)
		if err != nil || !d.Proven(1) || d.Unproven() {
			t.Fatalf("superseded %t: not proven: %v", superseded, err)
		}
		if err := d.Update(Key("app", 1), rls); err != nil {
			t.Fatal(err)
		}
		secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), Key("app", 1), metav1.GetOptions{})
		if err != nil || !key.verifies("prod", secret) {
			t.Errorf("superseded %t: not sealed: %v", superseded, err)
		}
		history[0].Digest = "sha256:other"
		other := sealing(clients, nil, "uid-1", history)
		if _, err := other.Revision(1); err != nil || other.Proven(1) {
			t.Errorf("proven by another digest, %v", err)
		}
	}
}

// TestCLIKeepsReading: the Helm CLI reads a sealed record, and its rewriting makes the seal invalid.
func TestCLIKeepsReading(t *testing.T) {
	t.Parallel()
	key := keyOf("k")
	clients, _ := sealedRecord(t, key)
	cli := driver.NewSecrets(clients.CoreV1().Secrets("prod"))
	rls, err := cli.Get(Key("app", 2))
	if err != nil || rls.Version != 2 {
		t.Fatalf("%+v, %v", rls, err)
	}
	rls.Info.Description = "by hand"
	if err := cli.Update(Key("app", 2), rls); err != nil {
		t.Fatal(err)
	}
	d := sealing(clients, key, "uid-1", nil)
	if _, err := d.Revision(2); err != nil || d.Proven(2) {
		t.Errorf("proven %t, %v", d.Proven(2), err)
	}
}

// FuzzSeal: no other text is a valid seal of a record, whatever it looks like.
func FuzzSeal(f *testing.F) {
	key := keyOf("k")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: Key("app", 1), Annotations: map[string]string{}}}
	valid := key.seal("prod", secret, [32]byte{})
	f.Add("v1.")
	f.Add(valid + "=")
	f.Fuzz(func(t *testing.T, text string) {
		s := secret.DeepCopy()
		s.Annotations[helmv2.AnnotationSeal] = text
		s.Data = map[string][]byte{dataKey: []byte("x")}
		if key.verifies("prod", s) && text != key.seal("prod", s, sha256.Sum256([]byte("x"))) {
			raw, _ := json.Marshal(text)
			t.Errorf("%s is valid", raw)
		}
	})
}
