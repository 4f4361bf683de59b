// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// encode returns the JSON of a record, with the preserved fields. The chart is not encoded again if it
// is that of encoded.
func encode(rls *helmrelease.Release, kept unknownFields, encoded *RawChart) ([]byte, error) {
	info, err := json.Marshal(rls.Info)
	if err != nil {
		return nil, err
	}
	if info, err = extend(info, kept.info); err != nil {
		return nil, err
	}
	var chart any
	switch {
	case encoded.is(rls):
		chart = json.RawMessage(encoded.JSON)
	case rls.Chart != nil:
		chart = rls.Chart
	}
	raw, err := json.Marshal(struct {
		Name      string              `json:"name"`
		Info      json.RawMessage     `json:"info"`
		Chart     any                 `json:"chart,omitempty"`
		Config    map[string]any      `json:"config,omitempty"`
		Manifest  string              `json:"manifest,omitempty"`
		Hooks     []*helmrelease.Hook `json:"hooks,omitempty"`
		Version   int                 `json:"version"`
		Namespace string              `json:"namespace,omitempty"`
	}{rls.Name, info, chart, rls.Config, rls.Manifest, rls.Hooks, rls.Version, rls.Namespace})
	if err != nil {
		return nil, err
	}
	return extend(raw, kept.top)
}

// RawChart is a chart that was encoded before.
type RawChart struct {
	// Chart has the metadata only. JSON is the encoding of the whole chart.
	Chart *helmchart.Chart
	JSON  []byte
}

// is reports whether the chart is that of a release.
func (c *RawChart) is(rls *helmrelease.Release) bool { return c != nil && c.Chart == rls.Chart }

// whole returns the release with its whole chart.
func (c *RawChart) whole(rls *helmrelease.Release) (*helmrelease.Release, error) {
	if !c.is(rls) {
		return rls, nil
	}
	with := *rls
	with.Chart = &helmchart.Chart{}
	return &with, json.Unmarshal(c.JSON, with.Chart)
}

// asRead returns a release as it is read after it was stored, without the files of the chart:
// numbers and times may change.
func asRead(rls *helmrelease.Release, labels map[string]string) (*helmrelease.Release, error) {
	small := *rls
	if rls.Chart != nil {
		small.Chart = &helmchart.Chart{Metadata: rls.Chart.Metadata}
	}
	// JSON changes a manifest only if it is not valid UTF-8.
	plain := utf8.ValidString(rls.Manifest)
	if plain {
		small.Manifest = ""
	}
	raw, err := encode(&small, unknownFields{}, nil)
	if err != nil {
		return nil, err
	}
	_, read, err := parseRecord(raw, labels)
	if err == nil && plain {
		read.Manifest = rls.Manifest
	}
	return read, err
}

// applyMethodField returns the field of a new record with its apply method, if there is one.
func applyMethodField(method string) unknownFields {
	if method == "" {
		return unknownFields{}
	}
	return unknownFields{top: map[string]json.RawMessage{keyApplyMethod: []byte(strconv.Quote(method))}}
}

// extend adds members to a JSON object. The object must have none of them.
func extend(object []byte, members map[string]json.RawMessage) ([]byte, error) {
	if len(members) == 0 {
		return object, nil
	}
	more, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(object, []byte("{}")) {
		return more, nil
	}
	return append(append(object[:len(object)-1], ','), more[1:]...), nil
}
