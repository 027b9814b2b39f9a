package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerifyFindsEveryChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{MaxFileSize: 2000})
	for i := range 20 {
		check(t, l.Append(call(fmt.Sprint("call ", i)), false))
	}
	check(t, l.Close())
	files, err := Files(path)
	check(t, err)
	if len(files) < 3 {
		t.Fatalf("only %d files", len(files))
	}
	if v := holds(t, path); v.Records != int64(22+len(files)-1) || v.Files != len(files) || v.First != 1 {
		t.Fatal(v)
	}
	src, err := os.ReadFile(files[1])
	check(t, err)
	lines := bytes.SplitAfter(src, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	put := func(name string, b []byte) { check(t, os.WriteFile(name, b, 0o600)) }
	changed := map[string][]byte{
		"a changed record":  join(lines[0], bytes.Replace(lines[1], []byte(`"ok"`), []byte(`"no"`), 1), join(lines[2:]...)),
		"a removed record":  join(lines[0], join(lines[2:]...)),
		"swapped records":   join(lines[0], lines[2], lines[1], join(lines[3:]...)),
		"a repeated record": join(lines[0], lines[0], join(lines[1:]...)),
		"an inserted line":  join(lines[0], []byte("{}\n"), join(lines[1:]...)),
		"an empty line":     join(lines[0], []byte("\n"), join(lines[1:]...)),
	}
	for name, b := range changed {
		t.Run(name, func(t *testing.T) {
			put(files[1], b)
			if v := verify(t, path); v.Broken == nil || v.Broken.File != files[1] || v.Broken.Line != 2 {
				t.Error(v)
			}
		})
	}
	t.Run("a changed bit anywhere", func(t *testing.T) {
		for i := 0; i < len(src); i += 7 {
			b := bytes.Clone(src)
			b[i] ^= 1
			put(files[1], b)
			if v := verify(t, path); v.Broken == nil {
				t.Errorf("at byte %d: %v", i, v)
			}
		}
	})
	t.Run("a removed file", func(t *testing.T) {
		put(files[1], src)
		holds(t, path)
		check(t, os.Rename(files[1], path+".away"))
		v := verify(t, path)
		if v.Broken == nil || v.Broken.File != files[2] || v.Broken.Line != 1 || !strings.Contains(v.Broken.Reason, "missing") {
			t.Error(v)
		}
	})
}

func TestVerifyFindsRehashedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := written(t, path, 3)
	before, _, _ := parseLine(bytes.TrimSpace(lines[1]))
	lines[1], _ = before.link(nil, call("y").append(nil))
	check(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	if v := verify(t, path); v.Broken == nil || v.Broken.Line != 3 || !strings.Contains(v.Broken.Reason, "the record before this one was changed") {
		t.Error(v)
	}
}

func TestChainSpansFilesAndProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 5 {
		l := open(t, path, Limits{MaxFileSize: 1500})
		for range 10 {
			check(t, l.Append(call("x"), false))
		}
		check(t, l.Close())
	}
	v := holds(t, path)
	if v.Files < 5 {
		t.Fatal(v)
	}
	// A process can die between the two renames of a rotation.
	check(t, os.Rename(path, fullName(path, v.Files)))
	check(t, os.WriteFile(path+".next", nil, 0o600))
	l := open(t, path, Limits{MaxFileSize: 1500, MaxFiles: 2})
	for range 30 {
		check(t, l.Append(call("x"), false))
	}
	check(t, l.Close())
	kept := holds(t, path)
	if kept.Files != 3 || kept.First <= 1 || kept.Last < v.Last+30 {
		t.Error(kept)
	}
	removed := 0
	for _, r := range events(t, path) {
		removed += len(r.Removed)
	}
	if removed == 0 {
		t.Error("no record names the removed files")
	}
	if _, err := os.Stat(path + ".next"); err == nil {
		t.Error("the file of an interrupted rotation is still there")
	}
}

func TestStreamHasOneChainPerProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collected.jsonl")
	var out bytes.Buffer
	for range 3 {
		l, err := Stream(&out)
		check(t, err)
		check(t, l.Append(call("x"), true))
		check(t, l.Close())
	}
	check(t, os.WriteFile(path, out.Bytes(), 0o600))
	if v := holds(t, path); v.Records != 9 {
		t.Error(v)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	check(t, os.WriteFile(path, []byte(lines[0]+strings.Join(lines[2:], "")), 0o600))
	if v := verify(t, path); v.Broken == nil || v.Broken.Line != 2 {
		t.Error(v)
	}
}

func FuzzVerify(f *testing.F) {
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	l := open(f, path, Limits{})
	check(f, l.Append(call("x"), true))
	src, err := os.ReadFile(path)
	check(f, err)
	f.Add(src)
	f.Add(src[:len(src)-10])
	f.Add([]byte("{\"seq\":1,\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		check(t, os.WriteFile(path, b, 0o600))
		before := verify(t, path)
		l, err := Open(path, Limits{})
		if err != nil {
			return
		}
		check(t, l.Close())
		if after := verify(t, path); before.Broken == nil && after.Broken != nil {
			t.Errorf("%v, and then %v", before, after)
		}
	})
}
