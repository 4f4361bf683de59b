// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// SealKeySecret is the name of the Secret with the key of seals, in the namespace of the
	// controller. All replicas and shards use the same one.
	SealKeySecret = "pintle-seal-key"
	// sealKeyData is its only key.
	sealKeyData = "key"
	// sealKeyBytes is the length of the key.
	sealKeyBytes = 32
	// sealKeyRetry is the time after which a failed request for the key is repeated.
	sealKeyRetry = 15 * time.Second
)

// SealKeySource reads the key of seals, and creates it if there is none. It is a runnable of the
// manager that ends when it has the key.
type SealKeySource struct {
	secrets corev1client.SecretInterface
	key     *SealKey
	// observes is true in a process that writes nothing.
	observes bool
	log      logr.Logger

	once    sync.Once
	decided chan struct{}
}

// NewSealKeySource returns a source that sets key to that in the controller's own namespace. Without
// a namespace, there is no key.
func NewSealKeySource(clients corev1client.SecretsGetter, namespace string, key *SealKey, observes bool, log logr.Logger) *SealKeySource {
	s := &SealKeySource{key: key, observes: observes, log: log, decided: make(chan struct{})}
	if namespace != "" {
		s.secrets = clients.Secrets(namespace)
	}
	return s
}

// Decided returns a channel that is closed when the key is there, or when the API server has refused
// it. Until then, no record can be read as one without a seal.
func (s *SealKeySource) Decided() <-chan struct{} { return s.decided }

// Start requests the key until it is there, or ctx ends.
func (s *SealKeySource) Start(ctx context.Context) error {
	if s.secrets == nil {
		s.log.Info("there is no key for seals, since RUNTIME_NAMESPACE is not set: interrupted actions are not resumed")
		s.once.Do(func() { close(s.decided) })
		return nil
	}
	reported := ""
	for {
		err := s.load(ctx)
		if err == nil {
			s.once.Do(func() { close(s.decided) })
			return nil
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the process ends
		}
		if err.Error() != reported {
			reported = err.Error()
			s.log.Error(err, "there is no key for seals: interrupted actions are not resumed until there is one", "secret", SealKeySecret)
		}
		if refused(err) {
			s.once.Do(func() { close(s.decided) })
		}
		select {
		case <-time.After(sealKeyRetry):
		case <-ctx.Done():
		}
	}
}

// refused reports whether an error is an answer that repetitions are not likely to change.
func refused(err error) bool {
	var useless *unusableKey
	return errors.As(err, &useless) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// unusableKey is the error of a Secret that has no key.
type unusableKey struct{ bytes int }

func (e *unusableKey) Error() string {
	return fmt.Sprintf("key %s of the Secret has %d bytes in place of %d; delete the Secret, and it is created anew", sealKeyData, e.bytes, sealKeyBytes)
}

// load sets the key.
func (s *SealKeySource) load(ctx context.Context) error {
	secret, err := s.secrets.Get(ctx, SealKeySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !s.observes {
		if secret, err = s.create(ctx); err != nil {
			// Another replica may have created it, and so may this one, without an answer.
			return err
		}
	}
	if err != nil {
		return err
	}
	if n := len(secret.Data[sealKeyData]); n != sealKeyBytes {
		return &unusableKey{n}
	}
	s.key.Set(secret.Data[sealKeyData])
	return nil
}

// create creates the Secret. It is applied, since roles can name the object of an apply and not that of
// a create. Each call has a field manager of its own: a key that another one has applied is a
// conflict, and is never replaced.
func (s *SealKeySource) create(ctx context.Context) (*corev1.Secret, error) {
	key := make([]byte, sealKeyBytes)
	// Read never returns an error.
	_, _ = rand.Read(key)
	secret := applycorev1.Secret(SealKeySecret, "").WithType(corev1.SecretTypeOpaque).WithImmutable(true).
		WithData(map[string][]byte{sealKeyData: key})
	secret.Namespace = nil
	applied, err := s.secrets.Apply(ctx, secret, metav1.ApplyOptions{FieldManager: "pintle-" + rand.Text()})
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) {
		return s.secrets.Get(ctx, SealKeySecret, metav1.GetOptions{})
	}
	return applied, err
}
