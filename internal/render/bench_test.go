// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"testing"

	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/client-go/rest"
)

// BenchmarkRender compares the sandbox with Helm alone, for a chart of 40 templates with common
// helpers.
func BenchmarkRender(b *testing.B) {
	files := map[string]string{"templates/_h.tpl": `{{ define "name" }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}{{ define "labels" }}app: {{ include "name" . | quote }}{{ end }}`}
	for i := range 40 {
		files[fmt.Sprintf("templates/t%d.yaml", i)] = `metadata:{{ include "labels" . | nindent 2 }}
  name: {{ include "name" . }}
spec:
{{- range $i := until 10 }}
- {{ $i }}: {{ $.Values.a | default "x" | quote }}
{{- end }}
{{ with .Values.map }}{{ toYaml . | nindent 4 }}{{ end }}{{ tpl .Values.user.text . }}`
	}
	b.Run("Helm", func(b *testing.B) {
		for b.Loop() {
			c := chartOf(files)
			if _, err := engine.New(&rest.Config{}).Render(c, valuesFor(b, c)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Sandbox", func(b *testing.B) {
		for b.Loop() {
			if _, err := inside(b.Context(), b, chartOf(files), DefaultLimits()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Nothing", func(b *testing.B) {
		for b.Loop() {
			if _, err := inside(b.Context(), b, chartOf(nil), DefaultLimits()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
