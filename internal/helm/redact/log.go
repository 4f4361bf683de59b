// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// keptLines is the number of lines that the event of a failure can show.
const keptLines = 10

// Log keeps the last lines that Helm logged during one action. It writes all lines to the debug
// log.
type Log struct {
	log    logr.Logger
	now    func() time.Time
	redact Redactor

	mu   sync.Mutex
	kept []string
}

// NewLog returns a Log without lines.
func NewLog(log logr.Logger, now func() time.Time, redact Redactor) *Log {
	return &Log{log: log.V(1), now: now, redact: redact}
}

// Printf adds a line.
func (l *Log) Printf(format string, args ...any) {
	line := l.redact.Text(fmt.Sprintf(format, args...))
	l.log.Info(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, l.now().UTC().Format(time.RFC3339Nano)+" "+line)
	if len(l.kept) > keptLines {
		l.kept = l.kept[len(l.kept)-keptLines:]
	}
}

// Lines returns the last lines, the oldest first.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}
