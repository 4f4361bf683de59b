// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestConcurrently: one handler renders charts side by side, for the race detector. Some share an
// archive, and all have patches.
func TestConcurrently(t *testing.T) {
	const releases, archives = 12, 4
	var all []remote.Rendering
	for i := range releases {
		in := input(t, m{
			"templates/a.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }} }\ndata: {chart: '%d', v: '{{ .Values.v }}'}\n", i%archives),
			"crds/crd.yaml":    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
		}, m{"v": i})
		in.Release = fmt.Sprint("app-", i)
		in.PostRender.Renderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
			Target: &helmv2.Selector{Kind: "ConfigMap"},
			Patch:  fmt.Sprintf("- {op: add, path: /data/patched, value: '%d'}\n", i),
		}}}}}
		all = append(all, in)
	}
	client := remote.New(worker.Local{Handler: New()})
	var running sync.WaitGroup
	for i, in := range all {
		running.Go(func() {
			if _, err := client.Identify(t.Context(), "prod", in.Digest, in.Archive); err != nil {
				t.Error(err)
			}
			if _, err := client.CRDs(t.Context(), in.Chart); err != nil {
				t.Error(err)
			}
			got, err := client.Render(t.Context(), in, &rest.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			for _, want := range []string{"name: app-%d", `v: "%d"`, `patched: "%d"`} {
				want = fmt.Sprintf(want, i)
				if !strings.Contains(got.Manifest, want) {
					t.Errorf("release %d has no %q in\n%s", i, want, got.Manifest)
					return
				}
			}
		})
	}
	running.Wait()
}
