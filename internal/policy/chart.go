// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Chart has the facts about the chart of a release that policies are compared with.
type Chart struct {
	// Inexact states why the version may change without a change of the spec, Unverified why the
	// signature is not verified, and Unlocated why the chart has no URL. They are zero otherwise.
	Inexact, Unverified, Unlocated Fault
	// URL is the URL of the chart. Located is the field that it follows from.
	URL, Located string
}

// Fault is a field, and why a policy may refuse it.
type Fault struct {
	Field string
	Why   string
}

// NeedsCharts reports whether a policy that selects the release restricts its chart, and whether one
// restricts the URL.
func NeedsCharts(policies []Policy, r Release) (chart, location bool) {
	_, selected := choose(policies, r)
	for i := range selected {
		if c := selected[i].Spec.Charts; c != nil {
			chart = chart || c.ExactVersions || c.Verified || len(c.Sources) > 0
			location = location || len(c.Sources) > 0
		}
	}
	return chart, location
}

// Refuse returns the first refusal of a chart by a policy that selects the release; nil if none
// refuses it.
func Refuse(policies []Policy, r Release, c Chart) *Refusal {
	_, selected := choose(policies, r)
	for i := range selected {
		p := &selected[i]
		if p.Spec.Charts == nil {
			continue
		}
		for _, demand := range []struct {
			field string
			set   bool
			fault Fault
		}{
			{"spec.charts.exactVersions", p.Spec.Charts.ExactVersions, c.Inexact},
			{"spec.charts.verified", p.Spec.Charts.Verified, c.Unverified},
			{"spec.charts.sources", len(p.Spec.Charts.Sources) > 0, c.outside(p.Spec.Charts.Sources)},
		} {
			if demand.set && demand.fault != (Fault{}) {
				return &Refusal{Policy: p.String(), Field: demand.fault.Field, Why: fmt.Sprintf("%s (%s)", demand.fault.Why, demand.field)}
			}
		}
	}
	return nil
}

// outside returns why the URL of the chart is not one of the patterns; zero if it is.
func (c Chart) outside(patterns []string) Fault {
	if c.Unlocated != (Fault{}) {
		return c.Unlocated
	}
	normal, err := normalize(c.URL)
	if err != nil {
		return Fault{Field: c.Located, Why: err.Error()}
	}
	if slices.ContainsFunc(patterns, func(pattern string) bool { return matchURL(pattern, normal) }) {
		return Fault{}
	}
	return Fault{Field: c.Located, Why: normal + " is not one of the allowed sources"}
}

// normalize returns a URL with scheme and host in lower case and without a slash at its end. It
// refuses the parts that make two texts name the same place: credentials, queries, fragments, escapes,
// empty segments, "." and "..". Errors do not repeat the URL, which may have credentials.
func normalize(url string) (string, error) {
	scheme, rest, isURL := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	switch {
	case !isURL || scheme == "" || host == "":
		return "", errors.New("the URL of the chart has no scheme or host")
	case strings.ContainsFunc(url, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`@?#%\*`, c) }):
		return "", errors.New("the URL of the chart has credentials, a query, a fragment, escapes or special characters")
	}
	normal := strings.ToLower(scheme + "://" + host)
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return normal, nil
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", errors.New("the URL of the chart has an empty or relative path segment")
		}
	}
	return normal + "/" + path, nil
}

// matchURL reports whether a pattern matches a whole URL that is normalized. "*" matches any
// characters but "/". Scheme and host of the pattern are not case-sensitive.
func matchURL(pattern, text string) bool {
	scheme, rest, _ := strings.Cut(pattern, "://")
	host, path, hasPath := strings.Cut(rest, "/")
	pattern = strings.ToLower(scheme) + "://" + strings.ToLower(host)
	if hasPath {
		pattern += "/" + path
	}
	return match(strings.TrimSuffix(pattern, "/"), text)
}

// match reports whether a pattern matches a whole text. It takes at most len(pattern)*len(text)
// steps: only the last "*" is tried again.
func match(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0 && text[from] != '/':
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
