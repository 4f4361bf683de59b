// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestIndexDuringRelists: while the index replaces its contents with a new list of the records,
// concurrent readers find all revisions of a release in it, and send no request.
func TestIndexDuringRelists(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := configMapChart(t, "1.0.0")
	b.mustRun(install, archive, nil, helmv2.HelmReleaseSpec{})
	b.mustRun(upgrade, archive, nil, helmv2.HelmReleaseSpec{})
	b.otherRecords(500)
	index, err := storage.NewIndex(suite.config, "")
	b.must(err)
	store := storage.New(index, time.Now)
	b.must(b.relist(index))

	var requests atomic.Int32
	conn, err := cluster.NewConnections(suite.config, cluster.Options{Now: time.Now, TransportWrapper: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	}}).For(cluster.Identity{})
	b.must(err)
	target := release.Target{Name: "app", Namespace: b.namespace, StorageNamespace: b.namespace}
	stored, err := store.LiveHistory(t.Context(), conn, target, nil)
	b.must(err)
	recorded := helmv2.Snapshots{{
		APIVersion: release.SnapshotScheme, Name: "app", Namespace: b.namespace, Version: stored[0].Version, Status: stored[0].Status, Digest: stored[0].Digest,
	}}
	requests.Store(0)
	var done atomic.Bool
	var readers errgroup.Group
	for range 2 {
		readers.Go(func() error {
			for !done.Load() {
				found, err := store.History(t.Context(), conn, target, recorded)
				if err != nil {
					return err
				}
				if len(found) != 2 || requests.Load() > 0 {
					return fmt.Errorf("%d revisions were found, with %d requests", len(found), requests.Load())
				}
			}
			return nil
		})
	}
	for range 50 {
		if err = b.relist(index); err != nil {
			break
		}
	}
	done.Store(true)
	b.must(errors.Join(err, readers.Wait()))
}

// relist replaces the contents of an index with a new list, as its watch does after an error.
func (w *world) relist(index *storage.Index) error {
	secrets := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	if err := suite.client.List(w.t.Context(), secrets, client.InNamespace(w.namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		return err
	}
	all := make([]any, len(secrets.Items))
	for i := range secrets.Items {
		all[i] = &secrets.Items[i]
	}
	return index.Replace(all, secrets.ResourceVersion)
}

// otherRecords stores records of other releases, so that a list takes some time.
func (w *world) otherRecords(n int) {
	w.t.Helper()
	var writers errgroup.Group
	writers.SetLimit(20)
	for i := range n {
		writers.Go(func() error {
			name := fmt.Sprintf("other-%d", i)
			return suite.client.Create(w.t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: w.namespace, Name: strings.Join([]string{"sh.helm.release.v1", name, "v1"}, "."),
					Labels: map[string]string{"owner": "helm", "name": name, "status": "superseded", "version": "1"},
				},
				Type: "helm.sh/release.v1",
			})
		})
	}
	w.must(writers.Wait())
}
