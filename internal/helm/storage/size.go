// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

// A record grows until its action has ended: each hook gets two times and a phase, and the info
// a description, which is cut to briefDescription bytes if necessary. The rest of the room is
// for the encoding of both.
const (
	recordRoom  = 8 << 10
	roomPerHook = 128

	// briefDescription is the length to which the description of a revision is cut if its
	// record is too large with all of it.
	briefDescription = 1 << 10
)

// roomFor returns the number of bytes of a Secret that must be free when a revision is created,
// so that its result can be recorded. A rollback needs none: its content was recorded before,
// and there may be no other way back.
func roomFor(rls *helmrelease.Release) int {
	if rls.Info.Status == helmrelease.StatusPendingRollback {
		return 0
	}
	return recordRoom + roomPerHook*len(rls.Hooks)
}

// measure returns the size of the record of a new revision. It computes the parts only for a
// size that is reported.
func (p *packer) measure(rls *helmrelease.Release, chart *RawChart, bytes int) (*release.RecordSize, error) {
	size := &release.RecordSize{Bytes: bytes, Limit: corev1.MaxSecretSize, Reserved: roomFor(rls)}
	if !size.NearlyTooLarge() && !size.TooLarge() {
		return size, nil
	}
	whole, err := chart.whole(rls)
	if err != nil {
		return nil, err
	}
	if size.Parts, err = p.parts(whole, bytes); err != nil {
		return nil, err
	}
	return size, nil
}

// parts returns the parts of a record of the given size. Each part is compressed alone, and its
// share of the sum is its share of the size.
func (p *packer) parts(rls *helmrelease.Release, bytes int) ([]release.RecordPart, error) {
	all, sum := []release.RecordPart{}, 0
	for _, part := range contents(rls) {
		raw, err := json.Marshal(part.content)
		if err != nil {
			return nil, err
		}
		if len(raw) <= len("null") {
			continue
		}
		alone, err := p.compress(raw, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		sum += len(alone)
		all = append(all, release.RecordPart{Kind: part.kind, Bytes: len(alone), Largest: part.largest})
	}
	left := bytes
	for i := range all {
		all[i].Bytes = all[i].Bytes * bytes / max(sum, 1)
		left -= all[i].Bytes
	}
	slices.SortStableFunc(all, func(a, b release.RecordPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	if len(all) > 0 {
		// The remainder of rounding.
		all[0].Bytes += left
	}
	return all, nil
}

// part is one part of a record.
type part struct {
	kind    release.RecordPartKind
	content any
	largest string
}

func contents(rls *helmrelease.Release) []part {
	c := rls.Chart
	if c == nil {
		c = &helmchart.Chart{}
	}
	var crds, files []*helmchart.File
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, "crds/") {
			crds = append(crds, f)
		} else {
			files = append(files, f)
		}
	}
	rendered, rest := splitCRDs(rls.Manifest)
	return []part{
		{release.PartTemplates, c.Templates, largest(c.Templates)},
		{release.PartCRDs, crds, largest(crds)},
		{release.PartFiles, files, largest(files)},
		{release.PartDefaults, struct {
			Values map[string]any `json:"values,omitempty"`
			Schema []byte         `json:"schema,omitempty"`
		}{c.Values, c.Schema}, ""},
		{release.PartValues, rls.Config, ""},
		{release.PartRenderedCRDs, rendered, ""},
		{release.PartManifest, struct {
			Manifest string              `json:"manifest,omitempty"`
			Hooks    []*helmrelease.Hook `json:"hooks,omitempty"`
		}{rest, rls.Hooks}, ""},
		{release.PartRest, struct {
			Metadata *helmchart.Metadata `json:"metadata"`
			Lock     *helmchart.Lock     `json:"lock"`
			Info     *helmrelease.Info   `json:"info"`
		}{c.Metadata, c.Lock, rls.Info}, ""},
	}
}

// splitCRDs splits a manifest into its CRDs and the rest.
func splitCRDs(manifest string) (crds []string, rest string) {
	const kind = "\nkind: CustomResourceDefinition"
	if !strings.Contains("\n"+manifest, kind) {
		return nil, manifest
	}
	var others []string
	documents := releaseutil.SplitManifests(manifest)
	for _, key := range slices.Sorted(maps.Keys(documents)) {
		if text := documents[key]; strings.Contains("\n"+text, kind) {
			crds = append(crds, text)
		} else {
			others = append(others, text)
		}
	}
	return crds, strings.Join(others, "\n---\n")
}

// largest returns the name of the largest file, shortened and printable.
func largest(files []*helmchart.File) string {
	if len(files) == 0 {
		return ""
	}
	most := slices.MaxFunc(files, func(a, b *helmchart.File) int { return cmp.Compare(len(a.Data), len(b.Data)) })
	name := []rune(strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, most.Name))
	const enough = 100
	if len(name) > enough {
		return string(name[:enough]) + "..."
	}
	return string(name)
}
