package file_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func TestVersionChangesWithTheFile(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{"a.txt": "one"})
	b := adaptertest.Bind(t, source(dir, `read = input.name`))
	version := func(name string) string {
		t.Helper()
		call, err := b.Call(t.Context(), `{"name": "`+name+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Action.(adapters.Versioner).Version(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(name, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(docs, name)
		writeFile(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Truncate(time.Second)
	write("a.txt", "one", now)
	last := version("a.txt")
	t.Run("not without a change", func(t *testing.T) {
		if again := version("a.txt"); again != last {
			t.Errorf("the versions are %q and %q", last, again)
		}
	})
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"when it is written later", func() { write("a.txt", "two", now.Add(time.Second)) }},
		{"when it has another size and the same time", func() { write("a.txt", "three", now.Add(time.Second)) }},
		{"when it is removed", func() { os.Remove(filepath.Join(docs, "a.txt")) }},
		{"when it is created again", func() { write("a.txt", "one", now) }},
		{"when it becomes a directory", func() {
			os.Remove(filepath.Join(docs, "a.txt"))
			os.Mkdir(filepath.Join(docs, "a.txt"), 0o755)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.change()
			v := version("a.txt")
			if v == last {
				t.Errorf("the version is still %q", v)
			}
			last = v
		})
	}
}
