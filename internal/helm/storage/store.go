// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Store is Helm's storage in all clusters. It holds the state that actions share: index, read
// cache and compressors. It may be used concurrently.
type Store struct {
	index  *Index
	key    *SealKey
	now    func() time.Time
	cache  *readCache
	packer packer
}

// New returns a store. The index describes the cluster of local connections; it may be nil. So may
// the key: no record has a valid seal then. New must be called before the index is started.
func New(index *Index, key *SealKey, now func() time.Time) *Store {
	s := &Store{index: index, key: key, now: now, cache: newReadCache()}
	if index != nil {
		index.onDelete = s.cache.remove
	}
	return s
}

// CacheStats returns the number of revisions in the read cache and their approximate size in
// bytes.
func (s *Store) CacheStats() (revisions int, bytes int64) { return s.cache.stats() }

// Options configure the driver of one action. All fields may be left empty for reading.
type Options struct {
	// UID is the UID of the HelmRelease, for the revision label of new revisions. History is its
	// history, which proves revisions without a seal.
	UID     string
	History helmv2.Snapshots
	// Attempt describes the action that creates revisions or works on one. Its ID and Run are set
	// by the driver. Without an action, records get no attempt.
	Attempt release.Attempt
	// SourceRevision is the revision of the source of new revisions; empty if unknown. A rollback
	// copies that of its target instead.
	SourceRevision string
	// Plan is the plan of the action, with who approved it or overrode policies for it.
	Plan release.PlanRef
	// FailureLabel returns the label of a revision whose action is interrupted or superseded
	// now, and the empty string for every other failure.
	FailureLabel func() string
	// Stop, if set, ends the action, because another client has written a record. The cause wraps
	// ErrOvertaken.
	Stop func(cause error)
	// Redact, if set, removes secrets from the descriptions of revisions.
	Redact func(string) string
	// ReadCache allows reads of Secrets from the read cache. History has put them there
	// through the same connection, and no newer version is known. Actions that write read
	// from the API server.
	ReadCache bool
}

// stopIfOvertaken ends the action if another client has written a record.
func (o Options) stopIfOvertaken(err error) {
	if o.Stop != nil && errors.Is(err, ErrOvertaken) {
		o.Stop(err)
	}
}

// Open returns the storage driver of one action on a release. It sends no request.
func (s *Store) Open(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, options Options) (*Driver, error) {
	a, err := s.access(getter, target)
	if err != nil {
		return nil, err
	}
	d := openDriver(ctx, a, s.now)
	d.options, d.packer = options, &s.packer
	return d, nil
}

// access reads the records of one release. Everything that is read of records comes from its
// methods: metadata of all, which are cheap, and the content of one.
type access struct {
	api                secretAPI
	namespace, release string
	key                *SealKey
	// index replaces lists; nil if there is none for the cluster.
	index *Index
	// cache holds the revisions that were read and stored through the connection.
	cache *readCache
	// connection is the ID of the connection.
	connection string
	// ownIndex is true if the watch of the index has the same user as the connection.
	ownIndex bool
}

// access returns the access to a release through a connection.
func (s *Store) access(getter genericclioptions.RESTClientGetter, target release.Target) (access, error) {
	a, err := liveAccess(getter, target.StorageNamespace, target.Name)
	if err != nil {
		return a, err
	}
	a.key, a.cache = s.key, s.cache
	var local bool
	if a.connection, local, a.ownIndex = connectionOf(getter); local {
		a.index = s.index
	}
	return a, nil
}

// liveAccess returns an access that reads from the API server only, and verifies no seals.
func liveAccess(getter genericclioptions.RESTClientGetter, namespace, name string) (access, error) {
	api, err := secretsOf(getter, namespace)
	return access{api: api, namespace: namespace, release: name}, err
}

// metadata lists the records at the API server, newest first. It also returns the resourceVersion of
// the list.
func (a *access) metadata(ctx context.Context) (all []record, at string, err error) {
	if all, at, err = a.api.list(ctx, recordSelector(a.release)); err != nil {
		return nil, "", fmt.Errorf("list Secrets in namespace %s: %w", a.namespace, err)
	}
	sortNewestFirst(all)
	return all, at, nil
}

// content reads a record at the API server.
func (a *access) content(ctx context.Context, name string) (*content, error) {
	secret, err := a.api.get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", a.namespace, name, err)
	}
	return decode(a.key, a.namespace, secret)
}

// connection is implemented by getters whose answers may be kept for later requests.
type connection interface {
	// ID differs between connections to different clusters or as different users.
	ID() string
	// Local reports whether the connection leads to the cluster of the index. Impersonates
	// reports whether its requests are sent as another user than the watch of the index.
	Local() bool
	Impersonates() bool
}

// connectionOf returns the ID of a connection, whether the index describes its cluster, and
// whether the watch of the index has the same user. Without ID nothing is cached.
func connectionOf(getter genericclioptions.RESTClientGetter) (id string, local, ownIndex bool) {
	if c, ok := getter.(connection); ok {
		return c.ID(), c.Local(), c.Local() && !c.Impersonates()
	}
	return "", false, false
}

// secretsOf returns the Secrets of a namespace, as the identity of the getter.
func secretsOf(getter genericclioptions.RESTClientGetter, namespace string) (secretAPI, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := httpClient(getter, config)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	config = rest.CopyConfig(config)
	// In JSON the record would be base64 of base64.
	config.ContentType = runtime.ContentTypeProtobuf
	clients, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	_, own, _ := connectionOf(getter)
	return secretClient{rest: clients.RESTClient(), namespace: namespace, own: own}, nil
}

// httpClient returns the client that all users of a connection share, or a new one.
func httpClient(getter genericclioptions.RESTClientGetter, config *rest.Config) (*http.Client, error) {
	if c, ok := getter.(interface{ HTTPClient() *http.Client }); ok {
		return c.HTTPClient(), nil
	}
	return rest.HTTPClientFor(config)
}
