// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		odd := errors.New("odd")
		began := time.Now()
		errs := Do(t.Context(), 10, 3, func(i int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			if i%2 == 1 {
				return odd
			}
			return nil
		})
		if took := time.Since(began); most.Load() != 3 || took != 4*time.Second {
			t.Errorf("%d calls at the same time, in %s", most.Load(), took)
		}
		for i, err := range errs {
			if len(errs) != 10 || (err == odd) != (i%2 == 1) { //nolint:errorlint // It is not wrapped.
				t.Errorf("errors %v", errs)
			}
		}
	})
	if errs := Do(t.Context(), 0, 1, nil); len(errs) != 0 {
		t.Errorf("errors %v", errs)
	}
}

// TestDoPanics: the others are called, and no text of the panic is in the error or in the log, apart
// from that of the runtime.
func TestDoPanics(t *testing.T) {
	var log []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { log = append(log, line) }, funcr.Options{}))
	called := make([]bool, 4)
	errs := Do(ctx, len(called), 1, func(i int) error {
		called[i] = true
		switch i {
		case 1:
			panic("a Secret")
		case 2:
			_ = called[i+2]
		}
		return nil
	})
	if got, want := fmt.Sprint(called, errs), "[true true true true] [<nil> panic: string panic: runtime error: index out of range [4] with length 4 <nil>]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var panicked *PanicError
	if !errors.As(errs[1], &panicked) || panicked.Cause != "a Secret" {
		t.Errorf("error %#v", errs[1])
	}
	if len(log) != 2 || !strings.Contains(log[0], "TestDoPanics") || strings.Contains(strings.Join(log, ""), "a Secret") {
		t.Errorf("log %q", log)
	}
}
