// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// SealKey seals the records that this controller writes. Everyone who may write Secrets in the
// storage namespace can write a record, and copy labels and annotations of another one. Only a
// record with a valid seal was written as a whole by a controller that has the key.
//
// Without a key, no record has a valid seal, and none gets one. It may be used concurrently.
type SealKey struct{ secret atomic.Pointer[[]byte] }

// Set sets the key.
func (k *SealKey) Set(secret []byte) { k.secret.Store(&secret) }

// sealPrefix is the version of the format of seals.
const sealPrefix = "v1."

// sealed is the part of a record that its seal covers: everything that is read from it.
type sealed struct {
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// Data is the SHA-256 of the data.
	Data []byte `json:"data"`
}

// seal returns the seal of a record with the given digest of its data; empty without a key. The
// name of the Secret contains the release and the number of the revision, the labels the UID of the
// HelmRelease and the status, and the attempt its ID.
func (k *SealKey) seal(namespace string, secret *corev1.Secret, data [sha256.Size]byte) string {
	if k == nil || k.secret.Load() == nil {
		return ""
	}
	covered := sealed{
		Namespace: namespace, Name: secret.Name, Labels: indexedLabels(secret.Labels), Annotations: map[string]string{}, Data: data[:],
	}
	for _, key := range append([]string{helmv2.AnnotationAttempt, helmv2.AnnotationSourceRevision, helmv2.AnnotationEnded}, decisionAnnotations()...) {
		if value, set := secret.Annotations[key]; set {
			covered.Annotations[key] = value
		}
	}
	// Texts and maps of texts can be encoded, and the keys of maps are sorted.
	raw, _ := json.Marshal(covered)
	mac := hmac.New(sha256.New, *k.secret.Load())
	mac.Write(raw)
	return sealPrefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verifies reports whether a record has a valid seal.
func (k *SealKey) verifies(namespace string, secret *corev1.Secret) bool {
	have := secret.Annotations[helmv2.AnnotationSeal]
	if have == "" {
		return false
	}
	want := k.seal(namespace, secret, sha256.Sum256(secret.Data[dataKey]))
	return want != "" && hmac.Equal([]byte(have), []byte(want))
}
