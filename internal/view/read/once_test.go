// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowReader counts the reads that run at the same time, and all reads.
type slowReader struct {
	client.Reader

	running, most, all atomic.Int32
	err                error
}

func (r *slowReader) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	r.all.Add(1)
	if n := r.running.Add(1); n > r.most.Load() {
		r.most.Store(n)
	}
	time.Sleep(time.Second)
	r.running.Add(-1)
	if r.err == nil {
		object.SetName(key.Name)
		object.(*corev1.ConfigMap).Data = map[string]string{"key": "value"}
	}
	return r.err
}

// TestOnce: an object is read once, callers have copies, and the requests at the same time are
// limited.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slowReader{}
		reader := Once(from, 2)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				m := &corev1.ConfigMap{}
				name := string(rune('a' + i%5))
				if err := reader.Get(t.Context(), client.ObjectKey{Name: name}, m); err != nil || m.Name != name || m.Data["key"] != "value" {
					t.Errorf("%v, %v", m, err)
				}
				m.Data["key"] = "changed"
			})
		}
		group.Wait()
		if from.all.Load() != 5 || from.most.Load() != 2 {
			t.Errorf("%d reads, %d at once", from.all.Load(), from.most.Load())
		}
	})
}

// TestOnceErrors: an error is the answer to all callers, and the end of a context ends the waits.
func TestOnceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slowReader{err: errors.New("the test fails it")}
		reader := Once(from, 1)
		get := func(ctx context.Context, name string) error {
			return reader.Get(ctx, client.ObjectKey{Name: name}, &corev1.ConfigMap{})
		}
		if a, b := get(t.Context(), "a"), get(t.Context(), "a"); !errors.Is(a, from.err) || !errors.Is(b, from.err) || from.all.Load() != 1 {
			t.Errorf("%v, %v, %d reads", a, b, from.all.Load())
		}
		go func() { _ = get(t.Context(), "b") }()
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if same, other := get(ended, "b"), get(ended, "c"); !errors.Is(same, context.Canceled) || !errors.Is(other, context.Canceled) {
			t.Errorf("%v, %v", same, other)
		}
		time.Sleep(2 * time.Second)
	})
}
