// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Digest returns the digest of a plan as sha256:<hex>, from the digests of its inputs, its text and its
// changes, and the number of the base revision; 0 if there is none.
func Digest(inputs string, base int, text, changes string) string {
	return DigestOf(struct {
		Inputs  string `json:"inputs"`
		Base    int    `json:"base"`
		Text    string `json:"text"`
		Changes string `json:"changes"`
	}{inputs, base, text, changes})
}

// Digest returns the digest of changes, which does not depend on their order. It covers the objects, the
// kinds of change, the paths of fields and the UIDs of objects that may be replaced, but no values and no
// texts of the API server.
func (c *Changes) Digest() string {
	return DigestOf([][]change{canonical(c.Objects), canonical(c.CRDs)})
}

// change is the part of a change that the digest covers.
type change struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Namespace  string              `json:"namespace"`
	Name       string              `json:"name"`
	Change     v1alpha1.ChangeKind `json:"change"`
	Fields     []string            `json:"fields"`
	// Replaced is the UID of an object that an approval may name to be replaced.
	Replaced string `json:"replaced,omitempty"`
}

func canonical(all []v1alpha1.PlanChange) []change {
	all = slices.Clone(all)
	slices.SortStableFunc(all, compare)
	list := make([]change, len(all))
	for i, c := range all {
		list[i] = change{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Change: c.Change, Fields: []string{}}
		if c.Replacement != nil {
			list[i].Replaced = c.Replacement.UID
		}
		if c.Change == v1alpha1.ChangeCreate {
			// The digest of the text covers the content.
			c.Fields = nil
		}
		for _, f := range c.Fields {
			list[i].Fields = append(list[i].Fields, f.Path)
		}
		slices.Sort(list[i].Fields)
		list[i].Fields = slices.Compact(list[i].Fields)
	}
	return list
}

// DigestOf returns the digest of a value as JSON, in which the members of objects are sorted or have
// the order of their type.
func DigestOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// Only values that cannot be JSON have an error: functions, channels, cycles, infinity.
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
