// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Gates are the feature gates, each named as users write it. All are off unless
// switched on. It is a flag.Value.
type Gates struct {
	AdditiveCELDependencyCheck bool
	AllowDNSLookups            bool
	DefaultToRetryOnFailure    bool
	DirectSourceFetch          bool
	DisableChartDigestTracking bool
	DisableConfigWatchers      bool
	ExternalArtifact           bool
	OOMWatch                   bool
	UseHelm3Defaults           bool

	ObjectLevelWorkloadIdentity bool

	// useless are those that were switched on and change nothing.
	useless map[string]string
}

// gate is what is known of a gate's name.
type gate struct {
	// value is where it is kept; nil if it changes nothing here.
	value *bool
	// why a gate that is kept nowhere changes nothing, for people.
	why string
}

// known lists the gates of the reference.
func (g *Gates) known() map[string]gate {
	return map[string]gate{
		"AdditiveCELDependencyCheck": {value: &g.AdditiveCELDependencyCheck},
		"AllowDNSLookups":            {value: &g.AllowDNSLookups},
		"DefaultToRetryOnFailure":    {value: &g.DefaultToRetryOnFailure},
		"DirectSourceFetch":          {value: &g.DirectSourceFetch},
		"DisableChartDigestTracking": {value: &g.DisableChartDigestTracking},
		"DisableConfigWatchers":      {value: &g.DisableConfigWatchers},
		"ExternalArtifact":           {value: &g.ExternalArtifact},
		"UseHelm3Defaults":           {value: &g.UseHelm3Defaults},

		"OOMWatch":                    {value: &g.OOMWatch},
		"ObjectLevelWorkloadIdentity": {value: &g.ObjectLevelWorkloadIdentity},

		"CacheSecretsAndConfigMaps":      {why: "values are read when they are needed, and Secrets never kept"},
		"CancelHealthCheckOnNewRevision": {why: "waits always end when something newer is wanted"},

		// The reference knows their names, and nothing more any more.
		"AdoptLegacyReleases": {why: "releases of old API versions are not adopted"},
		"CorrectDrift":        {why: "spec.driftDetection says it"},
		"DetectDrift":         {why: "spec.driftDetection says it"},
	}
}

// Set implements flag.Value. It takes a comma-separated list of Name=bool.
func (g *Gates) Set(list string) error {
	known := g.known()
	var errs []error
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, text, _ := strings.Cut(item, "=")
		on, err := strconv.ParseBool(text)
		gate, ok := known[name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("there is no feature gate %q", name))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: Name=true or Name=false", item))
		case gate.value != nil:
			*gate.value = on
		default:
			g.note(name, gate.why, on)
		}
	}
	return errors.Join(errs...)
}

func (g *Gates) note(name, why string, on bool) {
	if !on {
		delete(g.useless, name)
		return
	}
	if g.useless == nil {
		g.useless = map[string]string{}
	}
	g.useless[name] = why
}

// notices says of gates that were switched on why they have no effect.
func (g *Gates) notices() []string {
	var notices []string
	for _, name := range slices.Sorted(maps.Keys(g.useless)) {
		notices = append(notices, fmt.Sprintf("the feature gate %s has no effect: %s", name, g.useless[name]))
	}
	return notices
}

// String implements flag.Value.
func (g *Gates) String() string {
	var on []string
	for name, gate := range g.known() {
		if gate.value != nil && *gate.value {
			on = append(on, name+"=true")
		}
	}
	slices.Sort(on)
	return strings.Join(on, ",")
}
