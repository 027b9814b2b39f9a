package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// exampleDirs returns the directories with a configuration.
func exampleDirs(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*/*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, file := range files {
		dirs[filepath.Dir(file)] = true
	}
	delete(dirs, "testdata")
	if len(dirs) < 12 {
		t.Fatalf("only %d examples were found", len(dirs))
	}
	return dirs
}

// TestTheTestsOfTheExamplesPassAndTakeTheirBranches runs hatchel test in every example. The order of the tests is random.
func TestTheTestsOfTheExamplesPassAndTakeTheirBranches(t *testing.T) {
	for dir := range exampleDirs(t) {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(hatchel, "test", dir, "--cover", "--min-cover", "90", "--repeat", "3").CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

var toolHeader = regexp.MustCompile(`(?m)^tool "([a-z0-9_]+)" \{`)

// TestADraftOfEveryToolPasses replaces the tests of every example by the drafts of its tools.
func TestADraftOfEveryToolPasses(t *testing.T) {
	for dir := range exampleDirs(t) {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			copied := example(t, dir).path
			files, err := filepath.Glob(filepath.Join(copied, "*.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			var drafts bytes.Buffer
			for _, file := range files {
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, header := range toolHeader.FindAllSubmatch(src, -1) {
					cmd := exec.Command(hatchel, "test", copied, "--draft", string(header[1]))
					cmd.Stdout = &drafts
					if err := cmd.Run(); err != nil {
						t.Fatalf("%s: %v", header[1], err)
					}
				}
				if filepath.Ext(file[:len(file)-len(".hcl")]) == ".test" {
					err = os.Remove(file)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			name := filepath.Join(copied, "drafts.test.hcl")
			if err := os.WriteFile(name, drafts.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(hatchel, "test", copied).CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
