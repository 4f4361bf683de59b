// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// hookedChart renders a Deployment, and a ConfigMap as a hook.
func hookedChart(t *testing.T) []byte {
	return pack(t, "hooked", "1.0.0", map[string]string{
		"templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels: {message: {{ .Values.message | default "none" | quote }}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: app
        image: nginx:1.27
      - name: sidecar
        image: busybox:1
`,
		"templates/before.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}\n",
	})
}

const renderSpec = `
install: {disableWait: true}
upgrade: {disableWait: true}
postRenderers:
- kustomize:
    patches:
    - patch: |
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: app
          labels: {xxxx: yyyy}
          annotations: {made: for the operation}
        spec:
          template:
            spec:
              containers:
              - name: sidecar
                env: [{name: A, value: b}]
    - target: {kind: Deployment|ConfigMap}
      patch: |
        - op: add
          path: /metadata/annotations/patched
          value: "true"
    images: [{name: nginx, newName: mirror.example.com/nginx, newTag: "1.28"}]
commonMetadata:
  labels: {team: one}
  annotations: {helm.toolkit.fluxcd.io/name: not-a-label}
`

// TestPostRendering: patches, images and common metadata are applied, to hooks depending on the
// strategy, and are removed with the spec.
func TestPostRendering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("rendered", "1.0.0", hookedChart(t))
	var first helmv2.HelmReleaseSpec
	w.must(yaml.UnmarshalStrict([]byte(renderSpec), &first))
	hr := w.release("rendered", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install, hr.Spec.Upgrade = first.Install, first.Upgrade
		hr.Spec.PostRenderers, hr.Spec.CommonMetadata = first.PostRenderers, first.CommonMetadata
	})
	w.untilReady(hr)
	app := w.deployment("app")
	if app.Labels["xxxx"] != "yyyy" || app.Labels["team"] != "one" || app.Labels[helmv2.LabelName] != "rendered" || app.Annotations["patched"] != "true" {
		t.Errorf("Deployment: labels %v, annotations %v", app.Labels, app.Annotations)
	}
	// kustomize moves patched items to the front of a list.
	pod := app.Spec.Template
	var images []string
	for _, c := range pod.Spec.Containers {
		images = append(images, c.Image)
	}
	if want := []string{"busybox:1", "mirror.example.com/nginx:1.28"}; !slices.Equal(images, want) || len(pod.Spec.Containers[0].Env) != 1 || len(pod.Labels) != 1 {
		t.Errorf("images %v, labels %v, variables %v", images, pod.Labels, pod.Spec.Containers[0].Env)
	}
	if hook := w.configMap("before"); hook.Annotations["patched"] != "true" || hook.Labels["team"] != "one" || hook.Labels[helmv2.LabelName] != "rendered" {
		t.Errorf("hook: labels %v, annotations %v", hook.Labels, hook.Annotations)
	}

	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.PostRenderStrategy, hr.Spec.CommonMetadata = helmv2.PostRenderNoHooks, nil
		hr.Spec.Values = rawValues(t, map[string]any{"message": "two"})
	})
	w.untilRevision(hr, 2)
	app = w.deployment("app")
	if app.Labels["xxxx"] != "yyyy" || app.Labels["team"] != "" || app.Annotations["patched"] != "true" {
		t.Errorf("Deployment without common metadata: labels %v, annotations %v", app.Labels, app.Annotations)
	}
	if hook := w.configMap("before"); hook.Annotations["patched"] != "" || hook.Labels["team"] != "" || hook.Labels[helmv2.LabelName] != "rendered" {
		t.Errorf("hook left out: labels %v, annotations %v", hook.Labels, hook.Annotations)
	}
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, d))
	return d
}
