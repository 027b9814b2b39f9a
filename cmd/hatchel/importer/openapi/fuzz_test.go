package openapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/openapi"
	"hatchel/hcl/syntax"
)

// marker is a text in a file above the folder of a document.
const marker = "outsideofthefolder"

// FuzzImportOfADocument imports documents of several files, in JSON and YAML. Nothing above the folder may be read, and
// what is written must be valid.
func FuzzImportOfADocument(f *testing.F) {
	for _, name := range []string{"testdata/golden/*.txtar", "testdata/judge/*"} {
		files, _ := filepath.Glob(name)
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			doc, _, _ := strings.Cut(string(src), "\n-- want")
			_, after, isArchive := strings.Cut(doc, "-- doc.yaml --\n")
			if isArchive {
				doc = after
			}
			f.Add(doc, "get: {summary: Other}")
		}
	}
	for _, doc := range []string{
		"openapi: 3.0.0\npaths: {/a: {$ref: ../secret.yaml}, /b: {$ref: other.yaml}, /c: {$ref: link.yaml}, /d: {$ref: '%2e%2e/secret.yaml'}}",
		"openapi: 3.0.0\npaths: {/a: {get: {$ref: 'http://127.0.0.1:1/x.yaml#/a'}}, /b: {get: {$ref: 'file:///etc/passwd'}}}",
		"a: &a [*a]", "a: &a {<<: *a}\npaths: {/a: *a}", "openapi: 3.0.0\npaths:\n\t/a: {}", "paths: {/a: {get: 1, get: 2}, /a: []}",
		`{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "a", "operationId": "b"}}}}`,
		`{"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"name": "n", "in": "query", "schema": {"minimum": ` +
			strings.Repeat("9", 4000) + `e` + strings.Repeat("9", 300) + `}}]}}}}`,
		strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), strings.Repeat("[", 3000),
		"openapi: 3.0.0\npaths: {/a: {get: {parameters: [{name: '\"; ${x} %{if}', in: query, schema: {enum: ['${x}', \"\\u202e\"]}}]}}}",
	} {
		f.Add(doc, "parameters: [{$ref: doc.yaml#/x}]")
	}
	f.Fuzz(func(t *testing.T, doc, other string) {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"secret.yaml": "get: {summary: " + marker + "}", "api/doc.yaml": doc, "api/other.yaml": other,
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../secret.yaml", filepath.Join(dir, "api/link.yaml")); err != nil {
			t.Fatal(err)
		}
		o := openapi.Defaults()
		o.Source, o.All = filepath.Join(dir, "api/doc.yaml"), true
		result, err := openapi.Import(t.Context(), o)
		if err != nil {
			return
		}
		openapi.ReportFaults(t, result)
		for _, b := range result.Blocks {
			if _, diags := syntax.Parse(b.File, []byte(b.Text+"\n")); diags.HasErrors() {
				t.Errorf("%v\n%s", diags, b.Text)
			}
			if strings.Contains(b.Text, marker) && !strings.Contains(doc+other, marker) {
				t.Errorf("a file above the folder was read:\n%s", b.Text)
			}
		}
		if _, err := importer.Write(filepath.Join(dir, "out"), result, importer.Options{}); err != nil {
			if _, exists := os.Stat(filepath.Join(dir, "out")); exists == nil {
				t.Errorf("a part was written before %v", err)
			}
			t.Error(err)
		}
	})
}
