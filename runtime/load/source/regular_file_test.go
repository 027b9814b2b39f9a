package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Who may put a link or a pipe into the folder must not make the server read another file, or wait.
func TestOnlyPlainFilesOfTheFolderAreRead(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret"), "outside")
	write(filepath.Join(dir, "a.txt"), "inside")
	write(filepath.Join(dir, "a.hcl"), "")
	if err := os.Mkdir(filepath.Join(dir, "..data"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "..data", "b.txt"), "inside")
	for name, to := range map[string]string{
		"b.txt": "..data/b.txt", "out.txt": filepath.Join(outside, "secret"), "up.txt": "../" + filepath.Base(outside) + "/secret", "folder": outside, "zero.txt": "/dev/zero",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe.txt", "pipe.hcl"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := readFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if b, err := s.ReadFile(name); string(b) != "inside" || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"out.txt", "up.txt", "folder/secret", "zero.txt"} {
		if b, err := s.ReadFile(name); len(b) > 0 || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"pipe.txt", "pipe.hcl", "..data"} {
		if b, err := s.ReadFile(name); len(b) > 0 || err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if b, err := ReadRegularFile(filepath.Join(outside, "secret"), 3); err == nil {
		t.Errorf("more than the limit was read: %q", b)
	}
}
