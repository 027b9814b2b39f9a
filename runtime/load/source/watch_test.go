package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// watched is a folder under Watch.
type watched struct {
	*testing.T
	folder  *Folder
	changes chan *Snapshot // nil for a folder that could not be read
}

func watchFolder(t *testing.T, dir string) *watched {
	folder, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := folder.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t, folder, make(chan *Snapshot, 100)}
	fs.ReadFile(first, "data.json") // as a configuration that says file("data.json") does
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		folder.Watch(ctx, func() {
			s, err := folder.Snapshot(t.Context())
			if err == nil {
				fs.ReadFile(s, "data.json")
			}
			w.changes <- s
		})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// endurance is how long anything that has to happen may take on a busy machine.
const endurance = time.Minute

// sees waits until the files say what they should.
func (w *watched) sees(what string, files map[string]string) {
	w.Helper()
	limit := time.NewTimer(endurance)
	defer limit.Stop()
	for {
		select {
		case s := <-w.changes:
			if s != nil && w.reads(s, files) {
				return
			}
		case <-limit.C:
			w.Fatalf("not seen: %s", what)
		}
	}
}

func (w *watched) reads(s *Snapshot, want map[string]string) bool {
	got := map[string]string{}
	err := fs.WalkDir(s, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := fs.ReadFile(s, name)
			got[name] = string(b)
		}
		return err
	})
	if err != nil || len(got) != len(want) {
		return false
	}
	for name, text := range want {
		if got[name] != text {
			return false
		}
	}
	return true
}

func (w *watched) write(name, content string) {
	w.Helper()
	full := filepath.Join(w.folder.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryWayOfChangingFilesIsSeen(t *testing.T) {
	dir := t.TempDir()
	w := watchFolder(t, dir)
	w.write("a.hcl", "1")
	w.sees("a new file", map[string]string{"a.hcl": "1"})
	w.write("a.hcl", "2")
	w.sees("an edit that keeps the size", map[string]string{"a.hcl": "2"})
	w.write("deep/er/b.hcl", "b")
	w.sees("a file in a new folder", map[string]string{"a.hcl": "2", "deep/er/b.hcl": "b"})
	w.write("deep/er/b.hcl", "b2")
	w.sees("an edit in a new folder", map[string]string{"a.hcl": "2", "deep/er/b.hcl": "b2"})
	must(t, os.Rename(filepath.Join(dir, "a.hcl"), filepath.Join(dir, "c.hcl")))
	w.sees("a rename", map[string]string{"c.hcl": "2", "deep/er/b.hcl": "b2"})
	w.write("new.tmp", "3")
	must(t, os.Rename(filepath.Join(dir, "new.tmp"), filepath.Join(dir, "c.hcl")))
	w.sees("an editor that writes beside and renames", map[string]string{"c.hcl": "3", "deep/er/b.hcl": "b2"})
	must(t, os.RemoveAll(filepath.Join(dir, "deep")))
	w.sees("a folder that is gone", map[string]string{"c.hcl": "3"})
	w.write("data.json", "{}")
	w.sees("a file that was asked for and appears", map[string]string{"c.hcl": "3"})
	w.write("data.json", "[]")
	w.sees("a file that was asked for and changes", map[string]string{"c.hcl": "3"})
}

func TestFilesOfNoConcernAreNotSeen(t *testing.T) {
	dir := t.TempDir()
	w := watchFolder(t, dir)
	w.write("ledger.db", "x")
	w.write(".git/config.hcl", "x")
	w.write("a.hcl", "1")
	w.sees("a file", map[string]string{"a.hcl": "1"})
	if len(w.changes) != 0 {
		t.Error("more than one change was seen")
	}
}

// A load that looks for the files of programs lists folders. What it leaves out there may come and go.
func TestAFileThatAListingLeavesOutIsNotSeen(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("1"), 0o644))
	list := func() *Snapshot {
		s, err := readFolder(t.Context(), dir)
		must(t, err)
		_, err = s.List(".", func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".db-wal" })
		must(t, err)
		return s
	}
	for name, equal := range map[string]bool{"notes.db-wal": true, "report.py": false} {
		before := list()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		if after := list(); after.equal(before) != equal {
			t.Errorf("%s appears, and the folder is the same: %t", name, !equal)
		}
	}
}

// A ConfigMap is mounted as links through ..data, which is swapped as a whole.
func TestSwappedConfigMapIsSeen(t *testing.T) {
	dir := t.TempDir()
	mount := func(version, a, b string) {
		must(t, os.MkdirAll(filepath.Join(dir, version, "sub"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, version, "a.hcl"), []byte(a), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, version, "sub", "b.hcl"), []byte(b), 0o644))
		must(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	mount("..2026_01", "a1", "b1")
	must(t, os.Symlink("..data/a.hcl", filepath.Join(dir, "a.hcl")))
	must(t, os.Symlink("..data/sub", filepath.Join(dir, "sub")))
	w := watchFolder(t, dir)
	mount("..2026_02", "a2", "b2")
	w.sees("a swap", map[string]string{"a.hcl": "a2", "sub/b.hcl": "b2"})
	must(t, os.RemoveAll(filepath.Join(dir, "..2026_01")))
	mount("..2026_03", "a3", "b3")
	w.sees("a second swap", map[string]string{"a.hcl": "a3", "sub/b.hcl": "b3"})
}

func TestFolderThatComesBackIsSeen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("1"), 0o644))
	w := watchFolder(t, dir)
	must(t, os.RemoveAll(dir))
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("2"), 0o644))
	w.sees("a folder that was replaced", map[string]string{"a.hcl": "2"})
}

// Who operates a server whose folder was moved away learns of it, and that it is back although nothing else is different.
func TestAFolderThatIsGoneIsToldOf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("1"), 0o644))
	w := watchFolder(t, dir)
	must(t, os.Rename(dir, dir+".away"))
	select {
	case s := <-w.changes:
		if s != nil {
			t.Error("a folder that is gone was read")
		}
	case <-time.After(endurance):
		t.Fatal("not told that the folder is gone")
	}
	must(t, os.Rename(dir+".away", dir))
	w.sees("a folder that is back as it was", map[string]string{"a.hcl": "1"})
}

// Releases that were unpacked or built with one time for all files are told apart when a link to them is swapped.
func TestReleasesThatLookAlikeAreToldApart(t *testing.T) {
	dir := t.TempDir()
	long := time.Now().Add(-time.Hour)
	for _, release := range []string{"1", "2"} {
		must(t, os.Mkdir(filepath.Join(dir, release), 0o755))
		name := filepath.Join(dir, release, "a.hcl")
		must(t, os.WriteFile(name, []byte(release), 0o644))
		must(t, os.Chtimes(name, long, long))
	}
	current := filepath.Join(dir, "current")
	must(t, os.Symlink("1", current))
	w := watchFolder(t, current)
	for _, release := range []string{"2", "1"} {
		must(t, os.Symlink(release, current+".next"))
		must(t, os.Rename(current+".next", current))
		w.sees("release "+release, map[string]string{"a.hcl": release})
	}
}

func TestLinksInCirclesEnd(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "a.hcl"), []byte("1"), 0o644))
	must(t, os.Symlink("..", filepath.Join(dir, "sub", "up")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "gone.hcl")))
	s, err := readFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.nodes) != 4 { // the folder, sub, a.hcl, and the link to nowhere, which cannot be read
		t.Errorf("%d files and folders", len(s.nodes))
	}
	if _, err := s.ReadFile("gone.hcl"); err == nil {
		t.Error("a link to nowhere was read")
	}
}

// A line of a file outside of the folder must not be quoted in a diagnostic.
func TestLinksOutOfTheFolderAreRefused(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret.hcl"), []byte("password"), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "a.hcl"), []byte("1"), 0o644))
	for name, target := range map[string]string{
		"file.hcl":   filepath.Join(outside, "secret.hcl"),
		"folder":     outside,
		"inside.hcl": filepath.Join(dir, "sub", "a.hcl"),
		"again":      "sub",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	// the folder may be reached by a link itself
	link := filepath.Join(t.TempDir(), "current")
	must(t, os.Symlink(dir, link))
	s, err := readFolder(t.Context(), link)
	must(t, err)
	for _, name := range []string{"file.hcl", "folder/secret.hcl"} {
		if b, err := s.ReadFile(name); len(b) > 0 || err == nil || !strings.Contains(err.Error(), "outside") {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"inside.hcl", "again/a.hcl"} {
		if b, err := s.ReadFile(name); err != nil || string(b) != "1" {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
}

func TestSnapshotIsAFileSystem(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "a.hcl"), []byte("1"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "b.hcl"), []byte("2"), 0o644))
	s, err := readFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(s, "sub/a.hcl", "b.hcl"); err != nil {
		t.Error(err)
	}
}

func TestAFileThatWasEmptiedToBeWrittenIsNotReadEmpty(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.hcl")
	folder, err := NewFolder(dir)
	must(t, err)
	for range 20 {
		emptied := time.Now()
		must(t, os.WriteFile(name, nil, 0o644))
		read := make(chan *Snapshot)
		go func() {
			s, err := folder.Snapshot(t.Context())
			if err != nil {
				t.Error(err)
			}
			read <- s
		}()
		must(t, os.WriteFile(name, []byte("1"), 0o644))
		inTime := time.Since(emptied) < emptyFileGrace/2
		if b, err := fs.ReadFile(<-read, "a.hcl"); inTime && (err != nil || string(b) != "1") {
			t.Errorf("read %q, %v", b, err)
		}
	}
	must(t, os.WriteFile(name, nil, 0o644))
	s, err := folder.Snapshot(t.Context())
	must(t, err)
	if b, err := fs.ReadFile(s, "a.hcl"); err != nil || len(b) > 0 {
		t.Errorf("a file that stays empty reads %q, %v", b, err)
	}
}

// A server that stops while a file is empty does not wait for its content.
func TestTheWaitForTheContentOfAFileEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.hcl")
	must(t, os.WriteFile(name, nil, 0o644))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		must(t, os.Chtimes(name, began, began))
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(time.Millisecond, func() { cancel(nil) })
		defer stop.Stop()
		_, err := readFolder(ctx, filepath.Dir(name))
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took != time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// Who has read an empty file may be held up before looking at when it was written.
func TestAFileThatIsWrittenWhileItIsReadDoesNotStayEmpty(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.hcl")
	now := time.Now()
	for _, c := range []struct {
		claim, text    string
		written, began time.Time
		stays          bool
	}{
		{"nobody has written it for long", "", now.Add(-time.Hour), now, true},
		{"its time is to come", "", now.Add(time.Hour), now, true},
		{"it was emptied just before it was read", "", now.Add(-emptyFileGrace / 2), now, false},
		{"that was long ago", "", now.Add(-time.Hour - emptyFileGrace/2), now.Add(-time.Hour), false},
		{"it was emptied while it was read, which took long", "", now.Add(-time.Second), now.Add(-time.Hour), false},
		{"it was written while it was read, which took long", "1", now.Add(-time.Second), now.Add(-time.Hour), false},
		{"it was written while it was read, as of long ago", "1", now.Add(-time.Hour), now, false},
	} {
		must(t, os.WriteFile(name, []byte(c.text), 0o644))
		must(t, os.Chtimes(name, c.written, c.written))
		info, err := os.Stat(name)
		must(t, err)
		if got := staysEmpty(info, c.began); got != c.stays {
			t.Errorf("%s: it stays empty: %v", c.claim, got)
		}
	}
}

func TestAChangedFileOfASecretIsSeen(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(secret, []byte("old"), 0o600))
	folder, err := NewFolder(dir)
	must(t, err)
	values := make(chan string, 100)
	read := func() {
		_, err := folder.Snapshot(t.Context())
		must(t, err)
		text, _ := folder.ReadSecret(secret)
		values <- string(text)
	}
	read()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { folder.Watch(ctx, read) })
	t.Cleanup(func() { cancel(); running.Wait() })
	await := func(want string) {
		t.Helper()
		for limit := time.After(endurance); ; {
			select {
			case got := <-values:
				if got == want {
					return
				}
			case <-limit:
				t.Fatalf("%q is not seen", want)
			}
		}
	}
	await("old")
	must(t, os.WriteFile(secret, []byte("new"), 0o600))
	await("new")
	must(t, os.Rename(secret, secret+".1"))
	await("")
	must(t, os.WriteFile(secret+".2", []byte("third"), 0o600))
	must(t, os.Rename(secret+".2", secret))
	await("third")
}
