//go:build unix

package file_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestPipeIsRefusedAndNotWaitedFor(t *testing.T) {
	dir, docs := folder(t, nil)
	if err := syscall.Mkfifo(filepath.Join(docs, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, block := range []string{`read = input.name`, "write = input.name\n content = \"x\"\n if_exists = \"append\""} {
		b := adaptertest.Bind(t, tool(dir, block))
		if said := refused(t, b, `{"name": "pipe"}`); !strings.HasPrefix(said, "this is not a plain file: ") {
			t.Error(said)
		}
	}
}
