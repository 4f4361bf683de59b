// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Chart has the facts about the chart of a release that policies are compared with.
type Chart struct {
	// Inexact states why the version may change without a change of the spec, Unverified why the
	// signature is not verified, Unlocated why the chart has no URL, Unproven why another server may
	// have answered for the URL, and OwnCAs why the source selects the certificate authorities. They
	// are zero otherwise.
	Inexact, Unverified, Unlocated, Unproven, OwnCAs Fault
	// Signature states how the signature is verified. It is valid if Unverified is zero.
	Signature Signature
	// URL is the URL of the chart. Located is the field that it follows from.
	URL, Located string
}

// Signature has the fields of a source by which its signature is verified.
type Signature struct {
	// Field is the field of the HelmRelease that they follow from, and Source is the source.
	Field, Source string
	Provider      string
	// Secret is "<namespace>/<name>"; empty for a keyless signature.
	Secret     string
	Identities []v1alpha1.SignerIdentity
	// OwnRoot is true if the source selects the root of trust of keyless signatures.
	OwnRoot bool
}

// Fault is a field, and why a policy may refuse it.
type Fault struct {
	Field string
	Why   string
}

// Needs are the facts about a chart that policies are compared with.
type Needs struct {
	// Chart is true if any fact is needed, Origin if it is needed where the content comes from or who
	// has signed it, and Location if the URL is needed.
	Chart, Origin, Location bool
}

// NeedsOf returns the facts that the policies that select the release are compared with.
func NeedsOf(policies []Policy, r Release) (n Needs) {
	_, selected := choose(policies, r)
	for i := range selected {
		if c := selected[i].Spec.Charts; c != nil {
			n.Location = n.Location || len(c.Sources) > 0
			n.Origin = n.Origin || n.Location || c.Verified || len(c.Signers) > 0
			n.Chart = n.Chart || n.Origin || c.ExactVersions
		}
	}
	return n
}

// Refuse returns the first refusal of a chart by a policy that selects the release; nil if none
// refuses it. A refusal that is not for changes only precedes one that is.
func Refuse(policies []Policy, r Release, c Chart) *Refusal {
	_, selected := choose(policies, r)
	var changes *Refusal
	for i := range selected {
		p := &selected[i]
		if p.Spec.Charts == nil {
			continue
		}
		charts := p.Spec.Charts
		for _, demand := range []struct {
			field   string
			set     bool
			fault   Fault
			changes bool
		}{
			{"spec.charts.exactVersions", charts.ExactVersions, c.Inexact, false},
			{"spec.charts.verified", charts.Verified, c.Unverified, false},
			{"spec.charts.signers", len(charts.Signers) > 0, c.signatureFault(charts.Signers), false},
			{"spec.charts.sources", len(charts.Sources) > 0, c.outside(charts.Sources), false},
			{"spec.charts.transport", len(charts.Sources) > 0 && charts.Transport != v1alpha1.TransportAny, c.OwnCAs, charts.Transport == ""},
		} {
			if !demand.set || demand.fault == (Fault{}) {
				continue
			}
			refusal := &Refusal{
				Policy: p.String(), Field: demand.fault.Field, Why: fmt.Sprintf("%s (%s)", demand.fault.Why, demand.field), ChangesOnly: demand.changes,
			}
			if !refusal.ChangesOnly {
				return refusal
			}
			if changes == nil {
				changes = refusal
			}
		}
	}
	return changes
}

// signatureFault returns why none of the signers has signed the chart; zero if one has.
func (c Chart) signatureFault(signers []v1alpha1.ChartSigner) Fault {
	if c.Unverified != (Fault{}) {
		return c.Unverified
	}
	if slices.ContainsFunc(signers, c.Signature.isBy) {
		return Fault{}
	}
	return Fault{Field: c.Signature.Field, Why: fmt.Sprintf("spec.verify of %s names other signers than those that are allowed", c.Signature.Source)}
}

// isBy reports whether the signature is verified by no other keys or identities than the signer's.
func (s Signature) isBy(signer v1alpha1.ChartSigner) bool {
	switch {
	case s.Provider != string(signer.Provider):
		return false
	case signer.Secret != "":
		return s.Secret == signer.Secret
	case len(signer.Identities) == 0:
		return true
	case s.Secret != "" || s.OwnRoot || len(s.Identities) == 0:
		// Without an identity, each one is accepted.
		return false
	}
	return !slices.ContainsFunc(s.Identities, func(i v1alpha1.SignerIdentity) bool { return !slices.Contains(signer.Identities, i) })
}

// outside returns why the chart is not known to come from a URL of the patterns; zero if it is.
func (c Chart) outside(patterns []string) Fault {
	switch {
	case c.Unlocated != (Fault{}):
		return c.Unlocated
	case c.Unproven != (Fault{}):
		return c.Unproven
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
	return match(strings.TrimSuffix(pattern, "/"), text, "/")
}

// match reports whether a pattern matches a whole text. "*" matches any characters but those in except.
// It takes at most len(pattern)*len(text) steps: only the last "*" is tried again.
func match(pattern, text, except string) bool {
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
		case star >= 0 && strings.IndexByte(except, text[from]) < 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
