// Package examples_test runs every example the way its reader would: with the real program, from a copy of the folder.
package examples_test

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/internal/programtest"
)

// hatchel is the path of the program, built from this checkout.
var hatchel string

func TestMain(m *testing.M) {
	programtest.Main(m, func(program string) { hatchel = program })
}

// folder is a copy of an example, which a test may change and fill.
type folder struct {
	t    *testing.T
	path string
	env  []string // beside what every process here gets
	args []string // of every command that loads it

	// For the transcripts of a page:
	masks      []mask
	variations []variation
	standIn    func(line string) (printed string) // in place of the shell; nil for none
	served     *journal                           // of the server that a transcript has started
}

// example copies an example as it is in the repository, without what running it has left there.
func example(t *testing.T, name string) *folder {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, strings.TrimPrefix(path, name)), 0o755)
		case strings.Contains(path, ".db") || strings.HasPrefix(path, "invoices/invoices/") && filepath.Base(path) != "2026-04.csv",
			strings.HasPrefix(path, "conformance/changing/") && filepath.Ext(path) == ".hcl":
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, strings.TrimPrefix(path, name)), src, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return &folder{t: t, path: to}
}

func (f *folder) file(elem ...string) string {
	return filepath.Join(append([]string{f.path}, elem...)...)
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.file(name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) read(elem ...string) string {
	f.t.Helper()
	src, err := os.ReadFile(f.file(elem...))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(src)
}

// command is the program with what every process of a test gets: nothing of this machine but the way to its programs.
func (f *folder) command(args ...string) *exec.Cmd {
	cmd := exec.Command(hatchel, args...)
	cmd.Dir = f.path
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.path, "TMPDIR=" + os.TempDir(), "GORACE=" + programtest.RaceOptions}, f.env...)
	return cmd
}

// output is what one run of the program came to.
type output struct {
	stdout, stderr string
	code           int
}

// run runs the program on the folder: `hatchel verb . rest` with the folder's arguments.
func (f *folder) run(args ...string) output {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := f.command(append(args, f.args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	late := time.AfterFunc(maxWait, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// bounds is for a machine that does nothing else.
var pictures = flag.String("pictures", "", "write pictures of all pages of the console into this `directory`")

var bounds = flag.Bool("bounds", false, "check how long things take")

// maxWait is how long anything that has to happen may take on a busy machine.
const maxWait = programtest.Timeout

// eventually asks until ok, and fails the test when it does not come to be.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(maxWait)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("it did not come to be that %s", what)
		}
	}
}

func (f *folder) link(to, name string) {
	f.t.Helper()
	if err := os.Symlink(to, f.file(name)); err != nil {
		f.t.Fatal(err)
	}
}
