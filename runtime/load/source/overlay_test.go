package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"hatchel/runtime/load/source"
)

// An overlay has the content of *.hcl files and of others, and what it does not have is read from the disk. An overlay
// of it keeps what it does not replace.
func TestOverlaysReplaceFilesOfAnyKind(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.hcl": "# a", "pins.json": "old", "other.json": "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := source.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := folder.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := disk.With(map[string][]byte{"pins.json": []byte("old")})
	after := before.With(map[string][]byte{"a.hcl": []byte("# b"), "new.json": []byte("new")})
	if err := os.WriteFile(filepath.Join(dir, "pins.json"), []byte("written since"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.hcl": "# b", "pins.json": "old", "other.json": "other", "new.json": "new"} {
		if got, err := after.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is %q: %v", name, got, err)
		}
	}
	if got, err := disk.ReadFile("pins.json"); err != nil || string(got) != "written since" {
		t.Errorf("the snapshot has %q: %v", got, err)
	}
	if _, err := before.ReadFile("new.json"); err == nil {
		t.Error("a later overlay changes an earlier one")
	}
}
