// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

type values = fixture.Values

// world is one test's namespace, and its part of the registry by the same name.
type world struct{ fixture.World }

func newWorld(t *testing.T) world {
	t.Helper()
	return world{fixture.New(t, env.Environment, "e2e-")}
}

// push packs test/charts/hello under a version and pushes it.
func (w world) push(version string) {
	w.Helper()
	archive, err := harness.HelloChart(version)
	w.Must(err)
	w.Must(env.Registry.PushChart(w.Context(), w.Namespace, archive))
}

// requestReconciliation requests a reconciliation of a source.
func (w world) requestReconciliation(o client.Object) {
	w.Helper()
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		w.Fatalf("%T is no object", o)
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[fluxmeta.ReconcileRequestAnnotation] = time.Now().Format(time.RFC3339Nano)
	o.SetAnnotations(annotations)
	w.Must(env.Client.Patch(w.Context(), o, client.MergeFrom(before)))
}

// source creates an OCIRepository for the newest hello at a registry.
func (w world) source(name, address string) *sourcev1.OCIRepository {
	w.Helper()
	return w.Source(name, address, "hello", fixture.Newest())
}

// release creates a HelmRelease that takes its chart from an OCIRepository.
func (w world) release(name, source string, v values) *helmv2.HelmRelease {
	w.Helper()
	hr := w.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, source), v)
	w.Create(hr)
	return hr
}
