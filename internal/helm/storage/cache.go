// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxRevisions is the number of revisions in a read cache, of about one kilobyte each. It has
// to be larger than the number of releases, or each would evict another one.
const maxRevisions = 32768

// maxSecretBytes is the size of all Secrets in a read cache. At the usual few kilobytes for
// each it is enough for the reconciliations that run at the same time.
const maxSecretBytes = 2 << 20

// readCache holds revisions that were read, for the connection that has read them: another
// identity may lack the permission. It may be used concurrently.
type readCache struct {
	mu        sync.Mutex
	revisions *simplelru.LRU[types.UID, cachedRevision]
	// bytes is the approximate size of revisions.
	bytes int64
	// secrets are the Secrets that were read last: a reconciliation that reads the newest
	// revision for its decision does not read it again to compare objects. An outdated Secret
	// is never returned; it is removed when it is requested or evicted.
	secrets     *simplelru.LRU[secretKey, *corev1.Secret]
	secretBytes int64
}

func newReadCache() *readCache {
	c := &readCache{}
	// NewLRU fails only for a size below 1.
	c.revisions, _ = simplelru.NewLRU(maxRevisions, func(_ types.UID, r cachedRevision) { c.bytes -= r.size() })
	c.secrets, _ = simplelru.NewLRU(maxRevisions, func(_ secretKey, s *corev1.Secret) { c.secretBytes -= secretSize(s) })
	return c
}

// secretKey is the name of a Secret and the connection that has read it.
type secretKey struct{ connection, namespace, name string }

// cachedRevision is a revision at one resourceVersion of its Secret.
type cachedRevision struct {
	// connection is the ID of the connection that has read it last.
	connection      string
	resourceVersion string
	revision        release.Revision
	// method is the apply method in the record.
	method string
	// reference is the input of the revision's ReferenceDigest.
	reference reference
}

// reference is the input of a ReferenceDigest besides the record. deployed is true if the revision
// was superseded since its snapshot.
type reference struct {
	algorithm, ociDigest string
	deployed             bool
}

func referenceOf(s *helmv2.Snapshot, r *release.Revision) reference {
	algorithm, _, _ := strings.Cut(s.Digest, ":")
	return reference{algorithm, s.OCIDigest, release.SupersededSince(s, r)}
}

// put adds the revision in a record.
func (c *readCache) put(connection string, rec record, r cachedRevision) {
	if rec.UID == "" || rec.ResourceVersion == "" || connection == "" {
		return
	}
	r.connection, r.resourceVersion = connection, rec.ResourceVersion
	c.mu.Lock()
	defer c.mu.Unlock()
	// Add does not report a value that it replaces.
	c.revisions.Remove(rec.UID)
	c.revisions.Add(rec.UID, r)
	c.bytes += r.size()
}

// putSecret adds the Secret of a revision that was added with put.
func (c *readCache) putSecret(connection, namespace string, secret *corev1.Secret) {
	if connection == "" {
		return
	}
	reduced := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion, Labels: secret.Labels, Annotations: secret.Annotations},
		Data:       map[string][]byte{dataKey: secret.Data[dataKey]},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := secretKey{connection, namespace, secret.Name}
	c.secrets.Remove(key)
	c.secrets.Add(key, reduced)
	for c.secretBytes += secretSize(reduced); c.secretBytes > maxSecretBytes; {
		c.secrets.RemoveOldest()
	}
}

// secretOverhead is the approximate size of a Secret without its data.
const secretOverhead = 1000

func secretSize(secret *corev1.Secret) int64 {
	return int64(len(secret.Data[dataKey])) + secretOverhead
}

// secret returns a Secret, which must not be changed; nil if the cache does not have it or has
// a revision of a newer version.
func (c *readCache) secret(connection, namespace, name string) *corev1.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	secret, ok := c.secrets.Get(secretKey{connection, namespace, name})
	if !ok {
		return nil
	}
	if r, _ := c.revisions.Peek(secret.UID); r.connection != connection || r.resourceVersion != secret.ResourceVersion {
		c.secrets.Remove(secretKey{connection, namespace, name})
		return nil
	}
	return secret
}

// size returns the approximate number of bytes of a cached revision, including its list entry.
func (r *cachedRevision) size() int64 {
	const entry, test, attempt = 200, 120, 1000
	rev := &r.revision
	size := entry + int(unsafe.Sizeof(*r))
	for _, s := range []string{
		r.connection, r.resourceVersion, r.method, r.reference.algorithm, r.reference.ociDigest, rev.Name, rev.Namespace, string(rev.Status), rev.Description,
		rev.ChartName, rev.ChartVersion, rev.AppVersion, rev.ConfigDigest, rev.Digest, rev.DeployedDigest, rev.Owner, rev.HelmControllerDigest,
		rev.SourceRevision, rev.Plan,
	} {
		size += len(s)
	}
	for name := range rev.Tests {
		size += test + len(name)
	}
	if rev.Attempt != nil {
		size += attempt
	}
	return int64(size)
}

// stats returns the number of revisions and the approximate size of the cache in bytes.
func (c *readCache) stats() (revisions int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revisions.Len(), c.bytes + c.secretBytes
}

// get returns the revision in a record, if the cache has it at the same resourceVersion.
func (c *readCache) get(connection string, rec record) (cachedRevision, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.revisions.Get(rec.UID)
	return r, ok && r.connection == connection && r.resourceVersion == rec.ResourceVersion
}

// remove removes a deleted revision.
func (c *readCache) remove(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revisions.Remove(uid)
}
