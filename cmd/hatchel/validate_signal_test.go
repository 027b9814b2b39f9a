package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hatchel/cmd/hatchel/exit"
)

// A reader that does not read, such as a pager, must not keep validate from ending.
func TestValidateEndsOnTheFirstSignal(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 { // more than a pipe takes
		text := fmt.Sprintf("tool \"t%d\" {\n  description = \"Does something.\"\n  text        = \"%s\"\n}\n", i, strings.Repeat("${inptu.x}", 100))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.hcl", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "hatchel", "validate", dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it prints
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	state, err := cmd.Process.Wait() // not cmd.Wait, which reads
	if err != nil || state.ExitCode() != exit.Failed {
		t.Errorf("%v, %v", state, err)
	}
}
