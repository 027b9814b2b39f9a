package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// needs returns the value of a variable that .ci/services sets.
func needs(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv(name) == "" {
		t.Skip(name + " is not set")
	}
	return os.Getenv(name)
}

// testedFolders returns the examples with tests.
func testedFolders(t *testing.T) (folders []string) {
	t.Helper()
	files, err := filepath.Glob("*/*.test.hcl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, file := range files {
		folders = append(folders, filepath.Dir(file))
	}
	return folders
}

func TestTestsOpenNoSocketAndStartNoProgram(t *testing.T) {
	t.Parallel()
	strace := needs(t, "HATCHEL_TEST_STRACE")
	for _, name := range testedFolders(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			const calls = "trace=socket,socketpair,connect,bind,sendto,execve,execveat"
			cmd := exec.Command(strace, "-f", "-qq", "-e", "signal=none", "-e", calls, "-o", log, hatchel, "test", name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			traced, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			began := 0
			for line := range strings.Lines(string(traced)) {
				switch {
				case strings.Contains(line, ` execve("`+hatchel+`", `): // twice with the race detector
					began++
				case strings.Contains(line, " ???( <"): // a thread that ended between two calls, "detached" or "unfinished"
				default:
					t.Error(line)
				}
			}
			if began == 0 {
				t.Error("nothing was traced")
			}
		})
	}
}

func TestTestsNeedNoNetwork(t *testing.T) {
	t.Parallel()
	unshare, options := needs(t, "HATCHEL_TEST_UNSHARE"), "-n"
	if os.Getuid() != 0 {
		options = "-rn"
	}
	for _, name := range testedFolders(t) {
		if out, err := exec.Command(unshare, options, hatchel, "test", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v:\n%s", name, err, out)
		}
	}
}

// newReported returns a folder with tests that pass, fail and are skipped, whose names and texts have what the formats
// of reports give a meaning to.
func newReported(t *testing.T) *folder {
	f := &folder{t: t, path: t.TempDir()}
	f.write("a.hcl", `
tool "greet" {
  description = "Greet."
  input "name" { type = string }
  text = "Hello ${input.name}"
}`)
	f.write("a.test.hcl", `
test "50 % of # \\ <all> & \"quotes\", a: b ::error::" {
  tool = "greet"
  args = { name = "Ada, 50 % :: \n::set-output name=x::y\r <x> ]]> \u0007" }
  expect { text = "Hello Eva" }
}
test "not yet" {
  tool = "greet"
  args = { name = "Ada" }
  skip = "a # in <the> reason"
}
test "passes" {
  tool = "greet"
  args = { name = "Ada" }
}`)
	return f
}

// report runs hatchel test in the folder, whose tests fail if code is 1.
func (f *folder) report(code int, args ...string) string {
	f.t.Helper()
	out := f.run(append([]string{"test", "."}, args...)...)
	if out.code != code {
		f.t.Fatalf("exit code %d:\n%s%s", out.code, out.stdout, out.stderr)
	}
	return out.stdout
}

func TestReportsAreValidJUnit(t *testing.T) {
	t.Parallel()
	xmllint, schemas := needs(t, "HATCHEL_TEST_XMLLINT"), needs(t, "HATCHEL_TEST_JUNIT")
	all := newReported(t)
	all.report(1, "--junit", "all.xml")
	// The schema of Ant has no skipped tests.
	failing := newReported(t)
	failing.report(1, "--run", "%|passes", "--junit", "failing.xml")
	for file, schema := range map[string]string{
		all.file("all.xml"): "jenkins-junit.xsd", failing.file("failing.xml"): "JUnit.xsd",
	} {
		out, err := exec.Command(xmllint, "--noout", "--nonet", "--schema", filepath.Join(schemas, schema), file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v:\n%s", schema, err, out)
		}
	}
}

func TestReportsAreReadByTheTestHarnessOfPerl(t *testing.T) {
	t.Parallel()
	prove := needs(t, "HATCHEL_TEST_PROVE")
	f := newReported(t)
	harness := func(folder string) (string, error) {
		f.write("run.t", fmt.Sprintf("exec %q test %q --format tap\n", hatchel, folder))
		cmd := exec.Command(prove, "--exec", "sh", "run.t")
		cmd.Dir = f.path
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	orders, err := filepath.Abs("orders")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := harness(orders); err != nil || !strings.Contains(out, "All tests successful.") ||
		!strings.Contains(out, "Tests=8") {
		t.Errorf("%v:\n%s", err, out)
	}
	if out, err := harness(f.path); err == nil || !strings.Contains(out, "Failed test:  1") ||
		!strings.Contains(out, "Tests=3") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// read runs a reader of testdata with a report as its input.
func read(t *testing.T, command, kind, report string) string {
	t.Helper()
	words := append(strings.Fields(command), filepath.Join("testdata", "reports.cjs"), kind)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = strings.NewReader(report)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, &stderr)
	}
	return string(out)
}

func TestReportsAreReadByAParserOfTAP(t *testing.T) {
	t.Parallel()
	command := needs(t, "HATCHEL_TEST_REPORTS")
	found := read(t, command, "tap", newReported(t).report(1, "--format", "tap"))
	want := map[string]any{"ok": false, "count": 3.0, "pass": 2.0, "fail": 1.0, "skip": 1.0, "names": []any{
		`50 % of # \ <all> & "quotes", a: b ::error::`, "not yet skipped: a # in <the> reason", "passes",
	}}
	var got map[string]any
	if err := json.Unmarshal([]byte(found), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %s", err, found)
	}
}

// TestAnnotationsAreThoseOfTheLibraryOfGitHub compares them without the order of their properties.
func TestAnnotationsAreThoseOfTheLibraryOfGitHub(t *testing.T) {
	t.Parallel()
	command, f := needs(t, "HATCHEL_TEST_REPORTS"), newReported(t)
	parts := func(annotations string) (all [][]string) {
		for line := range strings.Lines(annotations) {
			head, message, ok := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "::error "), "::")
			if !ok || !strings.HasPrefix(line, "::error ") {
				continue
			}
			properties := strings.Split(head, ",")
			slices.Sort(properties)
			all = append(all, append(properties, message))
		}
		return all
	}
	got := parts(f.report(1, "--format", "github"))
	want := parts(read(t, command, "github", f.report(1, "--format", "json")))
	if len(want) != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
