//go:build unix

package file_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

func TestPipeIsRejectedWithoutBlocking(t *testing.T) {
	dir, docs := newDocs(t, nil)
	if err := syscall.Mkfifo(filepath.Join(docs, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, block := range []string{`read = input.name`, "write = input.name\n content = \"x\"\n if_exists = \"append\""} {
		t.Run(block, func(t *testing.T) {
			b := adaptertest.Bind(t, source(dir, block))
			wantPart(t, mustFail(t, b, `{"name": "pipe"}`), "this is not a regular file: ")
		})
	}
}

func TestVersionChangesWhenAFileIsReplaced(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{"a.txt": "one", "b.txt": "two"})
	at := time.Now().Truncate(time.Second)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.Chtimes(filepath.Join(docs, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	b := adaptertest.Bind(t, source(dir, `read = input.name`))
	call, err := b.Call(t.Context(), `{"name": "a.txt"}`)
	if err != nil {
		t.Fatal(err)
	}
	before, err := b.Action.(adapters.Versioner).Version(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(docs, "b.txt"), filepath.Join(docs, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if after, err := b.Action.(adapters.Versioner).Version(t.Context(), call); err != nil || after == before {
		t.Errorf("the version is %q, %v; it was %q", after, err, before)
	}
}
