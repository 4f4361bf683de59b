{{- /* Copyright 2026 The Pintle Authors. SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "pintle.serviceAccount" -}}
{{ .Values.serviceAccount.name | default .Values.name }}
{{- end -}}

{{- define "pintle.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "pintle.defaultServiceAccount" -}}
{{- if kindIs "invalid" .Values.defaultServiceAccount -}}
{{ if not .Values.rbac.clusterAdmin }}helm-release{{ end }}
{{- else -}}
{{ .Values.defaultServiceAccount }}
{{- end -}}
{{- end -}}

{{- define "pintle.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "pintle.serviceAccount" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
