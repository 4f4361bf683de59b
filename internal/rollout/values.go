// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strings"
)

// Values is what a process knows of the values of a release, since it has reconciled the release. The zero
// value knows nothing.
type Values struct {
	// wants are the keys of the objects' contents that the values come from, as last read. has are the keys
	// that the release has worked with.
	wants, has []string
	// config is the digest of the values, and stored the digest that the record of a revision with them
	// has. Both are empty as long as the values were not read.
	config, stored string
}

// made reports whether a revision with values of a digest was made of the objects as last read.
func (v *Values) made(config string) bool { return v.stored != "" && v.stored == config }

// read returns what is known after the values were read. worked is the digest of the values of the newest
// revision that has worked.
func (v *Values) read(objects []Input, config, stored, worked string) *Values {
	next := &Values{has: v.has, config: config, stored: stored}
	if v.made(worked) {
		next.has = v.wants
	}
	for _, o := range objects {
		next.wants = append(next.wants, o.Key())
	}
	if next.made(worked) {
		next.has = next.wants
	}
	return next
}

func (v *Values) equal(w *Values) bool {
	return v.config == w.config && v.stored == w.stored && slices.Equal(v.wants, w.wants) && slices.Equal(v.has, w.has)
}

// fresh returns the objects whose contents the release has not worked with.
func (v *Values) fresh(objects []Input) []Input {
	var found []Input
	for _, o := range objects {
		if !slices.Contains(v.has, o.Key()) {
			found = append(found, o)
		}
	}
	return found
}

// objectOf returns the object of a key.
func objectOf(key string) string { return key[:max(0, strings.LastIndexByte(key, '@'))] }

// AssumeValues sets what status shows about the values of a release, for readers that do not read them: a
// release that is ready counts as one that has the present contents of objects.
func (m *Member) AssumeValues(objects []string) {
	m.From = objects
	v := &Values{}
	for _, o := range objects {
		v.wants = append(v.wants, Input{Object: o}.Key())
	}
	m.Values = v
	if m.waits {
		// Its last attempt had other values.
		v.config = "-"
		return
	}
	v.config, v.stored = m.triedConfig, m.triedConfig
	if m.ready || m.bakes || m.untested {
		v.has = v.wants
	}
}
