// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"slices"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/release"
)

// Redactor removes secrets from texts. Helm and the API server quote values that they refuse, and
// may quote them encoded. The zero value removes nothing.
type Redactor struct {
	given redaction.Redactor
	// own are the values in the Secrets of the release.
	own *ownSecrets
}

// New returns a Redactor for the given values of Secrets.
func New(secrets []string) Redactor {
	return Redactor{given: redaction.New(secrets), own: &ownSecrets{}}
}

// SetRevision adds the values in the Secrets of a revision, and drops the values of the revision
// before. Charts generate passwords, and admission webhooks may quote them.
func (r Redactor) SetRevision(rls *helmrelease.Release) {
	if r.own != nil {
		r.own.set(rls)
	}
}

// Text returns s without secrets.
func (r Redactor) Text(s string) string {
	if r.own == nil {
		return s
	}
	return r.own.redact(r.given.Text(s))
}

// Texts returns texts without secrets.
func (r Redactor) Texts(all []string) []string {
	var clean []string
	for _, s := range all {
		clean = append(clean, r.Text(s))
	}
	return clean
}

// Error returns err if its message contains no secret. Otherwise it returns an error with the
// redacted message. It must not wrap err, which contains the secret.
func (r Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); r.Text(text) != text {
		return errors.New(r.Text(text))
	}
	return err
}

// Diagnosis returns a copy of d without secrets.
func (r Redactor) Diagnosis(d *release.Diagnosis) *release.Diagnosis {
	if d == nil {
		return nil
	}
	clean := *d
	clean.Summary, clean.Details, clean.Logs = r.Text(d.Summary), slices.Clone(d.Details), r.Logs(d.Logs)
	for i, line := range clean.Details {
		clean.Details[i] = r.Text(line)
	}
	return &clean
}

// Logs returns a copy of logs without secrets.
func (r Redactor) Logs(all []release.ContainerLog) []release.ContainerLog {
	all = slices.Clone(all)
	for i := range all {
		all[i].Text = r.Text(all[i].Text)
	}
	return all
}

// Changes removes secrets from the images and field paths of changes: charts can put the value of a
// Secret anywhere. The former images come from previous revisions, whose Secrets may have had other
// values. If an image has a secret now, it may have had another one, which nothing names now.
func (r Redactor) Changes(all release.Changes, previous ...*helmrelease.Release) release.Changes {
	former := ownRedactor(previous...)
	for i := range all.Images {
		c := &all.Images[i]
		c.Container, c.From = r.Text(former.Text(c.Container)), r.Text(former.Text(c.From))
		if to := r.Text(c.To); to != c.To {
			c.To = to
			if c.From != "" {
				c.From = redaction.Mask
			}
		}
	}
	for i := range all.Taken {
		all.Taken[i].Path = r.Text(all.Taken[i].Path)
	}
	return all
}

// Size removes secrets from the names of files in a record size.
func (r Redactor) Size(s *release.RecordSize) *release.RecordSize {
	if s == nil {
		return nil
	}
	for i := range s.Parts {
		s.Parts[i].Largest = r.Text(s.Parts[i].Largest)
	}
	return s
}

// ownSecrets are the values in the Secrets of the newest revision of an action. They are collected
// when there is a text to redact. It may be used concurrently.
type ownSecrets struct {
	mu       sync.Mutex
	revision *helmrelease.Release
	redactor redaction.Redactor
}

func (o *ownSecrets) set(rls *helmrelease.Release) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.revision != rls {
		o.revision, o.redactor = rls, ownRedactor(rls)
	}
}

func (o *ownSecrets) redact(s string) string {
	o.mu.Lock()
	redactor := o.redactor
	o.mu.Unlock()
	return redactor.Text(s)
}
