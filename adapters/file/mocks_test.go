package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestATestWritesToACopyOfTheDirectory(t *testing.T) {
	dir, private := t.TempDir(), t.TempDir()
	asked := ""
	mocks := &adaptertest.Mocks{Directory: func(path string) (string, error) {
		asked = path
		return private, nil
	}}
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, Dir: dir, Mocks: mocks, HCL: `
tool "note" {
  description = "Writes."
  file {
    directory = "notes"
    write     = "today.txt"
    content   = "hello"
  }
}`})
	out, err := b.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "notes")
	if asked != notes || out["path"] != filepath.Join(notes, "today.txt") {
		t.Errorf("asked for %s, output %v", asked, out)
	}
	if text, err := os.ReadFile(filepath.Join(private, "today.txt")); string(text) != "hello" {
		t.Error(string(text), err)
	}
}

func TestATestUsesNoFilesOutsideOfTheConfigurationDirectory(t *testing.T) {
	b := adaptertest.Bind(t, adaptertest.Source{Set: testSet, Mocks: &adaptertest.Mocks{}, HCL: `
tool "read" {
  description = "Reads."
  file {
    directory = "../logs"
    read      = "today.txt"
  }
}`})
	_, err := b.Do(t.Context(), `{}`)
	if err == nil || !strings.Contains(err.Error(), "is not in the configuration directory, so a test cannot use it") {
		t.Errorf("error %v", err)
	}
}
