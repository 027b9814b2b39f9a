package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudoterminal.
func openTerminal(t *testing.T) (controller, terminal *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { controller.Close() })
	return controller, terminal
}

// runOnTerminal runs the program with a terminal as its input, output and error output, and returns what a person reads
// there, without what moves the cursor.
func runOnTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	controller, terminal := openTerminal(t)
	cmd := exec.CommandContext(t.Context(), "hatchel", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var out bytes.Buffer
	io.Copy(&out, controller) // ends with an error when the program does
	cmd.Wait()
	return regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]|\r").ReplaceAllString(out.String(), "")
}

// TestAFailureIsPrintedOnceOnATerminal reads what call, read and prompt print of failures with and without a cause.
func TestAFailureIsPrintedOnceOnATerminal(t *testing.T) {
	dir := t.TempDir()
	const src = `
connection "http" "up" { base_url = "http://127.0.0.1:9" }
tool "refused" {
  description = "Asks nobody."
  http "up" { get = "/x" }
}
tool "denied" {
  description = "Lists homes."
  shell { command = ["ls", "/home"] }
}
tool "plain" {
  description = "Fails."
  shell { script = "echo no such branch >&2; exit 3" }
}
tool "partly" {
  description = "Goes on."
  step "s" {
    on_error = "continue"
    http "up" { get = "/x" }
  }
  text = "done"
}
tool "wrong" {
  description = "Needs a number."
  input "n" { type = integer }
  text = "x"
}
resource "r" {
  uri = "x://r"
  http "up" { get = "/x" }
}
prompt "p" {
  description = "A prompt."
  step "s" {
    http "up" { get = "/x" }
  }
  message "user" { text = "x" }
}
`
	if err := os.WriteFile(filepath.Join(dir, "a.hcl"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	const refused, cause = "the service refuses connections; it may be down", "cause: dial tcp 127.0.0.1:9: connect: connection refused"
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"call refused", []string{refused, cause}},
		{"call partly", []string{refused, cause, "partial: 1 of 1 failed", "done"}},
		{"call denied", []string{"ls: cannot open directory '/home'", `write sandbox { read = ["/home"] }`}},
		{"call plain", []string{"no such branch"}},
		{"call wrong", []string{"n: is required"}},
		{"read x://r", []string{refused, cause}},
		{"prompt p", []string{refused, cause}},
	} {
		got := runOnTerminal(t, dir, strings.Fields(c.command)...)
		for _, want := range c.want {
			if strings.Count(got, want) != 1 || strings.Contains(got, "level=") {
				t.Errorf("%s: %q is not there once in\n%s", c.command, want, got)
			}
		}
	}
}
