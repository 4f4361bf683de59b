// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// sectionTimeout is the time that each section of a page has. The others are shown without it.
const sectionTimeout = 5 * time.Second

// section is a part of a page that is read beside the others.
type section[T any] struct {
	// Content is nil if it is not shown.
	Content *T
	// Missing is the sentence in place of the content.
	Missing string
}

// sections reads the sections of a page at the same time: one for each call of load, all within the
// same timeout.
type sections struct {
	sync.WaitGroup

	ctx     context.Context //nolint:containedctx // it lives as long as one request
	cancel  context.CancelFunc
	timeout time.Duration
}

func newSections(ctx context.Context, timeout time.Duration) *sections {
	s := &sections{timeout: timeout}
	s.ctx, s.cancel = context.WithTimeout(ctx, timeout)
	return s
}

// wait waits until all sections are read, or their time is over.
func (s *sections) wait() {
	s.Wait()
	s.cancel()
}

// errPanic is the error of a section whose function has panicked.
var errPanic = errors.New("it could not be made, and the log of the controller has the error")

// load reads a section in the background. A function that does not end in time is left behind, and
// its result is dropped. A panic ends this section only.
func load[T any](s *sections, into *section[T], read func(ctx context.Context) (T, error)) {
	type result struct {
		content T
		err     error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if cause := recover(); cause != nil {
				logr.FromContextOrDiscard(s.ctx).Info("panic of a section of the web page", "cause", cause)
				r.err = errPanic
			}
			done <- r
		}()
		r.content, r.err = read(s.ctx)
	}()
	s.Go(func() {
		select {
		case r := <-done:
			if r.err == nil {
				into.Content = &r.content
			} else {
				into.Missing = missing(r.err, s.timeout)
			}
		case <-s.ctx.Done():
			into.Missing = missing(s.ctx.Err(), s.timeout)
		}
	})
}

// notShown starts the sentence in place of a section.
const notShown = "Not shown: "

// missing returns the sentence in place of a section that could not be read within a timeout.
func missing(err error, timeout time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return notShown + fmt.Sprintf("it was not read within %s.", timeout)
	}
	return notShown + strings.TrimSuffix(strings.Join(strings.Fields(err.Error()), " "), ".") + "."
}
