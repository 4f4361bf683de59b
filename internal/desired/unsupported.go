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
// implement, or not as the controller is set up. Ignoring the field would run the release in a way its author did
// not ask for; the list shrinks as fields are implemented.
func refuseUnsupported(hr *helmv2.HelmRelease, settings Settings) error {
	var fields []string
	for _, f := range unsupported(&hr.Spec, settings) {
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
	return refusal("%s %s not supported without the feature gate ObjectLevelWorkloadIdentity", strings.Join(fields, ", "), verb)
}

type field struct {
	path string
	used bool
}

func unsupported(s *helmv2.HelmReleaseSpec, settings Settings) []field {
	return []field{
		{"spec.kubeConfig.configMapRef", s.KubeConfig != nil && s.KubeConfig.ConfigMapRef != nil && !settings.WorkloadIdentity},
	}
}

func refusal(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonUnsupportedField, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}
