// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

func spanning(effect v1alpha1.WindowEffect, schedule string, d time.Duration, zone string) v1alpha1.Window {
	return v1alpha1.Window{Effect: effect, Schedule: schedule, Duration: metav1.Duration{Duration: d}, TimeZone: zone}
}

// TestWindows: when windows are closed, and when they open.
func TestWindows(t *testing.T) {
	t.Parallel()
	const allow, deny = v1alpha1.WindowAllow, v1alpha1.WindowDeny
	weekend := spanning(deny, "0 16 * * FRI", 64*time.Hour, "Europe/Berlin")
	nights := spanning(allow, "0 2 * * *", 2*time.Hour, "Europe/Berlin")
	for name, tc := range map[string]struct {
		windows []v1alpha1.Window
		now     string
		// opens is empty if the windows are open.
		opens string
	}{
		"None":              {nil, "2026-03-04T12:00:00Z", ""},
		"BeforeDeny":        {[]v1alpha1.Window{weekend}, "2026-03-06T14:59:59Z", ""},
		"DenyStarts":        {[]v1alpha1.Window{weekend}, "2026-03-06T15:00:00Z", "2026-03-09T07:00:00Z"},
		"DenyEnds":          {[]v1alpha1.Window{weekend}, "2026-03-09T07:00:00Z", ""},
		"DenyIsElapsedTime": {[]v1alpha1.Window{weekend}, "2026-03-28T12:00:00Z", "2026-03-30T07:00:00Z"},
		"InAllow":           {[]v1alpha1.Window{nights}, "2026-03-04T01:30:00Z", ""},
		"AllowEnds":         {[]v1alpha1.Window{nights}, "2026-03-04T03:00:00Z", "2026-03-05T01:00:00Z"},
		"NoSuchHour":        {[]v1alpha1.Window{nights}, "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z"},
		"DenyWins":          {[]v1alpha1.Window{nights, weekend}, "2026-03-07T01:30:00Z", "2026-03-10T01:00:00Z"},
		"DenyInAllow":       {[]v1alpha1.Window{spanning(allow, "0 0 * * *", 8*time.Hour, ""), spanning(deny, "0 1 * * *", time.Hour, "")}, "2026-03-04T01:10:00Z", "2026-03-04T02:00:00Z"},
		"SeveralAllow":      {[]v1alpha1.Window{nights, spanning(allow, "0 12 * * *", time.Hour, "")}, "2026-03-04T12:30:00Z", ""},
		"LeapDay":           {[]v1alpha1.Window{spanning(allow, "0 0 29 2 *", time.Hour, "")}, "2026-03-04T12:00:00Z", "2028-02-29T00:00:00Z"},
		"Never":             {[]v1alpha1.Window{spanning(allow, "0 0 30 2 *", time.Hour, "")}, "2026-03-04T12:00:00Z", "never"},
		"AlwaysDenied":      {[]v1alpha1.Window{spanning(deny, "* * * * *", 64*time.Hour, "")}, "2026-03-04T12:00:00Z", "never"},
		"Overlapping":       {[]v1alpha1.Window{spanning(deny, "0 */2 4 3 *", 3*time.Hour, "")}, "2026-03-04T12:00:00Z", "2026-03-05T01:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		opens, is := closed(tc.windows, now)
		got := ""
		switch {
		case is && opens.IsZero():
			got = "never"
		case is:
			got = opens.UTC().Format(time.RFC3339)
		}
		if got != tc.opens {
			t.Errorf("%s: opens %q, want %q", name, got, tc.opens)
		}
	}
}

// TestYearOfWindows: a year of windows is equal to an independent computation: for each time, whether
// the fields of the clock on the wall match within the duration before.
func TestYearOfWindows(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"}
	// All starts and ends are multiples of a quarter of an hour.
	const step = 15 * time.Minute
	for _, zone := range zones {
		t.Run(strings.ReplaceAll(zone, "/", "-"), func(t *testing.T) {
			t.Parallel()
			at, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			windows := []v1alpha1.Window{
				spanning(v1alpha1.WindowAllow, "30 1 * * MON-FRI", 90*time.Minute, zone),
				spanning(v1alpha1.WindowAllow, "0 22 * * SAT", 5*time.Hour, zone),
				spanning(v1alpha1.WindowDeny, "0 2 1-7 * *", 30*time.Minute, zone),
			}
			var allow, deny []window
			for _, spec := range windows {
				w, err := parseWindow(spec)
				if err != nil {
					t.Fatal(err)
				}
				if spec.Effect == v1alpha1.WindowDeny {
					deny = append(deny, w)
				} else {
					allow = append(allow, w)
				}
			}
			minutes := func(fires func(t time.Time) bool, d time.Duration) func(time.Time) bool {
				var last time.Time
				return func(now time.Time) bool {
					if fires(now.In(at)) {
						last = now
					}
					return !last.IsZero() && now.Sub(last) < d
				}
			}
			nightly := minutes(func(t time.Time) bool {
				return t.Minute() == 30 && t.Hour() == 1 && t.Weekday() >= time.Monday && t.Weekday() <= time.Friday
			}, 90*time.Minute)
			saturday := minutes(func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 22 && t.Weekday() == time.Saturday }, 5*time.Hour)
			denied := minutes(func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 2 && t.Day() <= 7 }, 30*time.Minute)
			start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
			var promised time.Time
			differ := 0
			for now := start.Add(-24 * time.Hour); now.Before(start.AddDate(1, 0, 0)); now = now.Add(step) {
				// Each must see each time.
				open := slices.Contains([]bool{nightly(now), saturday(now)}, true)
				open = !denied(now) && open
				if now.Before(start) {
					continue
				}
				opens, is := closedAt(allow, deny, now)
				if is == open || is && !promised.IsZero() && !opens.Equal(promised) || !is && !promised.IsZero() && !now.Equal(promised) {
					if differ++; differ < 5 {
						t.Errorf("%s: closed %t until %s, promised until %s, want open %t", now.In(at), is, opens, promised, open)
					}
				}
				if promised = opens; !is {
					promised = time.Time{}
				}
			}
		})
	}
}

// TestInvalidWindows: a window that is not valid makes the policies unavailable, with the field.
func TestInvalidWindows(t *testing.T) {
	t.Parallel()
	const allow = v1alpha1.WindowAllow
	for want, w := range map[string]v1alpha1.Window{
		`effect "Maybe" is not supported`:         spanning("Maybe", "0 0 * * *", time.Hour, ""),
		`schedule "0 0 * *" is not valid`:         spanning(allow, "0 0 * *", time.Hour, ""),
		`schedule "@daily" is not valid`:          spanning(allow, "@daily", time.Hour, ""),
		`has a time zone: set timeZone`:           spanning(allow, "CRON_TZ=UTC 0 0 * * *", time.Hour, ""),
		`duration 1s is not between`:              spanning(allow, "0 0 * * *", time.Second, ""),
		`timeZone "Mars/Base" is not in the IANA`: spanning(allow, "0 0 * * *", time.Hour, "Mars/Base"),
		`timeZone "Local" is not in the IANA`:     spanning(allow, "0 0 * * *", time.Hour, "Local"),
	} {
		p := Policy{Kind: "ReleasePolicy", Namespace: "apps", Name: "p", Spec: v1alpha1.ReleasePolicySpec{Windows: []v1alpha1.Window{spanning(allow, "0 0 * * *", time.Hour, ""), w}}}
		if d := Select([]Policy{p}, web(), time.Unix(0, 0)); !strings.HasPrefix(d.Unavailable, "ReleasePolicy/p: spec.windows[1]: ") || !strings.Contains(d.Unavailable, want) {
			t.Errorf("unavailable as %q, want %q", d.Unavailable, want)
		}
	}
}

// FuzzWindows: whatever users write, the answer comes soon, is the same at its own end, and lies ahead.
func FuzzWindows(f *testing.F) {
	f.Add("0 16 * * FRI", int64(64*time.Hour), "Europe/Berlin", "30 1 * * *", int64(time.Hour), int64(1_800_000_000))
	f.Add("* * * * *", int64(maxWindow), "", "* * 29 2 *", int64(time.Minute), int64(0))
	f.Fuzz(func(t *testing.T, allow string, length int64, zone, deny string, denied, at int64) {
		var valid []v1alpha1.Window
		for _, w := range []v1alpha1.Window{spanning(v1alpha1.WindowAllow, allow, time.Duration(length), zone), spanning(v1alpha1.WindowDeny, deny, time.Duration(denied), zone)} {
			if _, err := parseWindow(w); err == nil {
				valid = append(valid, w)
			}
		}
		now := time.Unix(at%(1<<32), 0)
		opens, is := closed(valid, now)
		if !is || opens.IsZero() {
			return
		}
		if !opens.After(now) {
			t.Fatalf("opens at %s, which is not after %s", opens, now)
		}
		if again, still := closed(valid, opens); still {
			t.Fatalf("closed at %s, when it opens, until %s", opens, again)
		}
	})
}
