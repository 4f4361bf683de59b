// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// outdated freezes an index of Helm's storage after its first list.
func outdated(next http.RoundTripper) http.RoundTripper {
	var listed atomic.Bool
	return transport(func(req *http.Request) (*http.Response, error) {
		query := req.URL.Query()
		index := req.URL.Path == "/api/v1/secrets" && query.Get("labelSelector") == "owner=helm"
		if index && (query.Get("watch") != "" || listed.Swap(true)) {
			return nil, errors.New("the test has interrupted the watch")
		}
		return next.RoundTrip(req)
	})
}

// TestUninstallAsksTheServer: an uninstall works if the release is missing in the index.
func TestUninstallAsksTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := rest.CopyConfig(suite.config)
	config.Wrap(outdated)
	index, err := storage.NewIndex(config, "")
	b.must(err)
	go func() { _ = index.Start(t.Context()) }()
	<-index.Synced()
	b.mustRun(install, configMapChart(t, "1.0.0"), nil, helmv2.HelmReleaseSpec{})

	b.runner = helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), index, time.Now)
	b.conn, err = cluster.NewConnections(suite.config, cluster.Options{Now: time.Now}).For(cluster.Identity{})
	b.must(err)
	target := release.Target{Name: "app", Namespace: b.namespace, StorageNamespace: b.namespace}
	b.mustRun(release.Uninstall{Timeout: 10 * time.Second, Target: target}, nil, nil, helmv2.HelmReleaseSpec{})
	b.uninstalled("app")
}

// uninstalled expects that a release has neither objects nor records.
func (w *world) uninstalled(name string) {
	w.t.Helper()
	if n := len(w.stored(name)); n != 0 {
		w.t.Errorf("%d revisions are left", n)
	}
	err := suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		w.t.Errorf("its object is left: %v", err)
	}
}

// TestDeletionAsksTheServer: a process died after it had installed a release, and before it
// wrote that down. The HelmRelease is deleted while the index of the next process is behind.
func TestDeletionAsksTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mine := b.ownController(config{wrap: outdated})
	b.name = "behind"
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.namespace, Name: b.name, Labels: map[string]string{labelController: "none"}, Finalizers: []string{helmv2.Finalizer},
		},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: b.name}, Interval: metav1.Duration{Duration: time.Hour},
		},
	}
	b.must(suite.client.Create(t.Context(), hr))
	before := hr.DeepCopy()
	hr.Status.StorageNamespace = b.namespace
	b.must(suite.client.Status().Patch(t.Context(), hr, client.MergeFrom(before)))
	archive := configMapChart(t, "1.0.0")
	sum := digest.FromBytes(archive)
	b.world.mu.Lock()
	b.artifacts["/"+sum.Encoded()] = archive
	b.world.mu.Unlock()
	out := b.runner.Run(t.Context(), b.conn, helm.Job{
		Action: install,
		Desired: release.Desired{
			UID: string(hr.UID), Target: release.Target{Name: b.name, Namespace: b.namespace, StorageNamespace: b.namespace},
			Chart: release.Chart{Name: "note", Version: "1.0.0"},
		},
		Origin:   helm.Origin{Namespace: b.namespace, Name: b.name},
		Artifact: chart.Artifact{URL: b.server.URL + "/" + sum.Encoded(), Digest: sum.String()},
	})
	b.must(out.Err)

	b.must(suite.client.Delete(t.Context(), hr))
	b.edit(hr, mine)
	b.untilGone(hr)
	b.uninstalled(b.name)
}
