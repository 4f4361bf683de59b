// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxRemembered is how many revisions are remembered, at a kilobyte or less each.
// It has to be more than there are releases, or they take each other's place.
const maxRemembered = 32768

// memo remembers what was read of revisions, for those who read it: another
// identity may not be allowed to. It may be used concurrently; its zero value
// remembers nothing yet, and a nil memo nothing ever.
type memo struct {
	mu    sync.Mutex
	known *simplelru.LRU[types.UID, fact]
	// bytes is what they take, roughly.
	bytes int64
}

// fact is what a revision was at one version of its Secret.
type fact struct {
	// way is by which it was read last.
	way      string
	at       string
	revision release.Revision
	// method is how its objects were applied, as the record says.
	method string
	// reference is what the revision's ReferenceDigest was computed for.
	reference reference
}

// reference is what a ReferenceDigest depends on besides the record.
type reference struct{ algorithm, ociDigest string }

func referenceOf(s *helmv2.Snapshot) reference {
	algorithm, _, _ := strings.Cut(s.Digest, ":")
	return reference{algorithm, s.OCIDigest}
}

// note remembers a revision as it is in a Secret.
func (m *memo) note(way string, rec Record, f fact) {
	if m == nil || rec.UID == "" || rec.ResourceVersion == "" || way == "" {
		return
	}
	f.way, f.at = way, rec.ResourceVersion
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		// The size is a positive constant, the one thing NewLRU can object to.
		m.known, _ = simplelru.NewLRU(maxRemembered, func(_ types.UID, f fact) { m.bytes -= f.size() })
	}
	m.known.Add(rec.UID, f)
	m.bytes += f.size()
}

// size estimates the memory a fact takes, its place in the list included.
func (f *fact) size() int64 {
	const entry, test = 200, 120
	r := &f.revision
	size := entry + int(unsafe.Sizeof(*f))
	for _, s := range []string{
		f.way, f.at, f.method, f.reference.algorithm, f.reference.ociDigest, r.Name, r.Namespace, string(r.Status), r.Description,
		r.ChartName, r.ChartVersion, r.AppVersion, r.ConfigDigest, r.Digest, r.Owner, r.ReferenceDigest,
	} {
		size += len(s)
	}
	for name := range r.Tests {
		size += test + len(name)
	}
	return int64(size)
}

// stats returns how many revisions are remembered, and roughly how many bytes that
// takes.
func (m *memo) stats() (entries int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return 0, 0
	}
	return m.known.Len(), m.bytes
}

// recall returns what was read of the revision in a Secret, if it is still that.
func (m *memo) recall(way string, rec Record) (fact, bool) {
	if m == nil {
		return fact{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return fact{}, false
	}
	f, ok := m.known.Get(rec.UID)
	return f, ok && f.way == way && f.at == rec.ResourceVersion
}

// forget is for revisions that are gone.
func (m *memo) forget(uid types.UID) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil {
		m.known.Remove(uid)
	}
}

// way is what storage can know about a connection.
type way interface {
	// ID differs between connections to different clusters or as different users.
	ID() string
	// Local reports whether it leads to the cluster that the index is of, and
	// Impersonates whether it is used as somebody else than who made the index there.
	Local() bool
	Impersonates() bool
}

// wayOf returns the ID of a connection, empty if it has none, in which case
// nothing is remembered for it, whether the index is about its cluster, and whether
// it was made by the same user.
func wayOf(getter genericclioptions.RESTClientGetter) (id string, local, ours bool) {
	if w, ok := getter.(way); ok {
		return w.ID(), w.Local(), w.Local() && !w.Impersonates()
	}
	return "", false, false
}
