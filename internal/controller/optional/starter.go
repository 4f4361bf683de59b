// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"

	"github.com/go-logr/logr"
)

// Starter starts a controller once the kinds that it watches can be listed. Their CRDs or the rights to
// them may be missing, and a controller that watched them would end the process. It implements
// manager.Runnable.
type Starter struct {
	Signal

	// What names the objects that the controller reconciles.
	What string
	Log  logr.Logger
	// Watchable returns an error if a kind cannot be listed. Run starts the controller.
	Watchable func(ctx context.Context) error
	Run       func(ctx context.Context) error
}

// Start implements manager.Runnable.
func (s *Starter) Start(ctx context.Context) error {
	var said string
	for ctx.Err() == nil {
		err := s.Watchable(ctx)
		if err == nil {
			s.Log.Info(s.What + " are served")
			return s.Run(ctx)
		}
		if why := err.Error(); why != said && ctx.Err() == nil {
			said = why
			s.Log.Info(s.What+" are not served until their definition and the rights to them are there", "cause", why)
		}
		s.Await(ctx)
	}
	return nil
}
