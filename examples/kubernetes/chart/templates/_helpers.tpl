{{- define "hatchel.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "hatchel.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hatchel.labels" -}}
{{ include "hatchel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "hatchel.image" -}}
{{- $tag := .Values.image.tag | default (printf "%s%s" .Chart.AppVersion (eq .Values.tools.from "git" | ternary "-tools" "")) -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- define "hatchel.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "hatchel.name" .) "default") }}
{{- end }}

{{- /* Whether there may be several pods. */ -}}
{{- define "hatchel.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}true{{ end }}
{{- end }}

{{- /* The files of the configuration that the chart knows, as JSON. */ -}}
{{- define "hatchel.files" -}}
{{- $files := dict }}
{{- if eq .Values.tools.from "values" }}{{ $files = .Values.tools.values }}{{ end }}
{{- if eq .Values.tools.from "chart" }}
{{- range $path, $text := .Files.Glob "tools/*" }}{{ $_ := set $files (base $path) (toString $text) }}{{ end }}
{{- end }}
{{- toJson $files }}
{{- end }}
