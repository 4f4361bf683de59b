{{- /*
Copyright 2026 The Pintle Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Both names, so that another chart name is seen in the names of objects. */ -}}
{{- define "fickle.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fickle.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
