// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"reflect"
	"testing"
)

// TestGates: lists of gates are parsed, and all errors in them are returned.
func TestGates(t *testing.T) {
	cases := map[string]struct {
		reason     string
		list, want string
		err        string
	}{
		"None":     {reason: "all gates are disabled by default"},
		"Several":  {reason: "spaces and a trailing comma are ignored", list: "UseHelm3Defaults=true, DirectSourceFetch=1,", want: "DirectSourceFetch=true,UseHelm3Defaults=true"},
		"Off":      {reason: "a gate can be disabled explicitly", list: "ExternalArtifact=false"},
		"Last":     {reason: "the last value takes effect", list: "ExternalArtifact=true,ExternalArtifact=false"},
		"NoOps":    {reason: "names that helm-controller accepts are accepted", list: "DetectDrift=true,CorrectDrift=true,AdoptLegacyReleases=false"},
		"NotAsked": {reason: "gates without an effect can be disabled", list: "OOMWatch=false,ObjectLevelWorkloadIdentity=false,CacheSecretsAndConfigMaps=false,CancelHealthCheckOnNewRevision=false"},
		"NoValue":  {reason: "a value is required", list: "ExternalArtifact", err: "ExternalArtifact: not of the form Name=true or Name=false"},
		"BadValue": {reason: "a value is a boolean", list: "ExternalArtifact=maybe", err: "ExternalArtifact=maybe: not of the form Name=true or Name=false"},
		"Unknown":  {reason: "all errors are returned", list: "A=true,B=x,DirectSourceFetch=true", want: "DirectSourceFetch=true", err: "unknown feature gate \"A\"\nunknown feature gate \"B\""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var g Gates
			var text string
			if err := g.Set(tc.list); err != nil {
				text = err.Error()
			}
			if text != tc.err {
				t.Errorf("%s: error %q, want %q", tc.reason, text, tc.err)
			}
			if got := g.String(); got != tc.want {
				t.Errorf("%s: enabled are %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestEveryGateIsKnown: every field of Gates can be set by its name, and all fifteen names of
// helm-controller and the one of Pintle are accepted.
func TestEveryGateIsKnown(t *testing.T) {
	var g Gates
	known := g.known()
	if len(known) != 16 {
		t.Errorf("%d gates are known", len(known))
	}
	for i := range reflect.TypeFor[Gates]().NumField() {
		name := reflect.TypeFor[Gates]().Field(i).Name
		if !reflect.TypeFor[Gates]().Field(i).IsExported() {
			continue
		}
		if known[name].value == nil {
			t.Errorf("%s cannot be set", name)
			continue
		}
		if err := g.Set(name + "=true"); err != nil || !reflect.ValueOf(g).Field(i).Bool() {
			t.Errorf("%s sets another field: %v", name, err)
		}
	}
}
