// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"math"
	"time"
)

const (
	// halfLife is the time after which usage counts half.
	halfLife = time.Minute
	// negligible is the usage of a tenant that is not remembered.
	negligible = time.Millisecond
)

// usage is the time for which a tenant has had slots. Each second counts less as it gets older.
type usage struct {
	// used is the usage at a time.
	used time.Duration
	at   time.Time
	// slots is the number of slots since then.
	slots int
}

// until returns the usage at a later time. If the clock goes back, no time has passed.
func (u usage) until(now time.Time) usage {
	const life = float64(halfLife) / math.Ln2
	kept := math.Exp(-float64(max(0, now.Sub(u.at))) / life)
	u.used = time.Duration(float64(u.used)*kept + float64(u.slots)*life*(1-kept))
	u.at = now
	return u
}

// forgettable reports whether a tenant is as good as one without usage.
func (u usage) forgettable() bool { return u.slots == 0 && u.used < negligible }
