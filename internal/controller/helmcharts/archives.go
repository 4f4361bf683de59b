// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
)

const (
	// downloadGrace is how long a reconciliation waits for a download, and downloadPoll the pause until
	// it looks again. A server that does not answer must not delay other HelmCharts.
	downloadGrace = 250 * time.Millisecond
	downloadPoll  = time.Second
	// downloadRetry is the pause until a download is repeated that has failed, or whose archive the
	// release cannot get.
	downloadRetry = time.Minute
	// maxDoublings limits how often that pause is doubled while an older version is kept.
	maxDoublings = 4
)

// errDownloading means that the archive of a HelmChart is being downloaded for the first time.
var errDownloading = errors.New("the archive is being downloaded")

// archives remembers the archives at URLs. Each is downloaded once, and again after the interval of
// sources, after a request, and if the release can no longer get it. Servers that name versions are
// asked for another one only. It is safe for concurrent use.
type archives struct {
	read func(ctx context.Context, c *cattlev1.HelmChart, known archive.Version) (archive.Version, error)
	now  func() time.Time

	mu    sync.Mutex
	known map[types.NamespacedName]*knownArchive
}

// knownArchive is the archive at one URL.
type knownArchive struct {
	url string
	// version is the version that was read last; zero if there is none.
	version archive.Version
	// request is the request that the last read has handled.
	request string
	// readAt is when the last read started, and next when the next one is due.
	readAt, next time.Time
	// err is the error of the last read, reported is true if it was returned once, and failures counts
	// the reads that failed since the last success.
	err      error
	reported bool
	failures int
	// running is closed when the running read ends; nil if none runs.
	running chan struct{}
}

// recorded is the archive that the ExternalArtifact of a HelmChart has. It is empty if there is none.
type recorded struct{ digest, request string }

// state is the archive of a HelmChart at a URL.
type state struct {
	digest string
	// kept is the error of the last read if an older version is kept. Of failures in a row, only the
	// first one is returned, and once.
	kept error
}

// get returns the archive of a HelmChart, and reads it if that is due. lost is true if the release cannot
// get its bytes. The error is errDownloading, or the error of the download.
func (a *archives) get(ctx context.Context, c *cattlev1.HelmChart, url string, have recorded, request string, lost bool) (state, error) {
	key := client.ObjectKeyFromObject(c)
	a.mu.Lock()
	k := a.known[key]
	if k == nil || k.url != url {
		k = &knownArchive{url: url, version: archive.Version{Digest: have.digest}, request: request}
		if have.digest != "" {
			// After a start, not all servers are asked at once.
			k.request, k.next = have.request, a.now().Add(spread(key))
		}
		a.known[key] = k
	}
	now := a.now()
	due := !now.Before(k.next) || k.request != request || lost && now.Sub(k.readAt) >= downloadRetry
	if k.running == nil && due {
		k.running, k.request, k.readAt = make(chan struct{}), request, now
		go a.run(context.WithoutCancel(ctx), c.DeepCopy(), k, k.version)
	}
	running := k.running
	a.mu.Unlock()
	if running != nil {
		timer := time.NewTimer(downloadGrace)
		defer timer.Stop()
		select {
		case <-running:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case k.version.Digest != "":
		now := state{digest: k.version.Digest}
		if !k.reported {
			k.reported, now.kept = k.err != nil, k.err
		}
		return now, nil
	case k.running != nil:
		return state{}, errDownloading
	}
	return state{}, k.err
}

// run reads an archive.
func (a *archives) run(ctx context.Context, c *cattlev1.HelmChart, k *knownArchive, known archive.Version) {
	version, err := a.read(ctx, c, known)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch k.err = err; {
	case err == nil:
		k.version, k.failures, k.reported, k.next = version, 0, false, a.now().Add(helmchart.Interval)
	case k.version.Digest == "":
		k.next = a.now().Add(downloadRetry)
	default:
		k.next = a.now().Add(min(downloadRetry<<min(k.failures, maxDoublings), helmchart.Interval))
		k.failures++
	}
	close(k.running)
	k.running = nil
}

// next returns the time until the archive of a HelmChart must be looked at; zero if it has none at a
// URL.
func (a *archives) next(key types.NamespacedName, lost bool) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[key]
	switch {
	case k == nil:
		return 0
	case k.running != nil:
		return downloadPoll
	}
	at := k.next
	if retry := k.readAt.Add(downloadRetry); lost && retry.Before(at) {
		at = retry
	}
	return max(at.Sub(a.now()), downloadPoll)
}

// forget forgets the archive of a HelmChart that has none at a URL.
func (a *archives) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, key)
}

// spread returns a part of the interval that depends on a key.
func spread(key types.NamespacedName) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key.String()))
	return helmchart.Interval * time.Duration(h.Sum32()%1000) / 1000
}

// archive returns the artifact of a chart that Pintle itself reads; nil if there is none. An error of a
// download is a *helmchart.Refusal, or errDownloading.
func (r *Reconciler) archive(ctx context.Context, in helmchart.Input) (*helmchart.Archive, error) {
	c := in.Chart
	url, ok := archive.ArtifactURL(c)
	atURL := ok && helmchart.FromArchive(c.Spec) && c.Spec.ChartContent == "" && helmchart.ArchiveRefusal(in) == nil
	if !atURL {
		r.archives.forget(client.ObjectKeyFromObject(c))
	}
	switch {
	case c.Spec.ChartContent != "":
		content, err := archive.Decode(c.Spec.ChartContent)
		if err != nil {
			return nil, artifactFailed(err)
		}
		return artifactOf(url, digest.FromBytes(content).String(), ""), nil
	case !atURL:
		return nil, nil //nolint:nilnil // there is none
	}
	source := &sourcev1.ExternalArtifact{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(c), source); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	var have recorded
	if a := source.Status.Artifact; metav1.IsControlledBy(source, c) && a != nil && a.URL == url {
		have = recorded{a.Digest, source.Annotations[helmv2.AnnotationReconcileRequest]}
	}
	request := requestOf(c, in.Before)
	got, err := r.archives.get(ctx, c, url, have, request, isLost(in.Before))
	switch {
	case errors.Is(err, errDownloading):
		return nil, err
	case err != nil:
		return nil, artifactFailed(err)
	case got.kept != nil:
		r.archiveKept(c, got.kept)
	}
	return artifactOf(url, got.digest, request), nil
}

func artifactFailed(err error) *helmchart.Refusal {
	return &helmchart.Refusal{Reason: cattlev1.ReasonArtifactFailed, Message: "The archive of the chart could not be read: " + err.Error()}
}

func artifactOf(url, digest, request string) *helmchart.Archive {
	// A revision with a colon would become a part of the chart's version.
	_, revision, _ := strings.Cut(digest, ":")
	return &helmchart.Archive{URL: url, Digest: digest, Revision: revision, Request: request}
}

// requestOf returns the requests to reconcile a HelmChart and its HelmRelease.
func requestOf(c *cattlev1.HelmChart, hr *helmv2.HelmRelease) string {
	request := c.Annotations[helmv2.AnnotationReconcileRequest]
	if hr != nil {
		request += " " + hr.Annotations[helmv2.AnnotationReconcileRequest]
	}
	return strings.TrimSpace(request)
}

// isLost reports whether a release cannot get its archive: the server may have another one.
func isLost(hr *helmv2.HelmRelease) bool {
	if hr == nil {
		return false
	}
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	return ready != nil && ready.Reason == helmv2.ReasonArtifactFailed
}
