// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// keptLines is how many of Helm's lines a failure event can show.
const keptLines = 10

// logBuffer keeps the last lines Helm logged during one action and passes every
// line on to the debug log.
type logBuffer struct {
	log    logr.Logger
	now    func() time.Time
	redact redactor

	mu   sync.Mutex
	kept []string
}

func newLogBuffer(log logr.Logger, now func() time.Time, redact redactor) *logBuffer {
	return &logBuffer{log: log.V(1), now: now, redact: redact}
}

func (b *logBuffer) printf(format string, args ...any) {
	line := b.redact.text(fmt.Sprintf(format, args...))
	b.log.Info(line)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, b.now().UTC().Format(time.RFC3339Nano)+" "+line)
	if len(b.kept) > keptLines {
		b.kept = b.kept[len(b.kept)-keptLines:]
	}
}

func (b *logBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.kept)
}
