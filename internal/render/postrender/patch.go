// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// patchSteps compiles one entry of patches. The result is one step, or one for each object that the
// patch names. The regular expressions of its target count toward patterns.
func patchSteps(field string, p helmv2.Patch, patterns *bounded.Patterns) ([]*step, error) {
	var target selector
	if p.Target != nil {
		var err error
		if target, err = newByTarget(*p.Target, patterns); err != nil {
			return nil, err
		}
	}
	contents, err := patchContents(p.Patch)
	if err != nil {
		return nil, err
	}
	if operations, ok := contents[0].([]any); ok {
		change, err := newOperations(operations)
		if err == nil && len(contents) > 1 {
			err = errors.New("operations have to be one document")
		}
		if err == nil && target == nil {
			err = errors.New("operations need a target")
		}
		return []*step{{field: field, selects: target, change: change}}, err
	}
	loadSchema()
	patches, err := mergePatches(contents)
	if err != nil {
		return nil, err
	}
	if target != nil {
		if len(patches) > 1 {
			return nil, errors.New("a patch with a target has to be one object")
		}
		return []*step{{field: field, selects: target, change: merge{patches[0].fields}}}, nil
	}
	var steps []*step
	for _, o := range patches {
		if o.kind == "" || o.name() == "" {
			return nil, errors.New("a patch without a target has to name an object by apiVersion, kind and metadata.name")
		}
		steps = append(steps, &step{field: field, selects: byName{o}, change: merge{o.fields}, named: true})
	}
	return steps, nil
}

// patchContents returns the decoded documents of a patch, at least one.
func patchContents(patch string) ([]any, error) {
	var contents []any
	for _, d := range split(patch) {
		v, err := decodeYAML(d.text, bounded.Values())
		if err != nil {
			if errors.As(err, new(*bounded.Error)) {
				return nil, fmt.Errorf("the patch: %w", err)
			}
			return nil, fmt.Errorf("the patch is not YAML: %w", err)
		}
		if v != nil {
			contents = append(contents, v)
		}
	}
	if len(contents) == 0 {
		return nil, errors.New("the patch is empty")
	}
	return contents, nil
}

// mergePatches returns the objects of a strategic merge patch.
func mergePatches(contents []any) ([]*object, error) {
	var all []*object
	for _, content := range contents {
		fields, ok := content.(map[string]any)
		if !ok {
			return nil, errors.New("the patch is neither an object nor a list of operations")
		}
		all = append(all, newObject(fields, "", "").leaves()...)
	}
	return all, nil
}

// operations is a JSON patch (RFC 6902).
type operations struct{ jsonpatch.Patch }

func newOperations(list []any) (operations, error) {
	raw, err := json.Marshal(list)
	if err != nil {
		return operations{}, err
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return operations{}, errors.New("operations have to be maps")
	}
	for i, o := range patch {
		if !slices.Contains([]string{"add", "remove", "replace", "move", "copy", "test"}, o.Kind()) {
			return operations{}, fmt.Errorf("operation %d: op has to be add, remove, replace, move, copy or test", i)
		}
		if _, err := o.Path(); err != nil {
			return operations{}, fmt.Errorf("operation %d: path is missing", i)
		}
	}
	return operations{patch}, nil
}

func (p operations) apply(o *object) error {
	raw, err := json.Marshal(o.fields)
	if err != nil {
		return err
	}
	if raw, err = p.applyTo(raw); err != nil {
		return err
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return errors.New("the result is not an object")
	}
	o.replace(fields)
	return nil
}

// maxPatchedBytes limits the size of an object during a patch. It is ten times the limit of the API
// server.
const maxPatchedBytes = 16 << 20

// applyTo applies a patch to JSON. If an operation copies, it checks the size before each copy, which
// may double it: forty copies can make a terabyte of a byte. Applying an operation takes several
// times the size of its result.
func (p operations) applyTo(raw []byte) ([]byte, error) {
	if !slices.ContainsFunc(p.Patch, func(o jsonpatch.Operation) bool { return o.Kind() == "copy" }) {
		return p.Apply(raw)
	}
	for i, o := range p.Patch {
		if o.Kind() == "copy" && len(raw) > maxPatchedBytes/2 {
			return nil, fmt.Errorf("operation %d may make an object of more than %d bytes", i, maxPatchedBytes)
		}
		var err error
		if raw, err = p.Patch[i : i+1].Apply(raw); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// merge is a strategic merge patch.
type merge struct{ fields map[string]any }

func (p merge) apply(o *object) error {
	merged, err := patchstrategicmerge.Filter{Patch: kyaml.NewRNode(toNode(p.forObject(o)))}.
		Filter([]*kyaml.RNode{kyaml.NewRNode(toNode(o.fields))})
	if err != nil {
		return brief(err)
	}
	if len(merged) == 0 || merged[0].IsNilOrEmpty() {
		o.removed = true
		return nil
	}
	v, err := fromNode(merged[0].YNode())
	if err != nil {
		return err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return errors.New("the result is not an object")
	}
	if err := keepIdentity(o, fields); err != nil {
		return err
	}
	o.replace(fields)
	return nil
}

// keepIdentity restores name and namespace after a patch that replaces or clears metadata.
func keepIdentity(o *object, fields map[string]any) error {
	metadata, err := child(fields, "metadata")
	if err != nil {
		return err
	}
	for _, field := range []string{"name", "generateName", "namespace"} {
		if value, ok := o.metadata()[field]; ok {
			metadata[field] = value
		}
	}
	if len(metadata) > 0 {
		fields["metadata"] = metadata
	}
	return nil
}

// forObject returns the patch with the identity of an object, which a patch cannot change. With a
// target, the identity in the patch is a placeholder.
func (p merge) forObject(o *object) map[string]any {
	patch := maps.Clone(p.fields)
	for field, value := range map[string]string{"apiVersion": o.apiVersion, "kind": o.kind} {
		if patch[field] = value; value == "" {
			delete(patch, field)
		}
	}
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		return patch
	}
	metadata = maps.Clone(metadata)
	for _, field := range []string{"name", "generateName", "namespace"} {
		delete(metadata, field)
	}
	patch["metadata"] = metadata
	if len(metadata) == 0 {
		delete(patch, "metadata")
	}
	return patch
}
