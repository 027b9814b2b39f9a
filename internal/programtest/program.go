// Package programtest builds the program hatchel, for tests that run it as its users do.
package programtest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// Timeout is the time that any event may take on a busy machine.
const Timeout = time.Minute

// Ready matches the line that a server writes to standard error when it accepts requests. The group is its URL.
var Ready = regexp.MustCompile(`hatchel: serving .* at (http://[0-9.:]+)/mcp`)

// RaceOptions are those of programs with the race detector, which would otherwise wait a second before they exit.
const RaceOptions = "halt_on_error=1 atexit_sleep_ms=0"

// Main builds the program, with the race detector if the tests have it, calls use with its path, runs the tests of a
// package, and exits. The program is in a directory of its own, which other users may read.
func Main(m *testing.M, use func(program string)) {
	os.Setenv("GORACE", RaceOptions)
	dir, err := os.MkdirTemp("", "hatchel-program-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	program := filepath.Join(dir, "hatchel")
	if err == nil {
		err = build(program)
	}
	code := 1
	if err == nil {
		use(program)
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(program string) error {
	// It takes less time without what only a debugger and a release need.
	cmd := exec.Command("go", "build", "-ldflags=-w", "-buildvcs=false", fmt.Sprintf("-race=%t", RaceEnabled),
		"-o", program, "hatchel/cmd/hatchel")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// Reply is the response to a request, or its error.
type Reply struct {
	Status int
	Body   string
	Err    error
}

// Send makes a request that must be answered within Timeout, also if it waits for an approval.
func Send(r *http.Request) Reply {
	res, err := (&http.Client{Timeout: Timeout}).Do(r)
	if err != nil {
		return Reply{Err: err}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return Reply{res.StatusCode, string(answer), err}
}
