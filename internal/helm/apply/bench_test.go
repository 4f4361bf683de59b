// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/test/apitest"
)

// stub answers every request for an object with the same object, which is ready, and supports
// discovery.
type stub struct{ whole, metadata []byte }

func newStub(b *testing.B) stub {
	b.Helper()
	const manifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-0
  namespace: prod
  generation: 1
  resourceVersion: "7"
  uid: 0b0e8f6e-3a4e-4b0e-9f5e-1d2c3b4a5f60
  labels: {app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: app}
  managedFields:
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    manager: helm-controller
    operation: Apply
    time: "2026-01-01T00:00:00Z"
    fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}, "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}, "f:env": {}, "f:ports": {}, "f:resources": {}}}}}}}
spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Always, containers: [{name: c, image: example.com/none, env: [{name: A, value: a}, {name: B, value: b}], resources: {limits: {memory: 64Mi}}}]}}}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}
`
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		b.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(raw, &whole); err != nil {
		b.Fatal(err)
	}
	metadata, err := json.Marshal(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": whole["metadata"]})
	if err != nil {
		b.Fatal(err)
	}
	return stub{whole: raw, metadata: metadata}
}

// RoundTrip implements http.RoundTripper.
func (s stub) RoundTrip(req *http.Request) (*http.Response, error) {
	body := s.whole
	if answer, ok := apitest.Discovery(req.URL.Path); ok {
		body = []byte(answer)
	} else if strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") {
		body = s.metadata
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}

// crowd returns a client and a list of Deployments.
func crowd(b *testing.B, n int) (*Client, kube.ResourceList, []runtime.Object) {
	b.Helper()
	conn, err := cluster.Connect(&rest.Config{Host: "http://cluster", Transport: newStub(b), QPS: -1})
	if err != nil {
		b.Fatal(err)
	}
	c := newClient(b.Context(), b, conn, nil)
	var manifests strings.Builder
	for i := range n {
		fmt.Fprintf(&manifests, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-%d, labels: {a: b, c: d}}\nspec: {replicas: 1, selector: {matchLabels: {a: b}}, "+
			"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: example.com/none, env: [{name: A, value: a}, {name: B, value: b}], resources: {limits: {memory: 64Mi}}}]}}}\n", i)
	}
	list, err := c.Build(strings.NewReader(manifests.String()), false)
	if err != nil {
		b.Fatal(err)
	}
	objects := make([]runtime.Object, len(list))
	for i, info := range list {
		objects[i] = info.Object
	}
	c.Begin(Method{ServerSide: true})
	return c, list, objects
}

// BenchmarkApply sends dry runs of twenty Deployments, applies them, and waits for them. They are
// ready at once.
func BenchmarkApply(b *testing.B) {
	c, list, objects := crowd(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		for i, info := range list {
			info.Object = objects[i]
		}
		if err := c.Preflight.run(list, &expectations{}, false); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Create(list); err != nil {
			b.Fatal(err)
		}
		if err := c.Wait(list, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWait waits for twenty Deployments that are ready.
func BenchmarkWait(b *testing.B) {
	c, list, _ := crowd(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Wait(list, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChanged compares 500 objects with those of the previous revision.
func BenchmarkChanged(b *testing.B) {
	_, list, _ := crowd(b, 500)
	_, previous, _ := crowd(b, 500)
	b.ReportAllocs()
	for b.Loop() {
		if len(changedObjects(list, previous)) != 0 {
			b.Fatal("nothing was changed")
		}
	}
}
