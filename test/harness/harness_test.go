// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"oras.land/oras-go/v2/registry/remote"
)

func TestHelloChartRenders(t *testing.T) {
	manifests := render(t, map[string]any{"message": "one", "podAnnotations": map[string]any{"simulate.pintle.dev/ready": "never"}})
	for _, want := range []string{
		"kind: Deployment", "kind: Service", "kind: ConfigMap", "kind: Job", "kind: Pod",
		`message: "one"`, "simulate.pintle.dev/ready: never", "helm.sh/chart: hello-1.2.3", "helm.sh/hook: pre-upgrade",
	} {
		if !strings.Contains(manifests, want) {
			t.Errorf("%q is missing in\n%s", want, manifests)
		}
	}
	if manifests == render(t, map[string]any{"message": "two", "podAnnotations": map[string]any{"simulate.pintle.dev/ready": "never"}}) {
		t.Error("another message changes nothing")
	}
}

func render(t *testing.T, values map[string]any) string {
	t.Helper()
	archive, err := HelloChart("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "hello", Namespace: "default", Revision: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range []string{"configmap", "deployment", "pre-upgrade", "service", "tests/message"} {
		b.WriteString(files["hello/templates/"+name+".yaml"])
	}
	return b.String()
}

// TestBenchChartRenders: the bench chart has the objects that test/load/README.md describes.
// Results of another chart would not be comparable.
func TestBenchChartRenders(t *testing.T) {
	c, err := LoadChart("bench")
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, map[string]any{"message": "one"},
		chartutil.ReleaseOptions{Name: "some", Namespace: "default", Revision: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 {
		t.Errorf("%d templates, want four", len(files))
	}
	for file, want := range map[string]string{
		"deployment": "replicas: 0", "service": "kind: Service", "serviceaccount": "kind: ServiceAccount", "ingress": "kind: Ingress",
	} {
		if got := files["bench/templates/"+file+".yaml"]; !strings.Contains(got, want) || !strings.Contains(got, "name: some\n") {
			t.Errorf("%s: %q or the release's name is missing in\n%s", file, want, got)
		}
	}
}

func TestHelloChartSchema(t *testing.T) {
	archive, err := HelloChart("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		values map[string]any
		reason string
	}{
		"MessageIsANumber": {map[string]any{"message": 7}, "/message"},
		"NegativeReplicas": {map[string]any{"replicas": -1}, "/replicas"},
		"PortTooHigh":      {map[string]any{"service": map[string]any{"port": 65536}}, "/service/port"},
		"Misspelt":         {map[string]any{"mesage": "x"}, "mesage"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := loader.LoadArchive(bytes.NewReader(archive))
			if err != nil {
				t.Fatal(err)
			}
			_, err = chartutil.ToRenderValues(c, test.values, chartutil.ReleaseOptions{}, nil)
			if err == nil || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("error %v, want one that says %s", err, test.reason)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	r, err := StartRegistry(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		archive, err := HelloChart(version)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.PushChart(t.Context(), "charts", archive); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := remote.NewRepository(r.Address + "/charts/hello")
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	var tags []string
	err = repo.Tags(t.Context(), "", func(page []string) error { tags = append(tags, page...); return nil })
	if err != nil || strings.Join(tags, " ") != "1.0.0 1.1.0" {
		t.Errorf("tags %v, error %v", tags, err)
	}
}

func TestController(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\"\nread line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &Environment{Controller: newController(Options{Dir: t.TempDir(), Controller: script, ControllerArgs: []string{"mine"}}, "none")}
	// Without input, the read command returns at once and the script ends.
	if err := e.Controller.Start(); err != nil {
		t.Fatal(err)
	}
	err := e.Until(t.Context(), "the impossible", func() (string, bool) { return "nothing of it", false })
	for _, want := range []string{"the impossible", "nothing of it", "ended by itself", "--metrics-addr=0", "mine"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in error: %v", want, err)
		}
	}
	if err := e.Controller.Stop(t.Context()); err == nil {
		t.Error("Stop returns no error although the process had already ended")
	}
}

func TestControllerIsKilled(t *testing.T) {
	c := newController(Options{Dir: t.TempDir(), Controller: "sleep"}, "none")
	c.args = []string{"600"}
	for _, end := range []func(context.Context) error{c.Stop, c.Kill} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if err := end(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Ended(); err != nil {
			t.Errorf("a stopped process counts as ended unexpectedly: %v", err)
		}
	}
}
