// Command gotest runs go test, prints what fails in full and what passes in a line, and names the slowest tests. The
// tests have a directory of their own for temporary files, which is removed with all that killed processes leave there.
//
//	gotest TIMES ARGUMENTS...   runs go test with the arguments, and appends the time of each test to the file TIMES
//	gotest -slowest TIMES       prints the ten slowest tests of a file, by the time from their start to their end
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: gotest TIMES ARGUMENTS... | gotest -slowest TIMES")
		os.Exit(2)
	}
	var err error
	if os.Args[1] == "-slowest" {
		err = printSlowest(os.Stdout, os.Args[2])
	} else {
		err = run(os.Args[1], os.Args[2:])
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(1)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run runs go test. Vet is left out, as it has checked all packages before.
func run(times string, arguments []string) error {
	file, err := os.OpenFile(times, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM) // they end go test, and then this program
	temp, err := newTempDir()
	if err != nil {
		return err
	}
	defer removeAll(temp)
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, arguments...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = report(out, os.Stdout, file)
	return cmp.Or(cmd.Wait(), err)
}

// newTempDir makes a directory for temporary files of all users, as /tmp is one. Its name is short, as those of sockets
// in it must be.
func newTempDir() (string, error) {
	temp, err := os.MkdirTemp("", "gotest-")
	if err != nil {
		return "", err
	}
	return temp, os.Chmod(temp, os.ModeSticky|0o777)
}

// removeAll removes a directory, also if directories in it cannot be written to.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, ImportPath, Output string

	Elapsed float64 // in seconds
}

// result is what is known of a package while it runs.
type result struct {
	outputs map[string]string // by test whose end has not been read; "" is the package itself
	failed  []string          // the outputs of tests that failed, in their order
}

// report reads the events of go test, and writes what a person reads, and the times of tests.
func report(events io.Reader, out, times io.Writer) error {
	results := map[string]*result{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			out.Write(line) // go test writes some errors as text
		case e.Action == "build-output":
			io.WriteString(out, e.Output)
		case e.Package != "":
			r := results[e.Package]
			if r == nil {
				r = &result{outputs: map[string]string{}}
				results[e.Package] = r
			}
			if ended := r.add(e, times); ended {
				io.WriteString(out, r.text(e.Action)) // at once, because two of these programs may run
				delete(results, e.Package)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// add adds an event, and reports whether it ends the package.
func (r *result) add(e event, times io.Writer) (ended bool) {
	if e.Action == "output" {
		r.outputs[e.Test] += e.Output
	}
	if e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		return false
	}
	if e.Test == "" {
		return true
	}
	if e.Action == "fail" {
		r.failed = append(r.failed, r.outputs[e.Test])
	}
	delete(r.outputs, e.Test)
	if !strings.Contains(e.Test, "/") {
		fmt.Fprintf(times, "%.2f %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	return false
}

// text returns what a person reads of a package that has ended with an action: its last line without the coverage, or all
// that its failed and unfinished tests have written.
func (r *result) text(action string) string {
	own := r.outputs[""]
	if action == "skip" {
		return "" // it has no tests
	}
	if action != "fail" {
		last, _, _ := strings.Cut(own[strings.LastIndex(strings.TrimSuffix(own, "\n"), "\n")+1:], "\tcoverage: ")
		return strings.TrimSuffix(last, "\n") + "\n"
	}
	delete(r.outputs, "")
	texts := r.failed
	for _, name := range slices.Sorted(maps.Keys(r.outputs)) {
		texts = append(texts, r.outputs[name])
	}
	return strings.Join(append(texts, own), "")
}

// printSlowest writes the ten lines of a file of times with the greatest times.
func printSlowest(out io.Writer, times string) error {
	text, err := os.ReadFile(times)
	if err != nil {
		return err
	}
	const shown = 10
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seconds := func(line string) float64 {
		number, _, _ := strings.Cut(line, " ")
		s, _ := strconv.ParseFloat(number, 64)
		return s
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(seconds(b), seconds(a)) })
	fmt.Fprintf(out, "the slowest of %d tests, in seconds:\n", len(lines))
	for _, line := range lines[:min(shown, len(lines))] {
		fmt.Fprintln(out, "  "+line)
	}
	return nil
}
