package examples_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheTestsOfTheExamplesPassAndTakeTheirBranches runs hatchel test in every folder with tests. Their order is random.
func TestTheTestsOfTheExamplesPassAndTakeTheirBranches(t *testing.T) {
	files, err := filepath.Glob("*/*.test.hcl")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(hatchel, "test", dir, "--cover", "--min-cover", "90", "--repeat", "3").CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
