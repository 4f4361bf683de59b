// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Secrets are the Secrets of a revision.
type Secrets struct {
	// Names are the names of the Secrets in the namespace of the release.
	Names []string
	// Values are the values of all Secrets.
	Values []string
}

// SecretsOf returns the Secrets of a revision, hooks included.
func SecretsOf(rls *helmrelease.Release) Secrets {
	return secretsOf(rls, func(string) bool { return true })
}

// LongSecrets returns the values of the Secrets of a revision that are redacted elsewhere.
func LongSecrets(rls *helmrelease.Release) []string {
	return slices.DeleteFunc(SecretsOf(rls).Values, func(s string) bool { return len(s) < minValue })
}

// secretsOf returns the Secrets in the selected documents of a revision.
func secretsOf(rls *helmrelease.Release, selected func(text string) bool) Secrets {
	var s Secrets
	for _, h := range rls.Hooks {
		if selected(h.Manifest) {
			s.add(h.Manifest, rls.Namespace)
		}
	}
	for _, text := range releaseutil.SplitManifests(rls.Manifest) {
		if selected(text) {
			s.add(text, rls.Namespace)
		}
	}
	return s
}

// add adds the Secret in a document. A document that cannot be parsed has not been applied, so it
// contains no Secret.
func (s *Secrets) add(text, namespace string) {
	var o struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Data       map[string]any `json:"data"`
		StringData map[string]any `json:"stringData"`
	}
	if bounded.Manifest().Unmarshal([]byte(text), &o) != nil || o.Kind != "Secret" {
		return
	}
	if o.Metadata.Namespace == "" || o.Metadata.Namespace == namespace {
		s.Names = append(s.Names, o.Metadata.Name)
	}
	for _, value := range o.Data {
		if raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(value)); err == nil {
			s.Values = append(s.Values, string(raw))
		}
	}
	for _, value := range o.StringData {
		s.Values = append(s.Values, fmt.Sprint(value))
	}
}

// minValue is the minimum length of the values that are redacted. Charts put hosts, names and
// switches into Secrets as well, and messages are useless without those.
const minValue = 8

// ownRedactor returns a Redactor for the values in the Secrets of revisions. It parses only the
// documents that contain the word Secret: parsing a large release takes long.
func ownRedactor(all ...*helmrelease.Release) redaction.Redactor {
	rules := redaction.Rules{MinText: minValue}
	for _, rls := range all {
		rules.Kept = append(rules.Kept, rls.Name, rls.Namespace)
	}
	return rules.Redactor(func() []string {
		var values []string
		for _, rls := range all {
			values = append(values, secretsOf(rls, func(text string) bool { return strings.Contains(text, "Secret") }).Values...)
		}
		return values
	})
}
