// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cancel

import (
	"context"
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestNew: newer inputs cancel the attempt and not its ending. Another cause cancels both, whenever
// it comes.
func TestNew(t *testing.T) {
	t.Parallel()
	deleted := errors.New("deleted")
	for name, tc := range map[string]struct {
		reason          string
		causes          []error
		attempt, ending error
	}{
		"None":               {"nothing has happened", nil, nil, nil},
		"Outdated":           {"newer inputs end waits only", []error{release.ErrOutdated}, release.ErrOutdated, nil},
		"Deleted":            {"another cause ends the attempt", []error{deleted}, deleted, deleted},
		"OutdatedAndDeleted": {"the attempt ends although it was outdated before", []error{release.ErrOutdated, deleted}, release.ErrOutdated, deleted},
		"DeletedAndOutdated": {"the first cause counts", []error{deleted, release.ErrOutdated}, deleted, deleted},
		"Twice":              {"the first cause counts", []error{deleted, release.ErrShutdown}, deleted, deleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := New(t.Context())
			for _, cause := range tc.causes {
				cancel(cause)
			}
			if got := context.Cause(ctx); !errors.Is(got, tc.attempt) {
				t.Errorf("%s: the attempt ends with %v, want %v", tc.reason, got, tc.attempt)
			}
			if got := context.Cause(Ending(ctx)); !errors.Is(got, tc.ending) {
				t.Errorf("%s: the ending is %v, want %v", tc.reason, got, tc.ending)
			}
		})
	}
}

// TestEnding: a context of a child ends with the attempt, and a context without an attempt is its
// own ending.
func TestEnding(t *testing.T) {
	t.Parallel()
	if ctx := t.Context(); Ending(ctx) != ctx {
		t.Error("a context without an attempt has another ending")
	}
	attempt, cancel := New(t.Context())
	child, stop := context.WithCancel(attempt)
	stop()
	if Ending(child).Err() != nil {
		t.Error("the end of a child ends the attempt")
	}
	cancel(release.ErrShutdown)
	if !errors.Is(context.Cause(Ending(child)), release.ErrShutdown) {
		t.Error("the attempt has ended, and its ending has not")
	}
}
