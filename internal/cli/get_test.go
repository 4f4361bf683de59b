// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func TestGet(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.golden("get", "get", "get -A", "get -A -o wide", "get web -n apps -o json", "get web -n apps -o yaml",
		"get -A --state stalled,Failing --no-headers", "get -n finance -l !team", "get -A -l team=shop")
}

func TestGetErrors(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.golden("get-errors", "get -n nothing", "get -n nothing -o json", "get missing -n apps", "get -o xml", "get -w -o json -n apps",
		"get --state Broken", "get -l a=(", "get -w --state Failing", "get web -l a=b")
	w.forbidden["HelmRelease"] = true
	w.golden("get-forbidden", "get -A")
}

// TestNoController: lists and explanations say that no controller runs, unless that is not known.
func TestNoController(t *testing.T) {
	for name, tc := range map[string]struct {
		without, forbidden string
		want               bool
	}{
		"Leads":       {"", "", false},
		"NoLease":     {"Lease", "", true},
		"Unknown":     {"Lease", "Lease", false},
		"UnknownMore": {"Lease", "Deployment", false},
		"LeaseKnown":  {"Deployment", "", false},
	} {
		w := newWorld(t, "cluster.yaml")
		w.objects = slices.DeleteFunc(w.objects, func(o client.Object) bool { return strings.HasSuffix(fmt.Sprintf("%T", o), "."+tc.without) })
		w.forbidden[tc.forbidden] = true
		for _, command := range []string{"get", "why web", "get web -o json"} {
			w.run(strings.Fields(command)...)
			if got := contains(w.err.String(), "No controller runs"); got != tc.want || contains(w.out.String(), "No controller") {
				t.Errorf("%s, %s: %s", name, command, w.err.String())
			}
		}
	}
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

// TestNoControls: no format of the output has characters of a message that control a terminal.
func TestNoControls(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "shop" {
			hr.Status.Conditions[0].Message = "a\x1b[2J\x7f\u0085\u009b31mz"
		}
	}
	for _, format := range []string{"wide", "json", "yaml"} {
		w.run("get", "-n", "apps", "-o", format)
		if text := w.out.String(); strings.ContainsAny(text, "\x1b\x7f\u0085\u009b") || !strings.Contains(text, "31mz") {
			t.Errorf("%s: %q", format, text)
		}
	}
}

// TestWarnings: warnings of API servers have no characters that control a terminal.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	s := &Session{}
	s.ErrOut = &out
	Command(s)
	s.flags.WrapConfigFn(&rest.Config{}).WarningHandler.HandleWarningHeader(299, "", "a\x1b[2J\u009b31mz")
	if got := out.String(); strings.ContainsAny(got, "\x1b\u009b") || !strings.Contains(got, "31mz") {
		t.Errorf("%q", got)
	}
}
