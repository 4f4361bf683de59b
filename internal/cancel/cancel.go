// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cancel cancels attempts in two steps: newer inputs end waits that are no longer needed,
// and another cause ends the attempt.
//
// Files:
//
//	cancel.go   the context of an attempt
package cancel

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/release"
)

// endKey is the key of the context that Ending returns.
type endKey struct{}

// New returns the context of an attempt, and a function that cancels it. After release.ErrOutdated,
// which ends some waits only, another cause still cancels the context that Ending returns. Otherwise
// the first cause counts.
func New(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ending, end := context.WithCancelCause(ctx)
	attempt, outdate := context.WithCancelCause(context.WithValue(ending, endKey{}, ending))
	return attempt, func(cause error) {
		if errors.Is(cause, release.ErrOutdated) {
			outdate(cause)
			return
		}
		end(cause)
	}
}

// Ending returns the context that is cancelled when the attempt of ctx must end. Newer inputs do not
// cancel it. It returns ctx if New has not made ctx.
func Ending(ctx context.Context) context.Context {
	if ending, ok := ctx.Value(endKey{}).(context.Context); ok {
		return ending
	}
	return ctx
}
