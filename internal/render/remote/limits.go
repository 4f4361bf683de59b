// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// Limits of text that passes between a worker and its caller.
const (
	// maxRendered limits the bytes of a manifest with the notes and hooks.
	maxRendered = 32 << 20
	// maxChart limits the bytes of a stored chart, whose files are encoded in base64.
	maxChart = 256 << 20
	// maxFiles limits the number of hooks, and of files with CRDs.
	maxFiles = 100_000
)

// MaxAnswer limits the bytes of an answer to a lookup.
const MaxAnswer = 64 << 20

// maxBody limits the body of an answer, whose header takes the rest.
const maxBody = MaxAnswer - 64<<10

// CheckBudget returns an error if a rendered chart exceeds a limit. The worker calls it before it
// sends the result, and the caller when it has received the result.
func CheckBudget(r *Rendered) error {
	size := len(r.Manifest) + len(r.Notes)
	texts := []string{r.Manifest}
	for _, h := range r.Hooks {
		size += len(h.Manifest)
		texts = append(texts, h.Manifest)
	}
	if size > maxRendered {
		return fmt.Errorf("the chart renders more than %d bytes", maxRendered)
	}
	if len(r.Chart) > maxChart {
		return fmt.Errorf("the record of the chart would have more than %d bytes", maxChart)
	}
	for _, text := range texts {
		if err := checkDocuments(text); err != nil {
			return fmt.Errorf("what the chart renders: %w", err)
		}
	}
	return nil
}

// checkDocuments returns an error if a document is too large once its aliases are expanded.
func checkDocuments(text string) error {
	if !bounded.MayRepeat([]byte(text)) {
		return nil
	}
	for _, document := range releaseutil.SplitManifests(text) {
		if err := bounded.Manifest().Check([]byte(document)); err != nil {
			return err
		}
	}
	return nil
}
