// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the files of the image

	"github.com/robfig/cron/v3"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Closure is a policy whose windows are closed.
type Closure struct {
	// Policy is "<kind>/<name>".
	Policy string
	// Opens is when they open again; zero if that is more than horizon away, or never.
	Opens time.Time `json:",omitzero"`
	// RollbacksFree is true if rollbacks on request are not held.
	RollbacksFree bool `json:",omitempty"`
}

const (
	// horizon is how far windows are looked at.
	horizon = 5 * 366 * 24 * time.Hour
	// maxBoundaries is how many starts and ends of windows are looked at.
	maxBoundaries = 2000
	// maxWindow is the longest duration of a window.
	maxWindow = 366 * 24 * time.Hour
)

// window is a window whose schedule is known.
type window struct {
	fields   *cron.SpecSchedule
	zone     *time.Location
	duration time.Duration
}

// parseWindow returns a window, or which field is not valid.
func parseWindow(w v1alpha1.Window) (window, error) {
	switch {
	case w.Effect != v1alpha1.WindowAllow && w.Effect != v1alpha1.WindowDeny:
		return window{}, fmt.Errorf("effect %q is not supported by this version", w.Effect)
	case w.Duration.Duration < time.Minute || w.Duration.Duration > maxWindow:
		return window{}, fmt.Errorf("duration %s is not between 1m and %s", w.Duration.Duration, maxWindow)
	case strings.Contains(w.Schedule, "TZ="):
		return window{}, fmt.Errorf("schedule %q has a time zone: set timeZone", w.Schedule)
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil || w.TimeZone == "Local" {
		return window{}, fmt.Errorf("timeZone %q is not in the IANA database", w.TimeZone)
	}
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule)
	fields, is := schedule.(*cron.SpecSchedule)
	if err != nil || !is {
		return window{}, fmt.Errorf("schedule %q is not valid: %w", w.Schedule, err)
	}
	return window{fields, zone, w.Duration.Duration}, nil
}

// next returns the first start after t, but not after last; zero if there is none. A time that a clock on
// the wall skips is none, and one that it shows twice is two. The library's own Next misses starts where
// clocks change by half an hour.
func (w window) next(t, last time.Time) time.Time {
	for t = t.In(w.zone).Truncate(time.Minute).Add(time.Minute); !t.After(last); {
		switch {
		case !has(w.fields.Month, int(t.Month())) || !w.onDay(t):
			// Midnight may be skipped, too.
			day := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, w.zone)
			for !day.After(t) {
				day = day.Add(time.Hour)
			}
			t = day
		case !has(w.fields.Hour, t.Hour()):
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case !has(w.fields.Minute, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// onDay reports whether the fields of days match. As in cron, one of both is enough if neither is "*".
func (w window) onDay(t time.Time) bool {
	dom, dow := has(w.fields.Dom, t.Day()), has(w.fields.Dow, int(t.Weekday()))
	// The parser marks "*" with the highest bit.
	if has(w.fields.Dom|w.fields.Dow, 63) {
		return dom && dow
	}
	return dom || dow
}

// has reports whether a field of a schedule has a number.
func has(field uint64, number int) bool { return field&(1<<number) != 0 }

// end returns when the window that t is in ends, given no later start; zero if t is in none. The start
// itself is in the window, and the end is not.
func (w window) end(t time.Time) time.Time {
	// Starts may be many: look back in growing steps, each as far as the one before.
	for from, back := t, time.Minute; from.After(t.Add(-w.duration)); back *= 2 {
		until := from
		from = t.Add(-min(back, w.duration))
		var last time.Time
		for s := w.next(from, until); !s.IsZero(); s = w.next(s, until) {
			last = s
		}
		if !last.IsZero() {
			return last.Add(w.duration)
		}
	}
	return time.Time{}
}

// closed returns whether the windows of a policy are closed, and when they open; zero if that is not
// known. The windows must be valid.
func closed(all []v1alpha1.Window, now time.Time) (opens time.Time, is bool) {
	var allow, deny []window
	for _, spec := range all {
		switch w, err := parseWindow(spec); {
		case err != nil:
		case spec.Effect == v1alpha1.WindowAllow:
			allow = append(allow, w)
		default:
			deny = append(deny, w)
		}
	}
	return closedAt(allow, deny, now)
}

func closedAt(allow, deny []window, now time.Time) (opens time.Time, is bool) {
	t := now
	for range maxBoundaries {
		at := boundary(allow, deny, t)
		if at.Equal(t) {
			return t, t.After(now)
		}
		if at.IsZero() || at.Sub(now) > horizon {
			break
		}
		t = at
	}
	return time.Time{}, true
}

// boundary returns t if the windows are open then, and otherwise the next time at which they may be;
// zero if there is none.
func boundary(allow, deny []window, t time.Time) time.Time {
	for _, w := range deny {
		if end := w.end(t); !end.IsZero() {
			return end
		}
	}
	if len(allow) == 0 || slices.ContainsFunc(allow, func(w window) bool { return !w.end(t).IsZero() }) {
		return t
	}
	var first time.Time
	for _, w := range allow {
		if s := w.next(t, t.Add(horizon)); !s.IsZero() && (first.IsZero() || s.Before(first)) {
			first = s
		}
	}
	return first
}
