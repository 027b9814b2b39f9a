package file_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func TestAFileThatIsAnotherHasAnotherVersion(t *testing.T) {
	dir, docs := folder(t, map[string]string{"a.txt": "one"})
	b := adaptertest.Bind(t, tool(dir, `read = input.name`))
	version := func(name string) string {
		t.Helper()
		call, err := b.Call(t.Context(), `{"name": "`+name+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Action.(adapters.Versioned).Version(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(name, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(docs, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Truncate(time.Second)
	write("a.txt", "one", now)
	last := version("a.txt")
	if again := version("a.txt"); again != last {
		t.Errorf("a file that is the same has the versions %q and %q", last, again)
	}
	for _, c := range []struct {
		claim  string
		change func()
	}{
		{"written later", func() { write("a.txt", "two", now.Add(time.Second)) }},
		{"of another size at the same time", func() { write("a.txt", "three", now.Add(time.Second)) }},
		{"removed", func() { os.Remove(filepath.Join(docs, "a.txt")) }},
		{"there again", func() { write("a.txt", "one", now) }},
		{"a directory", func() {
			os.Remove(filepath.Join(docs, "a.txt"))
			os.Mkdir(filepath.Join(docs, "a.txt"), 0o755)
		}},
	} {
		c.change()
		v := version("a.txt")
		if v == last {
			t.Errorf("a file that is %s has the version %q as before", c.claim, v)
		}
		last = v
	}
}
