// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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

// record is the JSON of a stored revision as far as others than Helm read it.
// Most of the JSON is the chart, of which only the metadata is looked at. Info
// and hooks stay as they are, for Helm 3 and the reference read them differently.
type record struct {
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
	// ApplyMethod is not Helm 3's.
	ApplyMethod applyMethod `json:"apply_method"`
}

// applyMethod is how a record says that objects were applied. What is no string
// says nothing.
type applyMethod struct{ json.RawMessage }

// String returns "ssa" or "csa", empty if the record does not say.
func (m applyMethod) String() string {
	var method string
	_ = json.Unmarshal(orNull(m.RawMessage), &method)
	return method
}

var errNotRelease = errors.New("its JSON is not that of a Helm release")

func parseRecord(raw []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, errNotRelease
	}
	return &r, nil
}

// release returns the record as Helm reads it, but for the files of the chart.
func (r *record) release(labels map[string]string) (*helmrelease.Release, error) {
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

// usable reports whether Helm can work with a release that was read: it takes
// for granted that these are there, and panics.
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

// decode returns a record in full, and what it holds that Helm 3 does not know.
func decode(raw []byte) (*helmrelease.Release, keepsake, error) {
	rls := &helmrelease.Release{}
	if json.Unmarshal(raw, rls) != nil || !usable(rls) {
		return nil, keepsake{}, errNotRelease
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil, keepsake{}, errNotRelease
	}
	var info map[string]json.RawMessage
	if json.Unmarshal(orNull(all["info"]), &info) != nil {
		return nil, keepsake{}, errNotRelease
	}
	return rls, keepsake{top: unknown[helmrelease.Release](all), info: unknown[helmrelease.Info](info)}, nil
}

// encodeFixed returns the JSON of what a revision is made of, together with what
// was kept. It is an object that encodeMoving ends.
func encodeFixed(rls *helmrelease.Release, kept keepsake) ([]byte, error) {
	raw, err := json.Marshal(struct {
		Name      string           `json:"name,omitempty"`
		Chart     *helmchart.Chart `json:"chart,omitempty"`
		Config    map[string]any   `json:"config,omitempty"`
		Manifest  string           `json:"manifest,omitempty"`
		Version   int              `json:"version,omitempty"`
		Namespace string           `json:"namespace,omitempty"`
	}{rls.Name, rls.Chart, rls.Config, rls.Manifest, rls.Version, rls.Namespace})
	if err != nil {
		return nil, err
	}
	if raw, err = extend(raw, kept.top); err != nil {
		return nil, err
	}
	return raw[:len(raw)-1], nil
}

// movingPart is what encodeMoving's part begins with.
const movingPart = `,"info":`

// encodeMoving returns the rest of the JSON: the state of a revision.
func encodeMoving(rls *helmrelease.Release, kept keepsake) ([]byte, error) {
	info, err := json.Marshal(rls.Info)
	if err != nil {
		return nil, err
	}
	if info, err = extend(info, kept.info); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(struct {
		Info  json.RawMessage     `json:"info,omitempty"`
		Hooks []*helmrelease.Hook `json:"hooks,omitempty"`
	}{info, rls.Hooks})
	if err != nil {
		return nil, err
	}
	raw[0] = ','
	return raw, nil
}

// asRead returns a release as it is read once it was stored, but for the files of
// the chart: numbers and times may look different then.
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
	// Only what is no text comes back otherwise.
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

// keepsake is what a record holds beyond what Helm 3 knows. Newer Helms write
// and read it, and Helm 3 would drop it when it writes the record again.
type keepsake struct{ top, info map[string]json.RawMessage }

const keyApplyMethod = "apply_method"

// methodKept is what a new record holds that says how its objects are applied; nothing
// if that is not known.
func methodKept(method string) keepsake {
	if method == "" {
		return keepsake{}
	}
	return keepsake{top: map[string]json.RawMessage{keyApplyMethod: []byte(strconv.Quote(method))}}
}

// applyMethod returns "ssa" or "csa", empty if the record does not say.
func (k keepsake) applyMethod() string {
	return applyMethod{k.top[keyApplyMethod]}.String()
}

// unknown returns the members of a JSON object that T has no field for.
func unknown[T any](object map[string]json.RawMessage) map[string]json.RawMessage {
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		delete(object, name)
	}
	return object
}

// extend adds members to a JSON object, which must have none of them yet.
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
