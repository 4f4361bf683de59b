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

// Gates are the feature gates. Each field has the name of its gate. All are disabled by default.
// Gates implements pflag.Value.
type Gates struct {
	AdditiveCELDependencyCheck bool
	AllowDNSLookups            bool
	DefaultToRetryOnFailure    bool
	DirectSourceFetch          bool
	DisableChartDigestTracking bool
	DisableConfigWatchers      bool
	ExternalArtifact           bool
	HelmChartAPI               bool
	OOMWatch                   bool
	UseHelm3Defaults           bool

	ObjectLevelWorkloadIdentity bool

	// ineffective are enabled gates without an effect, by name, and the reason.
	ineffective map[string]string
}

// gate describes a known name.
type gate struct {
	// value is the field of the gate; nil if the gate has no effect.
	value *bool
	// reason is why a gate without a value has no effect. It is logged.
	reason string
}

// known returns the gates of helm-controller and of Pintle, by name.
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

		// Of Pintle.
		"HelmChartAPI": {value: &g.HelmChartAPI},

		"OOMWatch":                    {value: &g.OOMWatch},
		"ObjectLevelWorkloadIdentity": {value: &g.ObjectLevelWorkloadIdentity},

		"CacheSecretsAndConfigMaps":      {reason: "values are read when they are needed, and Secrets are never cached"},
		"CancelHealthCheckOnNewRevision": {reason: "a newer revision or spec always cancels the wait for readiness"},

		// helm-controller accepts these names, and they have no effect there either.
		"AdoptLegacyReleases": {reason: "releases of old API versions are not adopted"},
		"CorrectDrift":        {reason: "spec.driftDetection replaces it"},
		"DetectDrift":         {reason: "spec.driftDetection replaces it"},
	}
}

// Set implements pflag.Value. list is a comma-separated list of Name=bool. The last value of a
// name takes effect.
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
			errs = append(errs, fmt.Errorf("unknown feature gate %q", name))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: not of the form Name=true or Name=false", item))
		case gate.value != nil:
			*gate.value = on
		default:
			g.setIneffective(name, gate.reason, on)
		}
	}
	return errors.Join(errs...)
}

func (g *Gates) setIneffective(name, reason string, on bool) {
	if !on {
		delete(g.ineffective, name)
		return
	}
	if g.ineffective == nil {
		g.ineffective = map[string]string{}
	}
	g.ineffective[name] = reason
}

// notices returns a log message for each enabled gate without an effect.
func (g *Gates) notices() []string {
	var notices []string
	for _, name := range slices.Sorted(maps.Keys(g.ineffective)) {
		notices = append(notices, fmt.Sprintf("the feature gate %s has no effect: %s", name, g.ineffective[name]))
	}
	return notices
}

// Type implements pflag.Value.
func (g *Gates) Type() string { return "Name=bool" }

// String implements pflag.Value.
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
