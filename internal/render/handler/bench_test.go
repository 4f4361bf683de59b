// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/chart/archive"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// large is a chart with the size of large charts of monitoring: 120 templates, 2 MB of dashboards,
// and thousands of lines of values.
func large() m {
	files := m{"templates/_h.tpl": `{{ define "name" }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}{{ define "labels" }}app: {{ include "name" . | quote }}{{ end }}`}
	var values strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&values, "key%d:\n  enabled: true\n  # a comment that describes the value\n  text: value %d of the chart\n", i, i)
	}
	files["values.yaml"] = values.String()
	for i := range 40 {
		files[fmt.Sprintf("files/dashboard%d.json", i)] = strings.Repeat(fmt.Sprintf("{\"panel\": \"an expression of panel %d\", \"unit\": \"bytes\"},\n", i), 800)
		files[fmt.Sprintf("templates/dashboard%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dashboard%d\n  labels:{{ include \"labels\" . | nindent 4 }}\ndata:\n  dashboard.json: |-\n{{ .Files.Get \"files/dashboard%d.json\" | indent 4 }}\n", i, i)
	}
	for i := range 80 {
		files[fmt.Sprintf("templates/t%d.yaml", i)] = fmt.Sprintf("{{ if .Values.key%d.enabled }}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"name\" . }}-%d\n  labels:{{ include \"labels\" . | nindent 4 }}\ndata:\n{{- range $i := until 40 }}\n  key{{ $i }}: {{ $.Values.key%d.text | quote }}\n{{- end }}\n{{ with .Values.key%d }}{{ toYaml . | nindent 2 }}{{ end }}\n{{ end }}", i, i, i, i)
	}
	return files
}

// many is a chart of 200 small templates.
func many() m {
	files := m{}
	for i := range 200 {
		files[fmt.Sprintf("templates/t%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-%d\ndata:\n  key: {{ .Values.key | quote }}\n", i)
	}
	return files
}

// BenchmarkRender compares the rendering of a cached chart in this process with that through workers,
// one in this process and one in another. All encode the chart for its record. A traced call is only
// made after a death.
func BenchmarkRender(b *testing.B) {
	for name, tc := range map[string]struct{ files, values m }{"Small": charts()["Small"], "Large": {large(), m{"key1": m{"enabled": false}}}, "Many": {many(), m{"key": "a"}}} {
		in := input(b, tc.files, tc.values)
		b.Run(name+"/InProcess", func(b *testing.B) {
			parsed, err := archive.Load(in.Archive)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				rls, err := (&dryRun{
					Name: in.Release, Namespace: in.Namespace, Install: true, Chart: archive.Copy(parsed), Values: in.Values, Hooks: true,
					Capabilities: in.Capabilities, Connection: &connection{},
				}).run()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(rls.Chart); err != nil {
					b.Fatal(err)
				}
			}
		})
		for kind, client := range map[string]*remote.Client{
			"Local": remote.New(worker.Local{Handler: New()}), "Traced": remote.New(traced{worker.Local{Handler: New()}}), "Process": processes(b),
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := client.Render(b.Context(), in, &rest.Config{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(in.Archive)), "archive-bytes")
			})
		}
	}
}
