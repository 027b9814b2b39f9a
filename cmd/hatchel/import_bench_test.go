package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchmarkImport imports all operations of a document, and writes and checks the files, as the command does.
func benchmarkImport(b *testing.B, document string) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		cmd := importOpenAPICommand()
		cmd.SetArgs([]string{document, "--all", "-o", filepath.Join(b.TempDir(), "tools")})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(peakMiB(b), "peak-MiB") // of the process, also of benchmarks before
}

// peakMiB returns the largest resident memory of the process so far.
func peakMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func writeBenchFile(b *testing.B, name, text string) string {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return name
}

const benchHead = `{"openapi": "3.0.3", "info": {"title": "Large"}, "servers": [{"url": "https://l.test"}], "paths": {`

// A document with 770 operations and 3.7 MB, as that of GitHub.
func BenchmarkImportOfALargeDocument(b *testing.B) {
	var out strings.Builder
	out.WriteString(benchHead)
	for i := range 770 {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `"/things/{id}/part%d": {"post": {"tags": ["t%d"], "operationId": "things/part-%d",
			"description": %q, "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S%d"}}}},
			"responses": {"200": {"description": "ok", "content": {"application/json": {"example": %q}}}}}}`,
			i, i%30, i, strings.Repeat("Changes `one` part of a [thing](https://l.test). ", 20), i%200, strings.Repeat("x", 2500))
	}
	out.WriteString(`}, "components": {"schemas": {`)
	for i := range 200 {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `"S%d": {"type": "object", "properties": {"name": {"type": "string", "description": "A name"},
			"next": {"$ref": "#/components/schemas/S%d"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}}`,
			i, (i+1)%200)
	}
	benchmarkImport(b, writeBenchFile(b, filepath.Join(b.TempDir(), "large.json"), out.String()+"}}}"))
}

// A document of 2,849 files in YAML: for each operation one for itself, its parameters, its body and its answer.
func BenchmarkImportOfADocumentOfManyFiles(b *testing.B) {
	dir := b.TempDir()
	var out strings.Builder
	out.WriteString(benchHead)
	for i := range 712 {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `"/things/{id}/part%d": {"post": {"$ref": "paths/%d.yml"}}`, i, i)
		writeBenchFile(b, filepath.Join(dir, fmt.Sprintf("paths/%d.yml", i)), fmt.Sprintf(`operationId: part_%d
summary: Change part %d
tags: [t%d]
parameters:
  - $ref: "../parameters/%d.yml"
requestBody:
  required: true
  content:
    application/json:
      schema: { $ref: "../bodies/%d.yml" }
responses:
  "200": { $ref: "../answers/%d.yml" }
`, i, i, i%30, i, i, i))
		writeBenchFile(b, filepath.Join(dir, fmt.Sprintf("parameters/%d.yml", i)),
			"name: id\nin: path\nrequired: true\nschema: { type: string, maxLength: 20 }\n")
		writeBenchFile(b, filepath.Join(dir, fmt.Sprintf("bodies/%d.yml", i)), "type: object\nrequired: [name]\nproperties:\n"+
			"  name: { type: string, description: What people call it }\n  size: { type: integer, minimum: 0 }\n"+
			"  labels: { type: array, items: { type: string } }\n")
		writeBenchFile(b, filepath.Join(dir, fmt.Sprintf("answers/%d.yml", i)), "description: ok\ncontent:\n  application/json:\n"+
			"    schema: { type: object, properties: { id: { type: string }, name: { type: string } } }\n")
	}
	benchmarkImport(b, writeBenchFile(b, filepath.Join(dir, "api.json"), out.String()+"}}"))
}
