// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

// redacted stands where a secret stood.
const redacted = "***"

// redactor takes secrets out of what Helm says. Helm quotes values where they do
// not fit: in what a schema refuses, what a template cannot render, and what the
// API server will not have, where they may be encoded. The zero value takes out
// nothing.
type redactor struct {
	replacer *strings.Replacer
	// own takes out what is in the release's Secrets; nil takes out nothing.
	own *ownSecrets
}

func newRedactor(secrets []string) redactor {
	return redactor{replacer: replacerOf(secrets), own: &ownSecrets{}}
}

func replacerOf(secrets []string) *strings.Replacer {
	var all []string
	for _, s := range secrets {
		all = append(all, diagnosis.QuotedForms(s)...)
	}
	// At one place the first that fits is replaced, so the longer go first.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range slices.Compact(all) {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...)
}

func (r redactor) text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.own.text(r.replacer.Replace(s))
}

// minOwn is how long a value in a Secret of a release has to be to be taken out:
// charts put hosts, names and switches there as well, and messages without
// those say nothing.
const minOwn = 8

// ownSecrets are the values in the Secrets of the newest revision that an action has
// met. Charts generate passwords, and admission webhooks may quote them. The
// values are collected only if there is a text to redact. It may be used concurrently.
type ownSecrets struct {
	mu       sync.Mutex
	of       *helmrelease.Release
	replacer *strings.Replacer
}

// meet takes note of the newest revision.
func (o *ownSecrets) meet(rls *helmrelease.Release) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of != rls {
		o.of, o.replacer = rls, nil
	}
}

func (o *ownSecrets) text(s string) string {
	if o == nil {
		return s
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		return s
	}
	if o.replacer == nil {
		o.replacer = replacerOf(secretsIn(o.of))
	}
	return o.replacer.Replace(s)
}

// secretsIn returns the values in the Secrets of a revision, and their lines.
func secretsIn(rls *helmrelease.Release) []string {
	s := Stored{Release: &hookjob.Release{Namespace: rls.Namespace}}
	look := func(text string) {
		// To read all of a large release would take long.
		if strings.Contains(text, "Secret") {
			s.look(text, false)
		}
	}
	for _, text := range releaseutil.SplitManifests(rls.Manifest) {
		look(text)
	}
	for _, h := range rls.Hooks {
		look(h.Manifest)
	}
	var all []string
	for _, value := range s.Secrets {
		all = append(all, value)
		for line := range strings.Lines(value) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return slices.DeleteFunc(all, func(v string) bool { return len(v) < minOwn || v == rls.Name || v == rls.Namespace })
}

// error returns err as it is if there is nothing to take out of it, and its
// text alone otherwise: what it wraps would still say it all.
func (r redactor) error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); r.text(text) != text {
		return errors.New(r.text(text))
	}
	return err
}

// size returns what a record takes, with what is told of files in its chart.
func (r redactor) size(s *release.RecordSize) *release.RecordSize {
	if s == nil {
		return nil
	}
	for i := range s.Parts {
		s.Parts[i].Largest = r.text(s.Parts[i].Largest)
	}
	return s
}
