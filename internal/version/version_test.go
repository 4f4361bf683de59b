// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"
)

// TestDescribe: the linker's values have precedence over those of the go command.
func TestDescribe(t *testing.T) {
	t.Parallel()
	built := func(settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{
			GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.0.0-20260101"}, Settings: settings,
			Deps: []*debug.Module{{Path: "example.com/a", Version: "v9"}, {Path: helmModule, Version: "v3.22.0"}},
		}
	}
	commit, dirty := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, tc := range map[string]struct {
		build             *debug.BuildInfo
		version, revision string
		want              string
	}{
		"Linked":      {built(commit), "v1.2.3", "def", "pintle v1.2.3 (revision def, go1.26.8, Helm v3.22.0)"},
		"Recorded":    {built(commit), "", "", "pintle v0.0.0-20260101 (revision abc, go1.26.8, Helm v3.22.0)"},
		"Dirty":       {built(commit, dirty), "", "", "pintle v0.0.0-20260101 (revision abc-dirty, go1.26.8, Helm v3.22.0)"},
		"NoCommit":    {built(dirty), "v1.2.3", "", "pintle v1.2.3 (revision unknown, go1.26.8, Helm v3.22.0)"},
		"NoBuildInfo": {nil, "", "", "pintle unknown (revision unknown, unknown, Helm unknown)"},
	} {
		if got := describe(tc.build, tc.version, tc.revision).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestRead: no field is empty.
func TestRead(t *testing.T) {
	t.Parallel()
	if i := Read(); i.Version == "" || i.Revision == "" || i.Go == "" || i.Helm == "" {
		t.Errorf("%+v", i)
	}
}
