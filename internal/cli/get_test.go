// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
)

func TestGet(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.golden("get", "get", "get -A", "get -A -o wide", "get web -n apps -o json", "get web -n apps -o yaml")
}

func TestGetErrors(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.golden("get-errors", "get -n nothing", "get -n nothing -o json", "get missing -n apps", "get -o xml", "get -w -o json -n apps")
	w.forbidden["HelmRelease"] = true
	w.golden("get-forbidden", "get -A")
}

// TestColors: colours are only for terminals, and not with NO_COLOR.
func TestColors(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm"}, true},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{}, false},
	} {
		w.env = tc.env
		w.run("get", "-A")
		if got := contains(w.out.String(), "\x1b["); got != tc.want {
			t.Errorf("with %v, there are colours: %t", tc.env, got)
		}
	}
}
