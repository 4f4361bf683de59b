// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/BurntSushi/toml"
	_ "github.com/Masterminds/sprig/v3" // its variables are set before init runs
	"sigs.k8s.io/yaml"
)

// sprigFunctions are the functions that the engine of Helm 3 starts from. The engine has no option for more
// functions, and copies this map for each rendering, so that it must not be changed later than in init.
//
//go:linkname sprigFunctions github.com/Masterminds/sprig/v3.genericMap
var sprigFunctions map[string]any //nolint:gochecknoglobals // of another package

// Without the name that go:linkname refers to, the map is nil and each start of the program panics here.
func init() { maps.Copy(sprigFunctions, helm4Functions()) }

// helm4Functions returns the template functions of Helm 4 that Helm 3 does not have, with the results of
// Helm 4. Charts of Helm 4 use them.
func helm4Functions() template.FuncMap {
	return template.FuncMap{
		"mustToYaml": mustToYAML,
		"mustToToml": mustToTOML,

		"mustToDuration":       toDuration,
		"durationSeconds":      orZero(time.Duration.Seconds),
		"durationMilliseconds": orZero(time.Duration.Milliseconds),
		"durationMicroseconds": orZero(time.Duration.Microseconds),
		"durationNanoseconds":  orZero(time.Duration.Nanoseconds),
		"durationMinutes":      orZero(time.Duration.Minutes),
		"durationHours":        orZero(time.Duration.Hours),
		"durationDays":         orZero(func(d time.Duration) float64 { return d.Hours() / 24 }),
		"durationWeeks":        orZero(func(d time.Duration) float64 { return d.Hours() / 24 / 7 }),
		"durationRoundTo":      toMultiple(time.Duration.Round),
		"durationTruncateTo":   toMultiple(time.Duration.Truncate),
	}
}

func mustToYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func mustToTOML(v any) (string, error) {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(v)
	return b.String(), err
}

// orZero returns a function of any duration, which returns zero for all else.
func orZero[T int64 | float64](of func(time.Duration) T) func(any) T {
	return func(v any) T {
		d, err := toDuration(v)
		if err != nil {
			return 0
		}
		return of(d)
	}
}

// toMultiple returns a function of a duration and the unit of its result. It returns zero if the first one
// is no duration, and the first one if the second one is none.
func toMultiple(of func(d, unit time.Duration) time.Duration) func(v, unit any) time.Duration {
	return func(v, unit any) time.Duration {
		d, err := toDuration(v)
		if err != nil {
			return 0
		}
		m, err := toDuration(unit)
		if err != nil {
			return d
		}
		return of(d, m)
	}
}

var (
	errNoDuration   = errors.New("no duration")
	errLongDuration = errors.New("the duration is too long")
)

// toDuration returns the duration that a text or a number of seconds means.
func toDuration(v any) (time.Duration, error) {
	switch v := v.(type) {
	case time.Duration:
		return v, nil
	case string:
		text := strings.TrimSpace(v)
		if d, err := time.ParseDuration(text); err == nil {
			return d, nil
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errNoDuration, v)
		}
		return fromSeconds(seconds)
	}
	const longest = math.MaxInt64 / int64(time.Second)
	switch n := reflect.ValueOf(v); {
	case n.CanInt() && n.Int() <= longest && n.Int() >= -longest:
		return time.Duration(n.Int()) * time.Second, nil
	case n.CanUint() && n.Uint() <= uint64(longest):
		return time.Duration(n.Uint()) * time.Second, nil
	case n.CanFloat():
		return fromSeconds(n.Float())
	case n.CanInt(), n.CanUint():
		return 0, errLongDuration
	}
	return 0, fmt.Errorf("%w: %T", errNoDuration, v)
}

func fromSeconds(seconds float64) (time.Duration, error) {
	n := seconds * float64(time.Second)
	// Both comparisons are false for NaN. 2^63 is no duration.
	if n >= math.MinInt64 && n < -math.MinInt64 {
		return time.Duration(n), nil
	}
	return 0, errLongDuration
}
