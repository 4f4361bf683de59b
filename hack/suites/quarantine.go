// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	maxQuarantined = 5
	maxQuarantine  = 14 * 24 * time.Hour
)

// readQuarantine reads the names of tests whose failures do not count for now. A line is a name, the
// date of its entry as 2006-01-02, and the reason. If strict, an entry older than maxQuarantine is an
// error.
func readQuarantine(path string, now time.Time, strict bool) (map[string]bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: want a test, a date and a reason: %s", path, line)
		}
		date, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if strict && now.Sub(date) > maxQuarantine {
			return nil, fmt.Errorf("%s: %s is in quarantine since %s: mend or delete it", path, fields[0], fields[1])
		}
		all[fields[0]] = true
	}
	if len(all) > maxQuarantined {
		return nil, fmt.Errorf("%s: %d tests are in quarantine, more than %d", path, len(all), maxQuarantined)
	}
	return all, nil
}
