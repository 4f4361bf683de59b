// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// ServerSide and ClientSide are the apply methods that Helm 4 stores with a revision. Helm 3
// stores none, which means client-side.
const (
	ServerSide = "ssa"
	ClientSide = "csa"
)

// recordBody is the JSON of a stored revision as Pintle reads it. Most of the JSON is the chart,
// of which only the metadata is parsed. Info and hooks stay raw, because Helm 3 and
// helm-controller parse them differently.
type recordBody struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Version   int             `json:"version"`
	Info      json.RawMessage `json:"info"`
	Chart     *struct {
		Metadata *helmchart.Metadata `json:"metadata"`
	} `json:"chart"`
	Config   map[string]any  `json:"config"`
	Manifest string          `json:"manifest"`
	Hooks    json.RawMessage `json:"hooks"`
	// ApplyMethod is a field of Helm 4.
	ApplyMethod applyMethod `json:"apply_method"`
}

// applyMethod is the raw apply method of a record. Other values than strings are ignored.
type applyMethod struct{ json.RawMessage }

// String returns the apply method, empty if the record has none.
func (m applyMethod) String() string {
	var method string
	_ = json.Unmarshal(orNull(m.RawMessage), &method)
	return method
}

var errNotRelease = errors.New("its JSON is not that of a Helm release")

func parseRecord(raw []byte) (*recordBody, error) {
	var r recordBody
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, errNotRelease
	}
	return &r, nil
}

// release returns the record as Helm reads it, without the files of the chart.
func (r *recordBody) release(labels map[string]string) (*helmrelease.Release, error) {
	rls := &helmrelease.Release{
		Name: r.Name, Namespace: r.Namespace, Version: r.Version,
		Config: r.Config, Manifest: r.Manifest, Labels: labels,
	}
	if r.Chart != nil {
		rls.Chart = &helmchart.Chart{Metadata: r.Chart.Metadata}
	}
	if json.Unmarshal(orNull(r.Info), &rls.Info) != nil || json.Unmarshal(orNull(r.Hooks), &rls.Hooks) != nil || !usable(rls) {
		return nil, errNotRelease
	}
	return rls, nil
}

// usable reports whether a release has the fields without which Helm panics.
func usable(rls *helmrelease.Release) bool {
	for _, h := range rls.Hooks {
		if h == nil {
			return false
		}
	}
	return rls.Name != "" && rls.Version > 0 && rls.Info != nil
}

func orNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// decode returns a record in full, and its fields that Helm 3 does not know.
func decode(raw []byte) (*helmrelease.Release, unknownFields, error) {
	rls := &helmrelease.Release{}
	if json.Unmarshal(raw, rls) != nil || !usable(rls) {
		return nil, unknownFields{}, errNotRelease
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil, unknownFields{}, errNotRelease
	}
	var info map[string]json.RawMessage
	if json.Unmarshal(orNull(all["info"]), &info) != nil {
		return nil, unknownFields{}, errNotRelease
	}
	return rls, unknownFields{top: unknownMembers[helmrelease.Release](all), info: unknownMembers[helmrelease.Info](info)}, nil
}

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
	var chart json.RawMessage
	if rls.Chart != nil {
		if chart, err = encoded.of(rls); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(struct {
		Name      string              `json:"name"`
		Info      json.RawMessage     `json:"info"`
		Chart     json.RawMessage     `json:"chart,omitempty"`
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

// of returns the encoding of the chart of a release.
func (c *RawChart) of(rls *helmrelease.Release) ([]byte, error) {
	if c.is(rls) {
		return c.JSON, nil
	}
	return json.Marshal(rls.Chart)
}

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
	small := struct {
		Name      string              `json:"name"`
		Namespace string              `json:"namespace"`
		Version   int                 `json:"version"`
		Info      *helmrelease.Info   `json:"info"`
		Chart     map[string]any      `json:"chart,omitempty"`
		Config    map[string]any      `json:"config,omitempty"`
		Manifest  string              `json:"manifest"`
		Hooks     []*helmrelease.Hook `json:"hooks,omitempty"`
	}{Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version, Info: rls.Info, Config: rls.Config, Hooks: rls.Hooks}
	if rls.Chart != nil {
		small.Chart = map[string]any{"metadata": rls.Chart.Metadata}
	}
	// JSON changes a manifest only if it is not valid UTF-8.
	plain := utf8.ValidString(rls.Manifest)
	if !plain {
		small.Manifest = rls.Manifest
	}
	raw, err := json.Marshal(small)
	if err != nil {
		return nil, err
	}
	rec, err := parseRecord(raw)
	if err != nil {
		return nil, err
	}
	if plain {
		rec.Manifest = rls.Manifest
	}
	return rec.release(labels)
}

// unknownFields are the fields of a record that Helm 3 does not know. Helm 3 would drop them
// when it stores the record again.
type unknownFields struct{ top, info map[string]json.RawMessage }

const keyApplyMethod = "apply_method"

// applyMethodField returns the field of a new record with its apply method, if there is one.
func applyMethodField(method string) unknownFields {
	if method == "" {
		return unknownFields{}
	}
	return unknownFields{top: map[string]json.RawMessage{keyApplyMethod: []byte(strconv.Quote(method))}}
}

// applyMethod returns the apply method, empty if the record has none.
func (k unknownFields) applyMethod() string {
	return applyMethod{k.top[keyApplyMethod]}.String()
}

// unknownMembers returns the members of a JSON object that T has no field for.
func unknownMembers[T any](object map[string]json.RawMessage) map[string]json.RawMessage {
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		delete(object, name)
	}
	return object
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
