package openapi_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/openapi"
)

var update = flag.Bool("update", false, "write what is generated to the golden files")

// TestDocumentsBecomeTheseFiles imports the document of each archive twice, and compares the files and the report.
func TestDocumentsBecomeTheseFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			doc := archive.Files[0]
			got := importFiles(t, doc)
			if again := importFiles(t, doc); !bytes.Equal(txtar.Format(&txtar.Archive{Files: got}), txtar.Format(&txtar.Archive{Files: again})) {
				t.Error("a second import gives other files")
			}
			archive.Files = append(archive.Files[:1:1], got...)
			text := txtar.Format(archive)
			if *update {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(name); err != nil || !bytes.Equal(text, want) {
				t.Errorf("run with -update, and review the difference; got\n%s", text)
			}
		})
	}
}

// importFiles imports a document into a new directory, and returns its files and the report. The files must load without
// mistakes and warnings.
func importFiles(t *testing.T, doc txtar.File) []txtar.File {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, doc.Name), doc.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	o := openapi.Defaults()
	o.Source, o.All, o.Check = filepath.Join(dir, doc.Name), true, checkFiles
	result, err := openapi.Import(t.Context(), o)
	if err != nil {
		return []txtar.File{{Name: "error", Data: []byte(strings.ReplaceAll(err.Error(), dir+"/", "") + "\n")}}
	}
	openapi.ReportFaults(t, result)
	out := filepath.Join(dir, "out")
	report, err := importer.Write(out, result, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	sources := map[string][]byte{}
	for _, name := range report.Files {
		src, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = src
		files = append(files, txtar.File{Name: "want/" + name, Data: src})
	}
	mistakes, err := checkFiles(sources)
	if err != nil || len(mistakes) > 0 {
		t.Errorf("the files do not load without a warning: %v %v", mistakes, err)
	}
	slices.SortFunc(files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	var text bytes.Buffer
	for _, l := range report.Losses {
		fmt.Fprintf(&text, "%s: %s: %s (%s)\n", l.Name, l.Kind, l.Detail, l.Origin)
	}
	return append(files, txtar.File{Name: "report", Data: text.Bytes()})
}
