// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// Content is what the approved action needs. Its digest is the digest of the plan.
type Content struct {
	Action v1alpha1.PlanAction `json:"action"`
	// Inputs, Base and Changes are parts of the digest: the digest of the inputs, the number of the
	// base revision, and the digest of the changes.
	Inputs  string `json:"inputs"`
	Base    int    `json:"base"`
	Changes string `json:"changes"`
	// Text is the rendered chart; nil for an uninstall.
	Text *Text `json:"text,omitempty"`
}

// Text is a rendered chart with the content of its revision.
type Text struct {
	Manifest string              `json:"manifest"`
	Notes    string              `json:"notes,omitempty"`
	Hooks    []*helmrelease.Hook `json:"hooks,omitempty"`
	// Values are the values of the revision.
	Values map[string]any `json:"values,omitempty"`
	// Metadata is the metadata of Chart, which is the chart as Helm stores it.
	Metadata *helmchart.Metadata `json:"metadata,omitempty"`
	Chart    json.RawMessage     `json:"chart,omitempty"`
	// CRDs are the files in the crds folders of the chart.
	CRDs []CRD `json:"crds,omitempty"`
}

// CRD is a file in a crds folder.
type CRD struct {
	Name     string `json:"name"`
	Filename string `json:"filename"`
	Data     []byte `json:"data"`
}

// TextOf returns the content of a rendered chart with its values and CRDs.
func TextOf(rendered *remote.Rendered, values map[string]any, files []helmchart.CRD) *Text {
	t := &Text{
		Manifest: rendered.Manifest, Notes: rendered.Notes, Hooks: rendered.Hooks, Values: values, Metadata: rendered.Metadata, Chart: rendered.Chart,
	}
	for _, f := range files {
		t.CRDs = append(t.CRDs, CRD{Name: f.Name, Filename: f.Filename, Data: f.File.Data})
	}
	return t
}

// Rendered returns the rendered chart.
func (t *Text) Rendered() *remote.Rendered {
	return &remote.Rendered{Manifest: t.Manifest, Notes: t.Notes, Hooks: t.Hooks, Metadata: t.Metadata, Chart: t.Chart}
}

// Files returns the files in the crds folders of the chart.
func (t *Text) Files() []helmchart.CRD {
	var all []helmchart.CRD
	for _, c := range t.CRDs {
		all = append(all, helmchart.CRD{Name: c.Name, Filename: c.Filename, File: &helmchart.File{Name: c.Name, Data: c.Data}})
	}
	return all
}

// Digest returns the digest of the texts that are applied: manifest, hooks and CRDs. Notes are not
// applied, and chart and values are parts of the inputs.
func (t *Text) Digest() string {
	if t == nil {
		return ""
	}
	hooks := make([][]string, 0, len(t.Hooks))
	for _, h := range t.Hooks {
		hook := []string{h.Kind, h.Name, h.Path, h.Manifest, strconv.Itoa(h.Weight)}
		for _, e := range h.Events {
			hook = append(hook, "event "+e.String())
		}
		for _, p := range h.DeletePolicies {
			hook = append(hook, "delete "+p.String())
		}
		hooks = append(hooks, hook)
	}
	return plan.DigestOf([]any{t.Manifest, hooks, t.CRDs})
}

// Digest returns the digest of the plan.
func (c *Content) Digest() string { return plan.Digest(c.Inputs, c.Base, c.Text.Digest(), c.Changes) }

// encode returns the content in compressed form.
func (c *Content) encode() ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(raw)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// maxUnpacked is the largest size of a decompressed content.
const maxUnpacked = 64 << 20

// decode returns the content in compressed form. Its errors quote nothing of it.
func decode(data []byte) (*Content, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, errors.New("its data cannot be decompressed")
	}
	if len(raw) > maxUnpacked {
		return nil, fmt.Errorf("it decompresses to more than %d bytes", maxUnpacked)
	}
	c := &Content{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, errors.New("its data is no plan")
	}
	if c.Text == nil {
		return c, nil
	}
	// Whole numbers stay whole.
	var numbers struct {
		Text struct {
			Values json.RawMessage `json:"values"`
		} `json:"text"`
	}
	if err := json.Unmarshal(raw, &numbers); err != nil || len(numbers.Text.Values) == 0 {
		return c, nil //nolint:nilerr // it was decoded before
	}
	c.Text.Values = nil
	if err := utiljson.Unmarshal(numbers.Text.Values, &c.Text.Values); err != nil {
		return nil, errors.New("its values cannot be read")
	}
	return c, nil
}
