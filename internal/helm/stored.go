// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"maps"
	"reflect"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stored is what is known of one revision.
type stored struct {
	record Record
	// full is nil if the revision was not read. Helm changes the releases it is
	// given, so it only ever gets copies.
	full *helmrelease.Release
	kept kept
	// first is the part of its record that does not change, nil if it is not known
	// yet; then it is found in the data and the JSON of the record.
	first     *pressed
	data, raw []byte
}

// kept is what a record has that is not in the release Helm makes of it.
type kept struct {
	keepsake
	created string
}

// listLive has the API server list which revisions there are, and not the index. An action
// calls it before anything else of the store.
func (s *secretStore) listLive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := s.index
	s.index = nil
	err := s.list()
	s.index = index
	return err
}

// secretOf returns the Secret of a revision, which is nobody's to change.
func (s *secretStore) secretOf(key string) (*corev1.Secret, error) {
	if s.lately != nil {
		if secret := s.lately(key); secret != nil {
			return secret, nil
		}
	}
	return s.api.get(s.ctx, key)
}

// detached returns a copy of a release that Helm may change as it likes to: it
// writes into the info, the hooks and the labels, but not into what a revision
// was made of.
func detached(rls *helmrelease.Release) *helmrelease.Release {
	d := *rls
	if rls.Info != nil {
		info := *rls.Info
		d.Info = &info
	}
	d.Hooks = nil
	for _, h := range rls.Hooks {
		hook := *h
		d.Hooks = append(d.Hooks, &hook)
	}
	d.Labels = maps.Clone(rls.Labels)
	return &d
}

// written is a revision that was stored.
type written struct {
	record Record
	// release is the revision as it is read, but for the files of the chart.
	release *helmrelease.Release
	method  string

	secret *corev1.Secret
	first  *pressed
}

// secret makes the Secret of a release of which something may be known already.
func (s *secretStore) secret(key string, rls *helmrelease.Release, known *stored) (written, error) {
	failed := func(err error) (written, error) {
		return written{}, fmt.Errorf("encode Secret %s/%s: %w", s.namespace, key, err)
	}
	moving, err := encodeMoving(rls, known.kept.keepsake)
	if err != nil {
		return failed(err)
	}
	fixed := func() ([]byte, error) { return encodeFixed(rls, known.kept.keepsake) }
	first := known.part(rls)
	if first.deflated == nil && s.foreseen.raw != nil {
		raw, err := fixed()
		if err != nil {
			return failed(err)
		}
		first, fixed = s.foreseen.take(raw), func() ([]byte, error) { return raw, nil }
	}
	data, first, err := s.packer.pack(first, fixed, moving)
	if err == nil {
		data, err = s.packer.tighten(data, fixed, moving)
	}
	if err != nil {
		return failed(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: storedLabels(rls)},
		Type:       secretType, Data: map[string][]byte{dataKey: data},
	}
	if known.kept.created != "" {
		secret.Labels[labelCreated] = known.kept.created
	}
	// The Secret and what is remembered of it share the labels, so that whoever
	// adds one adds it to both.
	read, err := asRead(rls, secret.Labels)
	if err != nil {
		return written{}, s.unreadable(key, err)
	}
	return written{secret: secret, release: read, first: &first}, nil
}

// part returns the part of the record of rls that does not change, if it is known:
// Helm hands on what a revision was made of as it got it.
func (k *stored) part(rls *helmrelease.Release) pressed {
	was := k.full
	if was == nil || rls.Chart != was.Chart || rls.Manifest != was.Manifest || rls.Name != was.Name || rls.Namespace != was.Namespace ||
		rls.Version != was.Version || reflect.ValueOf(rls.Config).Pointer() != reflect.ValueOf(was.Config).Pointer() {
		return pressed{}
	}
	if k.first == nil {
		first := firstPart(k.data, k.raw)
		k.first, k.data, k.raw = &first, nil, nil
	}
	return *k.first
}

// refused explains why the API server did not take a Secret. It says only in
// numbers what the usual reason is.
func (s *secretStore) refused(verb string, secret *corev1.Secret, err error) error {
	size := len(secret.Data[dataKey])
	if size > corev1.MaxSecretSize || apierrors.IsRequestEntityTooLargeError(err) {
		return fmt.Errorf("%s Secret %s/%s: the revision takes %d bytes, compressed, and the API server allows %d; "+
			"the chart's files, the values or the rendered objects have to become smaller: %w",
			verb, s.namespace, secret.Name, size, corev1.MaxSecretSize, err)
	}
	return fmt.Errorf("%s Secret %s/%s: %w", verb, s.namespace, secret.Name, err)
}
