// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxRemembered is how many revisions are remembered, at a kilobyte or less each.
// It has to be more than there are releases, or they take each other's place.
const maxRemembered = 32768

// maxBodies is how many bytes of Secrets are kept whole: enough for the visits that are
// being made at a time, where revisions are of the usual few kilobytes.
const maxBodies = 2 << 20

// memo remembers what was read of revisions, for those who read it: another
// identity may not be allowed to. It may be used concurrently; its zero value
// remembers nothing yet, and a nil memo nothing ever.
type memo struct {
	mu    sync.Mutex
	known *simplelru.LRU[types.UID, fact]
	// bytes is what they take, roughly.
	bytes int64
	// bodies are the Secrets that were read last, so that who has read the newest
	// revision to decide need not read it again to compare its objects. One that is
	// outdated is given to nobody, and goes when it is asked for or pushed out.
	bodies    *simplelru.LRU[bodyKey, *corev1.Secret]
	bodyBytes int64
}

// bodyKey is where a Secret was read, and by which way.
type bodyKey struct{ way, namespace, name string }

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

// keep remembers a Secret whole that was noted, as long as there is room.
func (m *memo) keep(way, namespace string, secret *corev1.Secret) {
	if m == nil || way == "" {
		return
	}
	body := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion, Labels: secret.Labels},
		Data:       map[string][]byte{dataKey: secret.Data[dataKey]},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return
	}
	if m.bodies == nil {
		m.bodies, _ = simplelru.NewLRU(maxRemembered, func(_ bodyKey, b *corev1.Secret) { m.bodyBytes -= bodySize(b) })
	}
	m.bodies.Add(bodyKey{way, namespace, secret.Name}, body)
	for m.bodyBytes += bodySize(body); m.bodyBytes > maxBodies; {
		m.bodies.RemoveOldest()
	}
}

// bodyRest is about what a Secret takes beside its data.
const bodyRest = 1000

func bodySize(secret *corev1.Secret) int64 { return int64(len(secret.Data[dataKey])) + bodyRest }

// body returns a Secret as it was read, nobody's to change; nil if it is not remembered,
// or has changed since for all that is known.
func (m *memo) body(way, namespace, name string) *corev1.Secret {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bodies == nil {
		return nil
	}
	secret, ok := m.bodies.Get(bodyKey{way, namespace, name})
	if !ok {
		return nil
	}
	if f, _ := m.known.Peek(secret.UID); f.way != way || f.at != secret.ResourceVersion {
		m.bodies.Remove(bodyKey{way, namespace, name})
		return nil
	}
	return secret
}

// size estimates the memory a fact takes, its place in the list included.
func (f *fact) size() int64 {
	const entry, test = 200, 120
	r := &f.revision
	size := entry + int(unsafe.Sizeof(*f))
	for _, s := range []string{
		f.way, f.at, f.method, f.reference.algorithm, f.reference.ociDigest, r.Name, r.Namespace, string(r.Status), r.Description,
		r.ChartName, r.ChartVersion, r.AppVersion, r.ConfigDigest, r.Digest, r.Owner, r.HelmControllerDigest,
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
	return m.known.Len(), m.bytes + m.bodyBytes
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
