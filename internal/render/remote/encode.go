// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// Request is a request as the worker receives it.
type Request struct {
	Rendering

	// Kube is the version of the API server. APIVersions are its APIs, and set only if they were
	// sent. So is the archive.
	Kube        chartutil.KubeVersion
	APIVersions chartutil.VersionSet `json:"-"`
}

// The sections of a request.
const (
	sectionHeader = iota
	sectionArchive
	sectionAPIs
	sectionValues
	sectionDefaults
	requestSections
)

// alwaysSent is the size of an archive up to which it is sent in each request.
const alwaysSent = 32 << 10

// encodeRequest encodes a request. Unless all is set, it contains no data that the worker may have
// cached.
func encodeRequest(r Rendering, all bool) ([]byte, error) {
	sections := make([][]byte, requestSections)
	full := Request{Rendering: r}
	if all || len(r.Archive) <= alwaysSent {
		sections[sectionArchive] = r.Archive
	}
	if r.Capabilities != nil {
		full.Kube = r.Capabilities.KubeVersion
		if all {
			sections[sectionAPIs] = []byte(strings.Join(r.Capabilities.APIVersions, "\n"))
		}
	}
	var err error
	if sections[sectionHeader], err = json.Marshal(full); err != nil {
		return nil, err
	}
	if sections[sectionValues], err = encodeMap(r.Values); err != nil {
		return nil, err
	}
	if sections[sectionDefaults], err = encodeMap(r.Defaults); err != nil {
		return nil, err
	}
	return encodeSections(sections...), nil
}

// DecodeRequest returns the request of a call. Its archive shares the memory of message.
func DecodeRequest(message []byte) (*Request, error) {
	sections, err := decodeSections(message, requestSections)
	if err != nil {
		return nil, err
	}
	r := &Request{}
	if err := json.Unmarshal(sections[sectionHeader], r); err != nil {
		return nil, err
	}
	r.Archive = sections[sectionArchive]
	if len(sections[sectionAPIs]) > 0 {
		r.APIVersions = strings.Split(string(sections[sectionAPIs]), "\n")
	}
	if r.Values, err = decodeMap(sections[sectionValues]); err != nil {
		return nil, err
	}
	r.Defaults, err = decodeMap(sections[sectionDefaults])
	return r, err
}

// state is the first section of each response.
type state struct {
	// Unknown is true if the worker has not cached data of the request.
	Unknown bool `json:",omitempty"`
	// Unloadable is the reason why the archive is not a chart.
	Unloadable string `json:",omitempty"`
}

// response is the second section of a response.
type response struct {
	Facts    *Facts              `json:",omitempty"`
	Unpacked int                 `json:",omitempty"`
	Files    []file              `json:",omitempty"`
	Metadata *helmchart.Metadata `json:",omitempty"`
	Hooks    []*helmrelease.Hook `json:",omitempty"`
	Failed   string              `json:",omitempty"`
}

// file is a file of CRDs. Its content is a section.
type file struct{ Name, Filename string }

// EncodeUnknown returns the response for a request whose data the worker has not cached.
func EncodeUnknown() ([]byte, error) { return encodeResponse(state{Unknown: true}, response{}) }

// EncodeUnloadable returns the response for an archive that is not a chart.
func EncodeUnloadable(err error) ([]byte, error) {
	return encodeResponse(state{Unloadable: err.Error()}, response{})
}

func encodeResponse(s state, r response, more ...[]byte) ([]byte, error) {
	first, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return encodeSections(append([][]byte{first, second}, more...)...), nil
}

// EncodeFacts encodes the result of FunctionIdentify.
func EncodeFacts(f Facts) ([]byte, error) { return encodeResponse(state{}, response{Facts: &f}) }

// EncodeCRDs encodes the result of FunctionCRDs.
func EncodeCRDs(c CRDs) ([]byte, error) {
	r := response{Unpacked: c.Unpacked}
	contents := make([][]byte, len(c.Files))
	for i, f := range c.Files {
		r.Files = append(r.Files, file{f.Name, f.Filename})
		contents[i] = f.File.Data
	}
	return encodeResponse(state{}, r, contents...)
}

func decodeCRDs(r response, contents [][]byte) (CRDs, error) {
	c := CRDs{Unpacked: r.Unpacked}
	if len(contents) != len(r.Files) {
		return c, fmt.Errorf("%w: %d files have %d contents", errMessage, len(r.Files), len(contents))
	}
	for i, f := range r.Files {
		c.Files = append(c.Files, helmchart.CRD{Name: f.Name, Filename: f.Filename, File: &helmchart.File{Name: f.Name, Data: contents[i]}})
	}
	return c, nil
}

// The sections of a rendered chart after those of each response. The manifests of hooks follow.
const (
	sectionManifest = iota
	sectionNotes
	sectionChart
	renderedSections
)

// EncodeRendered encodes the result of FunctionRender.
func EncodeRendered(r *Rendered) ([]byte, error) {
	sections := [][]byte{[]byte(r.Manifest), []byte(r.Notes), r.Chart}
	hooks := make([]*helmrelease.Hook, len(r.Hooks))
	for i, h := range r.Hooks {
		without := *h
		without.Manifest = ""
		hooks[i] = &without
		sections = append(sections, []byte(h.Manifest))
	}
	return encodeResponse(state{}, response{Metadata: r.Metadata, Hooks: hooks, Failed: r.Failed}, sections...)
}

func decodeRendered(r response, sections [][]byte) (*Rendered, error) {
	if len(sections) != renderedSections+len(r.Hooks) {
		return nil, fmt.Errorf("%w: a rendered chart with %d hooks has %d sections", errMessage, len(r.Hooks), len(sections))
	}
	for i, h := range r.Hooks {
		if h == nil {
			return nil, fmt.Errorf("%w: a hook is missing", errMessage)
		}
		h.Manifest = string(sections[renderedSections+i])
	}
	rendered := &Rendered{
		Manifest: string(sections[sectionManifest]), Notes: string(sections[sectionNotes]), Chart: sections[sectionChart],
		Metadata: r.Metadata, Hooks: r.Hooks, Failed: r.Failed,
	}
	return rendered, CheckBudget(rendered)
}

// EncodeGet encodes a request for FunctionGet.
func EncodeGet(g Get) ([]byte, error) {
	raw, err := json.Marshal(g)
	return encodeSections(raw), err
}

func decodeGet(message []byte) (g Get, err error) {
	sections, err := decodeSections(message, 1)
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(sections[0], &g)
}

func encodeAnswer(a Answer) ([]byte, error) {
	raw, err := json.Marshal(a)
	return encodeSections(raw, a.Body), err
}

// DecodeAnswer decodes the result of FunctionGet.
func DecodeAnswer(message []byte) (a Answer, err error) {
	sections, err := decodeSections(message, 2)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(sections[0], &a); err != nil {
		return a, err
	}
	a.Body = sections[1]
	return a, nil
}
