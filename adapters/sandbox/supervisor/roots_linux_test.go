package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func openPath(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func writeFile(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRootsContain(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	roots := Roots{openPath(t, dir)}
	inside := writeFile(t, filepath.Join(dir, "a", "b"))
	linked := filepath.Join(outside, "linked")
	if err := os.Link(inside, linked); err != nil {
		t.Fatal(err)
	}
	sibling := writeFile(t, dir+"-sibling/x")
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(sibling)) })
	for path, want := range map[string]bool{
		dir: true, inside: true, filepath.Dir(inside): true,
		outside: false, linked: false, sibling: false, filepath.Dir(dir): false, "/": false,
	} {
		if got := roots.Contains(openPath(t, path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestRootsFollowRenames(t *testing.T) {
	dir, outside := filepath.Join(t.TempDir(), "root"), t.TempDir()
	file := writeFile(t, filepath.Join(dir, "x"))
	leaving := writeFile(t, filepath.Join(dir, "leaving"))
	roots := Roots{openPath(t, dir)}
	open, left := openPath(t, file), openPath(t, leaving)
	for _, err := range []error{os.Rename(dir, dir+"2"), os.Rename(dir+"2/leaving", filepath.Join(outside, "left"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	replaced := writeFile(t, filepath.Join(dir, "x"))
	if !roots.Contains(open) {
		t.Error("a renamed root contains its file no more")
	}
	if roots.Contains(left) {
		t.Error("a file that was moved out of the root is in it")
	}
	if roots.Contains(openPath(t, replaced)) {
		t.Error("a directory with the old name of the root counts as the root")
	}
}

func TestRootsDoNotContainDeletedFiles(t *testing.T) {
	dir := t.TempDir()
	roots := Roots{openPath(t, dir)}
	deleted := openPath(t, writeFile(t, filepath.Join(dir, "x")))
	if err := os.Remove(filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "x (deleted)")) // the name that the kernel reports for the deleted file
	if roots.Contains(deleted) {
		t.Error("a deleted file is in the root")
	}
}
