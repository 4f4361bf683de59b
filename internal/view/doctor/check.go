// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "fmt"

// Check returns the findings about the facts, in the order of the checks.
func Check(f Facts) Report {
	var all []Finding
	for _, check := range []func(Facts) []Finding{crds, controllers, flags, rights, helmCharts} {
		all = append(all, check(f)...)
	}
	for _, u := range f.Unread {
		all = append(all, Finding{
			Level: Unknown, Check: "Access", What: fmt.Sprintf("%s could not be read: %s", u.Resource, u.Error),
			Meaning: "The checks that need them are left out.",
			Do:      "Repeat the command as a user with the right to list them.",
		})
	}
	r := Report{Findings: all}
	for _, finding := range all {
		switch finding.Level {
		case Failed:
			r.Failed++
		case Warning:
			r.Warnings++
		case Unknown:
			r.Unknown++
		case OK, Note:
		}
	}
	return r
}
