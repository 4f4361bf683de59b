// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var secretsResource = schema.GroupResource{Resource: "secrets"}

// TestSealKeyIsShared: the first replica creates the key, and all others read the same one.
func TestSealKeyIsShared(t *testing.T) {
	t.Parallel()
	clients := fake.NewClientset()
	var keys []string
	for range 3 {
		key := &SealKey{}
		s := NewSealKeySource(clients.CoreV1(), "helm-system", key, false, logr.Discard())
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-s.Decided()
		keys = append(keys, string(*key.secret.Load()))
	}
	if len(keys[0]) != sealKeyBytes || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("keys %q", keys)
	}
}

// TestSealKeyIsNotReplaced: two replicas find no key at the same time. The second one gets a conflict,
// and reads the key of the first.
func TestSealKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	clients := fake.NewClientset()
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "helm-system", Name: SealKeySecret}, Data: map[string][]byte{sealKeyData: make([]byte, sealKeyBytes)}}
	clients.PrependReactor("patch", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if err := clients.Tracker().Add(theirs); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewConflict(secretsResource, SealKeySecret, errors.New("another field manager"))
	})
	key := &SealKey{}
	if err := NewSealKeySource(clients.CoreV1(), "helm-system", key, false, logr.Discard()).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := string(*key.secret.Load()); got != string(theirs.Data[sealKeyData]) {
		t.Errorf("key %q", got)
	}
}

// TestSealKeyAwaited: reconciliations wait while the API server fails, and no longer wait when it
// has refused the key. The key is requested again, and used when it is there.
func TestSealKeyAwaited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err     error
		decided bool
	}{
		"Forbidden":  {apierrors.NewForbidden(secretsResource, SealKeySecret, errors.New("no role")), true},
		"Unanswered": {errors.New("connection refused"), false},
		"Overloaded": {apierrors.NewTooManyRequests("later", 1), false},
		"Failing":    {apierrors.NewInternalError(errors.New("etcd")), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var works atomic.Bool
				clients := fake.NewClientset()
				clients.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return !works.Load(), nil, tc.err })
				key := &SealKey{}
				s := NewSealKeySource(clients.CoreV1(), "helm-system", key, false, logr.Discard())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = s.Start(ctx) }()
				synctest.Wait()
				decided := false
				select {
				case <-s.Decided():
					decided = true
				default:
				}
				if decided != tc.decided || key.secret.Load() != nil {
					t.Errorf("decided %t, want %t", decided, tc.decided)
				}
				works.Store(true)
				<-s.Decided()
				for key.secret.Load() == nil {
					time.Sleep(sealKeyRetry)
				}
			})
		})
	}
}

// TestSealKeyUnusable: a Secret of other content is no key, and a process that only observes creates
// none.
func TestSealKeyUnusable(t *testing.T) {
	t.Parallel()
	for _, observes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			clients := fake.NewClientset()
			if !observes {
				short := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "helm-system", Name: SealKeySecret}, Data: map[string][]byte{sealKeyData: []byte("short")}}
				if err := clients.Tracker().Add(short); err != nil {
					t.Fatal(err)
				}
			}
			key := &SealKey{}
			s := NewSealKeySource(clients.CoreV1(), "helm-system", key, observes, logr.Discard())
			ctx, cancel := context.WithCancel(t.Context())
			go func() { _ = s.Start(ctx) }()
			<-s.Decided()
			cancel()
			synctest.Wait()
			for _, a := range clients.Actions() {
				if a.GetVerb() != "get" {
					t.Errorf("%s was sent", a.GetVerb())
				}
			}
			if key.secret.Load() != nil {
				t.Error("there is a key")
			}
		})
	}
	key := &SealKey{}
	s := NewSealKeySource(fake.NewClientset().CoreV1(), "", key, false, logr.Discard())
	if err := s.Start(t.Context()); err != nil || key.secret.Load() != nil {
		t.Errorf("without a namespace: %v", err)
	}
	<-s.Decided()
}
