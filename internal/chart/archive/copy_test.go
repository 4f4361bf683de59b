// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// family returns a chart with everything that Helm changes: packed and aliased subcharts,
// conditions, tags and imported values.
func family(t *testing.T) []byte {
	t.Helper()
	template := "kind: ConfigMap\nname: {{ .Chart.Name }}-{{ .Chart.Version }}\nvalues: {{ .Values | toJson }}\nfile: {{ .Files.Get \"note.txt\" }}\n"
	packed := archive(t, map[string]string{
		"packed/Chart.yaml":       "apiVersion: v2\nname: packed\nversion: 3.0.0\n",
		"packed/values.yaml":      "exports:\n  data:\n    imported: yes\n",
		"packed/templates/p.yaml": template,
	})
	return archive(t, map[string]string{
		"top/Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\nkeywords: [k]\nsources: [s]\nannotations: {a: b}\nmaintainers: [{name: m}]\n" +
			"dependencies:\n- {name: sub, version: 2.0.0, alias: one, condition: one.enabled, tags: [t]}\n- {name: sub, version: 2.0.0, alias: two, condition: two.enabled}\n" +
			"- name: packed\n  version: 3.0.0\n  import-values: [data, {child: exports, parent: everything}]\n",
		"top/Chart.lock":               "generated: \"2026-01-01T00:00:00Z\"\ndigest: d\ndependencies: [{name: sub, version: 2.0.0, repository: r}]\n",
		"top/values.yaml":              "list: [{a: 1}, [2]]\none: {enabled: true}\ntwo: {enabled: true, message: two}\nglobal: {g: 1}\n",
		"top/values.schema.json":       `{"type":"object"}`,
		"top/note.txt":                 "note",
		"top/crds/crd.yaml":            "kind: CustomResourceDefinition\n",
		"top/templates/t.yaml":         template,
		"top/charts/sub/Chart.yaml":    "apiVersion: v2\nname: sub\nversion: 2.0.0\n",
		"top/charts/sub/values.yaml":   "message: default\nnested: {deep: [1]}\n",
		"top/charts/sub/templates/s":   template,
		"top/charts/packed-3.0.0.tgz":  string(packed),
		"top/charts/sub/crds/crd.yaml": "kind: CustomResourceDefinition\n",
	})
}

func parse(t *testing.T, data []byte) *helmchart.Chart {
	t.Helper()
	c, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// memory adds the addresses of all memory that can be written through a value to seen.
func memory(v reflect.Value, seen map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Slice && v.Cap() == 0 {
			return
		}
		address := fmt.Sprintf("%s at %#x", v.Type(), v.Pointer())
		if seen[address] {
			return
		}
		seen[address] = true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type().String() != "*time.Location" {
			memory(v.Elem(), seen)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			memory(v.MapIndex(key), seen)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			memory(v.Index(i), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			memory(v.Field(i), seen)
		}
	}
}

// TestCopySharesNothing: a copy is equal to the original and shares no memory. The test also covers
// fields that a newer Helm adds.
func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"Family": family(t), "Bare": archive(t, map[string]string{"bare/Chart.yaml": "apiVersion: v2\nname: bare\nversion: 1.0.0\n"})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, data)
			other := Copy(c)
			if diff := cmp.Diff(c, other, cmp.AllowUnexported(helmchart.Chart{})); diff != "" {
				t.Errorf("the copy differs (-original +copy):\n%s", diff)
			}
			of, ofCopy := map[string]bool{}, map[string]bool{}
			memory(reflect.ValueOf(c), of)
			memory(reflect.ValueOf(other), ofCopy)
			if len(of) < 5 || len(of) != len(ofCopy) {
				t.Errorf("%d addresses in the original, %d in the copy", len(of), len(ofCopy))
			}
			for address := range ofCopy {
				if of[address] {
					t.Errorf("shared: %s", address)
				}
			}
		})
	}
}

// use renders a chart like an action, and changes it afterwards.
func use(c *helmchart.Chart, message string) (map[string]string, error) {
	values := map[string]any{"one": map[string]any{"message": message}, "two": map[string]any{"enabled": message != "x"}, "list": []any{message}}
	c.Metadata.Version = "1.0.0+" + message
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	spoil(c, message)
	return files, nil
}

// spoil changes all parts of a chart.
func spoil(c *helmchart.Chart, message string) {
	c.Metadata.Annotations = map[string]string{message: message}
	c.Values["message"] = message
	for _, files := range [][]*helmchart.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			f.Name = message
			clear(f.Data)
		}
	}
	for _, sub := range c.Dependencies() {
		spoil(sub, message)
	}
}

// TestChartsAreUsedSideBySide: concurrent renderings have the results of charts that were parsed
// for them alone. The race detector checks that they share nothing.
func TestChartsAreUsedSideBySide(t *testing.T) {
	t.Parallel()
	data := family(t)
	shared := parse(t, data)
	var wg sync.WaitGroup
	for _, message := range []string{"x", "y", "z", "x", "y", "z"} {
		want, err := use(parse(t, data), message)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range 5 {
				got, err := use(Copy(shared), message)
				if err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-fresh +copied):\n%s", message, diff)
				}
			}
		})
	}
	wg.Wait()
}

func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	return bomb(t, func(w *tar.Writer) {
		for name, content := range files {
			add(t, w, tar.Header{Name: name}, content)
		}
	})
}
