// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// refuseUnsupported stops a HelmRelease that uses a field this version does not
// implement. Ignoring the field would run the release in a way its author did
// not ask for; the list shrinks as fields are implemented.
func refuseUnsupported(hr *helmv2.HelmRelease) error {
	var fields []string
	for _, f := range unsupported(&hr.Spec) {
		if f.used {
			fields = append(fields, f.path)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	verb := "is"
	if len(fields) > 1 {
		verb = "are"
	}
	return refusal("%s %s not supported by this version", strings.Join(fields, ", "), verb)
}

type field struct {
	path string
	used bool
}

func unsupported(s *helmv2.HelmReleaseSpec) []field {
	fields := []field{
		{"spec.kubeConfig.configMapRef", s.KubeConfig != nil && s.KubeConfig.ConfigMapRef != nil},
		{"spec.dependsOn", len(s.DependsOn) > 0},
		{"spec.driftDetection.mode", s.DriftDetection != nil && s.DriftDetection.Mode != "" && s.DriftDetection.Mode != helmv2.DriftDetectionDisabled},
	}
	if i := s.Install; i != nil {
		fields = append(fields,
			field{"spec.install.strategy", i.Strategy != nil && i.Strategy.Name != helmv2.ActionStrategyRemediateOnFailure},
			field{"spec.install.remediation", i.Remediation != nil && *i.Remediation != helmv2.InstallRemediation{}},
		)
	}
	if u := s.Upgrade; u != nil {
		fields = append(fields,
			field{"spec.upgrade.strategy", u.Strategy != nil && u.Strategy.Name != helmv2.ActionStrategyRemediateOnFailure},
			field{"spec.upgrade.remediation", u.Remediation != nil && *u.Remediation != helmv2.UpgradeRemediation{}},
			field{"spec.upgrade.chartNameChangeStrategy", u.ChartNameChangeStrategy != ""},
		)
	}
	return fields
}

// refuseMove stops a HelmRelease whose target is not the one its release lives
// at: going on would leave the old release behind without a word.
func refuseMove(hr *helmv2.HelmRelease, target release.Target) error {
	last := release.Latest(hr.Status.History)
	if last == nil || hr.Status.StorageNamespace == "" {
		return nil
	}
	for _, m := range []struct{ field, from, to string }{
		{"spec.storageNamespace", hr.Status.StorageNamespace, target.StorageNamespace},
		{"spec.targetNamespace", last.Namespace, target.Namespace},
		{"spec.releaseName", last.Name, target.Name},
	} {
		if m.from != m.to {
			return refusal("%s: moving release %s/%s from %q to %q is not supported by this version",
				m.field, last.Namespace, last.Name, m.from, m.to)
		}
	}
	return nil
}

// refuseRename stops a HelmRelease whose source now holds a chart of another
// name, which asks for a reinstallation.
func refuseRename(hr *helmv2.HelmRelease, c release.Chart) error {
	last := release.Latest(hr.Status.History)
	if last == nil || last.ChartName == c.Name || last.Status == helmv2.StatusUninstalled {
		return nil
	}
	return refusal("the chart of release %s/%s changed its name from %q to %q: reinstalling is not supported by this version",
		last.Namespace, last.Name, last.ChartName, c.Name)
}

func refusal(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}
