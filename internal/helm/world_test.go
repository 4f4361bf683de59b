// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/worker"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	jobPath = "/apis/batch/v1/namespaces/prod/jobs/migrate"
	jobYAML = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n"
	oneYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	onePath = "/api/v1/namespaces/prod/configmaps/one"
)

// world is an API server and a server of charts, both in memory.
type world struct {
	*apitest.Server

	t       *testing.T
	archive []byte
	conn    *cluster.Connection
	runner  *Runner
}

// sealKey returns the key of the controller.
func sealKey() *storage.SealKey {
	key := &storage.SealKey{}
	key.Set([]byte("0123456789abcdef0123456789abcdef"))
	return key
}

// workers returns a worker that parses and renders charts in this process.
func workers() worker.Caller { return worker.Local{Handler: handler.New()} }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, Server: apitest.New(t)}
	var err error
	if w.conn, err = cluster.Connect(w.Config()); err != nil {
		t.Fatal(err)
	}
	w.runner = NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: &http.Client{Transport: w}, MaxBytes: 1 << 20}), workers(), nil, sealKey(), time.Now)
	return w
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "charts" {
		return w.Server.RoundTrip(req)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(w.archive)), Request: req}, nil
}

// chart makes files, below the chart's folder, the chart note that can be
// downloaded, and returns its artifact.
func (w *world) chart(version string, files map[string]string) chart.Artifact {
	w.t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: note\nversion: " + version + "\nappVersion: \"9\"\n"}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if err := tw.WriteHeader(&tar.Header{Name: "note/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.archive = buf.Bytes()
	return chart.Artifact{URL: "http://charts/" + version, Digest: digest.FromBytes(w.archive).String()}
}

// stored returns the revisions of prod/app as Helm reads them, oldest first.
func (w *world) stored() []*helmrelease.Release {
	w.t.Helper()
	clients, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := driver.NewSecrets(clients.CoreV1().Secrets("prod")).Query(map[string]string{"name": "app"})
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		w.t.Fatal(err)
	}
	releaseutil.SortByRevision(all)
	return all
}

func (w *world) history() []release.Revision {
	w.t.Helper()
	all, err := w.runner.History(w.t.Context(), w.conn, target(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// recorded returns the history of a HelmRelease that has recorded revisions.
func recorded(stored []release.Revision) helmv2.Snapshots {
	var all helmv2.Snapshots
	for _, r := range stored {
		all = append(all, &helmv2.Snapshot{
			APIVersion: release.SnapshotScheme, Digest: r.Digest, Name: r.Name, Namespace: r.Namespace, Version: r.Version, Status: r.Status,
		})
	}
	return all
}

// observed returns the input of a decision about prod/app with the stored revisions.
func observed(stored []release.Revision) release.Input {
	return release.Input{Desired: release.Desired{UID: "uid-1", Target: target()}, Observed: release.Observed{Revisions: stored}}
}

func target() release.Target {
	return release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"}
}

// job returns a job for prod/app without the checks that need a schema.
func job(action release.HelmAction, artifact chart.Artifact, version string, values map[string]any) Job {
	return Job{
		Action:  action,
		Desired: release.Desired{UID: "uid-1", Target: target(), Chart: release.Chart{Name: "note", Version: version}},
		Spec: helmv2.HelmReleaseSpec{
			Install: &helmv2.Install{DisableOpenAPIValidation: true},
			Upgrade: &helmv2.Upgrade{DisableOpenAPIValidation: true},
		},
		Origin:   Origin{Name: "app", Namespace: "prod"},
		Artifact: artifact, Values: values,
	}
}

// readRequest returns a request to read a revision of prod/app.
func readRequest(version int) ReadRequest {
	return ReadRequest{Target: target(), Version: version, Origin: Origin{Name: "app", Namespace: "prod"}}
}
