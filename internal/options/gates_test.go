// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"reflect"
	"testing"
)

func TestGates(t *testing.T) {
	cases := map[string]struct {
		reason     string
		list, want string
		err        string
	}{
		"None":     {reason: "all are off"},
		"Several":  {reason: "spaces and a last comma do no harm", list: "UseHelm3Defaults=true, DirectSourceFetch=1,", want: "DirectSourceFetch=true,UseHelm3Defaults=true"},
		"Off":      {reason: "off is what they are", list: "ExternalArtifact=false"},
		"Last":     {reason: "the last one counts", list: "ExternalArtifact=true,ExternalArtifact=false"},
		"NoOps":    {reason: "old manifests go on working", list: "DetectDrift=true,CorrectDrift=true,AdoptLegacyReleases=false"},
		"NotAsked": {reason: "nor asked for here", list: "OOMWatch=false,ObjectLevelWorkloadIdentity=false,CacheSecretsAndConfigMaps=false,CancelHealthCheckOnNewRevision=false"},
		"NoValue":  {reason: "a gate has a position", list: "ExternalArtifact", err: "ExternalArtifact: Name=true or Name=false"},
		"BadValue": {reason: "of two", list: "ExternalArtifact=maybe", err: "ExternalArtifact=maybe: Name=true or Name=false"},
		"Unknown":  {reason: "all mistakes are named at once", list: "A=true,B=x,DirectSourceFetch=true", want: "DirectSourceFetch=true", err: "there is no feature gate \"A\"\nthere is no feature gate \"B\""},
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
				t.Errorf("%s: on are %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestEveryGateIsKnown: a field nobody can switch on is dead, and the reference
// has fifteen names.
func TestEveryGateIsKnown(t *testing.T) {
	var g Gates
	known := g.known()
	if len(known) != 15 {
		t.Errorf("%d gates are known", len(known))
	}
	for i := range reflect.TypeFor[Gates]().NumField() {
		name := reflect.TypeFor[Gates]().Field(i).Name
		if !reflect.TypeFor[Gates]().Field(i).IsExported() {
			continue
		}
		if known[name].value == nil {
			t.Errorf("%s cannot be switched", name)
			continue
		}
		if err := g.Set(name + "=true"); err != nil || !reflect.ValueOf(g).Field(i).Bool() {
			t.Errorf("%s switches something else: %v", name, err)
		}
	}
}
