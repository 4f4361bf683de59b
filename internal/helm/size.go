// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
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

// A record grows until its action has ended: each hook gets two times and a phase,
// and Info a description of at most briefDescription bytes where there is no room
// for more. The rest is for what encoding makes of that.
const (
	recordRoom  = 8 << 10
	roomPerHook = 128

	// briefDescription is what is left of the description of a revision whose record
	// would be too large with all of it.
	briefDescription = 1 << 10
)

// roomFor returns how many bytes of a Secret have to stay free when a revision is
// begun, so that whatever comes of it can be recorded. A rollback only has to fit:
// what it returns to was recorded already, and there may be no other way back.
func roomFor(rls *helmrelease.Release) int {
	if rls.Info.Status == helmrelease.StatusPendingRollback {
		return 0
	}
	return recordRoom + roomPerHook*len(rls.Hooks)
}

// limitRecord makes the job refuse a new revision that storage could not hold, before
// anything is written.
func (r *run) limitRecord() {
	r.gate.weigh = func(key string, rls *helmrelease.Release) error {
		bytes, err := r.store.stage(key, rls)
		if err != nil {
			return err
		}
		return r.weighed(rls, bytes)
	}
}

// weighed takes note of what the record of a new revision takes, and refuses what is
// too much. What makes it large is found out only if somebody is going to be told.
func (r *run) weighed(rls *helmrelease.Release, bytes int) error {
	size := &release.RecordSize{Bytes: bytes, Limit: corev1.MaxSecretSize, Reserved: roomFor(rls)}
	if !size.NearlyTooLarge() && !size.TooLarge() {
		return nil
	}
	var err error
	if size.Parts, err = r.store.packer.parts(rls, bytes); err != nil {
		return err
	}
	r.size = size
	if size.TooLarge() {
		return fmt.Errorf("nothing was changed: the record of the revision would take %d bytes, compressed, and may take %d when the action begins",
			size.Bytes, size.Limit-size.Reserved)
	}
	return nil
}

// parts returns what a record consists of whose data are so many bytes. Each part is
// compressed on its own, as it is stored, and gets its share of the whole.
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
		first, err := p.press(raw, flate.BestCompression)
		if err != nil {
			return nil, err
		}
		sum += len(first.deflated)
		all = append(all, release.RecordPart{Kind: part.kind, Bytes: len(first.deflated), Largest: part.largest})
	}
	left := bytes
	for i := range all {
		all[i].Bytes = all[i].Bytes * bytes / max(sum, 1)
		left -= all[i].Bytes
	}
	slices.SortStableFunc(all, func(a, b release.RecordPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	if len(all) > 0 {
		// What rounding has left out.
		all[0].Bytes += left
	}
	return all, nil
}

// content is one part of a record.
type content struct {
	kind    release.RecordPartKind
	content any
	largest string
}

func contents(rls *helmrelease.Release) []content {
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
	rendered, rest := definitionsIn(rls.Manifest)
	return []content{
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

// definitionsIn divides a manifest into the definitions in it and all else.
func definitionsIn(manifest string) (definitions []string, rest string) {
	const kind = "\nkind: " + crdKind
	if !strings.Contains("\n"+manifest, kind) {
		return nil, manifest
	}
	var others []string
	documents := releaseutil.SplitManifests(manifest)
	for _, key := range slices.Sorted(maps.Keys(documents)) {
		if text := documents[key]; strings.Contains("\n"+text, kind) {
			definitions = append(definitions, text)
		} else {
			others = append(others, text)
		}
	}
	return definitions, strings.Join(others, "\n---\n")
}

// largest names the file with the most bytes, for people to read.
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
