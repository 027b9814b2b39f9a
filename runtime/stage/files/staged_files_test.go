package files

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStagedFileLivesUntilClose(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, _ := newTestStore(t, "")
	content := strings.Repeat("page\n", 200_000)
	f := upload(t, s, Upload{Owner: "anna", Name: "../../etc/scan.PDF"}, content)
	c := s.Stage()
	if c.Dir() != "" {
		t.Error("there is a folder before there is a copy")
	}
	path, err := c.Path(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, []byte(content)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if filepath.Base(path) != "1.pdf" || filepath.Dir(path) != c.Dir() {
		t.Errorf("the copy is %s", path)
	}
	if again, err := c.Path(t.Context(), f); again != path || err != nil {
		t.Errorf("asked again, the copy is %s, %v", again, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o400, c.Dir(): 0o700, filepath.Dir(c.Dir()): 0o700, filepath.Dir(filepath.Dir(c.Dir())): 0o700} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
	}
	other := s.Stage()
	elsewhere, err := other.Path(t.Context(), f)
	if err != nil || elsewhere == path {
		t.Errorf("the copy of another call is %s, %v", elsewhere, err)
	}
	folder := c.Dir()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !isGone(path) || !isGone(folder) || isGone(elsewhere) {
		t.Error("not just the copies of the call that is over are gone")
	}
	if _, err := c.Path(t.Context(), f); err == nil {
		t.Error("a call that is over has made a copy")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	parent, err := parentDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

func TestSweepRemovesStagedFilesOfKilledProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if os.Getenv("LEAVES_A_COPY") != "" {
		t.Setenv("TMPDIR", os.Getenv("LEAVES_A_COPY"))
		s, _ := newTestStore(t, "")
		path, err := s.Stage().Path(t.Context(), upload(t, s, Upload{}, "left"))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("copy " + path + "\n")
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	s, _ := newTestStore(t, "")
	mine := s.Stage()
	kept, err := mine.Path(t.Context(), upload(t, s, Upload{}, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweepRemovesStagedFilesOfKilledProcess")
	cmd.Env = append(os.Environ(), "LEAVES_A_COPY="+os.Getenv("TMPDIR"))
	out, _ := cmd.Output()
	_, path, ok := strings.Cut(string(out), "copy ")
	path, _, _ = strings.Cut(path, "\n")
	if !ok || isGone(path) {
		t.Fatalf("nothing was left: %s", out)
	}
	if err := RemoveStale(); err != nil {
		t.Fatal(err)
	}
	if !isGone(path) || !isGone(filepath.Dir(filepath.Dir(path))+lockSuffix) {
		t.Errorf("%s is still there", path)
	}
	if isGone(kept) {
		t.Error("the copy of a process that is alive is gone")
	}
}

func TestUnsafeParentDirectoryIsRejected(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, _ := newTestStore(t, "")
	f := upload(t, s, Upload{}, "private")
	name, err := parentDir()
	if err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func() error{
		"a directory that others can write to": func() error {
			if err := os.Mkdir(name, 0o700); err != nil {
				return err
			}
			return os.Chmod(name, 0o777)
		},
		"a link": func() error { return os.Symlink(dir, name) },
		"a file": func() error { return os.WriteFile(name, nil, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(name), make()); err != nil {
				t.Fatal(err)
			}
			if path, err := s.Stage().Path(t.Context(), f); err == nil {
				t.Errorf("the file was staged at %s", path)
			}
		})
	}
}
