// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestRendering: the digests are those of the JSON of helm-controller's types.
func TestRendering(t *testing.T) {
	cases := map[string]struct{ reason, spec, renderers, metadata string }{
		"Nothing": {reason: "a field that is not set has no digest", spec: "{}"},
		"Empty": {
			reason: "an empty field has a digest",
			spec:   "{postRenderers: [], commonMetadata: {}}", renderers: "[]", metadata: "{}",
		},
		"Everything": {
			reason: "fields have the order of helm-controller's types, and some characters are escaped",
			spec: `
postRenderers:
- kustomize:
    images:
    - {digest: "sha256:d", newTag: t, newName: "n", name: i}
    - {name: j}
    patches:
    - target: {annotationSelector: a, labelSelector: l, name: m, namespace: "n", kind: k, version: v, group: g}
      patch: "a: <b> & c\n"
    - patch: p
- {}
- kustomize: {}
commonMetadata:
  annotations: {z: "1", a: "é"}
  labels: {b: "2"}
`,
			renderers: `[{"kustomize":{"patches":[{"patch":"a: \u003cb\u003e \u0026 c\n","target":{"group":"g","version":"v","kind":"k","namespace":"n","name":"m","annotationSelector":"a","labelSelector":"l"}},{"patch":"p"}],` +
				`"images":[{"name":"i","newName":"n","newTag":"t","digest":"sha256:d"},{"name":"j"}]}},{},{"kustomize":{}}]`,
			metadata: `{"annotations":{"a":"é","z":"1"},"labels":{"b":"2"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var spec helmv2.HelmReleaseSpec
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			var want release.Rendering
			if tc.renderers != "" {
				want.PostRenderers = digest.FromString(tc.renderers + "\n").String()
				want.CommonMetadata = digest.FromString(tc.metadata + "\n").String()
			}
			got := basics(&helmv2.HelmRelease{Spec: spec}, release.Suspension{}, helmv2.Defaults{}).Rendering
			if got != want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, want)
			}
			if got.PostRenderers != "" && !strings.HasPrefix(got.PostRenderers, "sha256:") {
				t.Errorf("digest %s", got.PostRenderers)
			}
		})
	}
}
