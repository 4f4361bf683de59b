// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// values composes the values of a release and their digest.
func values(hr *helmv2.HelmRelease) (map[string]any, string, error) {
	var raw []byte
	if hr.Spec.Values != nil {
		raw = hr.Spec.Values.Raw
	}
	v, err := chart.ParseValues(raw)
	if err != nil {
		return nil, "", release.BlockedBy(helmv2.ReasonValuesError, err, "spec.values cannot be read")
	}
	digest, err := chart.ConfigDigest(v)
	if err != nil {
		return nil, "", release.BlockedBy(helmv2.ReasonValuesError, err, "spec.values cannot be digested")
	}
	return v, digest, nil
}
