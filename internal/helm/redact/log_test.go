// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
)

func TestLog(t *testing.T) {
	t.Parallel()
	var passed []string
	log := funcr.New(func(_, args string) { passed = append(passed, args) }, funcr.Options{Verbosity: 1})
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	b := NewLog(log, func() time.Time { return moment }, Redactor{})
	if got := b.Lines(); len(got) != 0 {
		t.Errorf("lines %q", got)
	}
	for i := range 13 {
		b.Printf("line %d of %s", i, "100%")
	}
	var want []string
	for i := 3; i < 13; i++ {
		want = append(want, fmt.Sprintf("2026-01-02T02:04:05Z line %d of 100%%", i))
	}
	got := b.Lines()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the last ten, oldest first (-want +got):\n%s", diff)
	}
	if len(passed) != 13 {
		t.Errorf("%d of 13 lines reached the debug log", len(passed))
	}
	got[0] = "changed"
	if b.Lines()[0] == "changed" {
		t.Error("lines are shared")
	}
	quiet := NewLog(logr.Discard(), time.Now, Redactor{})
	quiet.Printf("kept %s", "anyway")
	if len(quiet.Lines()) != 1 {
		t.Error("a line is kept whether or not it is logged")
	}
}
