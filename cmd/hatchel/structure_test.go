package main

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// productionFiles returns the lines of every Go file that is no test.
func productionFiles(t *testing.T) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(moduleRoot, file))
		if err != nil {
			t.Fatal(err)
		}
		lines[file] = strings.Split(string(bytes.TrimSuffix(src, []byte("\n"))), "\n")
	}
	return lines
}

func TestLinesHaveAtMost120Columns(t *testing.T) {
	const maxColumns = 120
	var long []string
	for file, lines := range productionFiles(t) {
		for _, line := range lines {
			if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > maxColumns {
				long = append(long, file+": "+line)
			}
		}
	}
	if len(long) > 0 {
		t.Errorf("%d lines have more than %d columns, with a tab counted as 4:\n%s",
			len(long), maxColumns, strings.Join(long, "\n"))
	}
}

// TestTheNightlyJobRunsEveryPartOfCheckRelease compares the targets of make check-release with the jobs of the workflow.
func TestTheNightlyJobRunsEveryPartOfCheckRelease(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(moduleRoot, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, parts, found := strings.Cut(string(makefile), "\ncheck-release: ")
	if !found {
		t.Fatal("the Makefile has no check-release")
	}
	parts, _, _ = strings.Cut(parts, "\n")
	src, err := os.ReadFile(filepath.Join(moduleRoot, ".github", "workflows", "nightly.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs struct {
			Release struct {
				Strategy struct{ Matrix struct{ Part []string } }
			}
		}
	}
	if err := yaml.Unmarshal(src, &workflow); err != nil {
		t.Fatal(err)
	}
	if got := workflow.Jobs.Release.Strategy.Matrix.Part; !slices.Equal(got, strings.Fields(parts)) {
		t.Errorf("nightly.yml runs %q, and make check-release %q", got, strings.Fields(parts))
	}
}

// isCode matches a line that is neither blank nor a comment.
var isCode = regexp.MustCompile(`^\s*[^\s/]|^\s*/[^/]`)

// TestFoldersOfTheCommandHaveAReason fails for a package below cmd/hatchel that one other package uses and that is
// small: it is a file of that package.
func TestFoldersOfTheCommandHaveAReason(t *testing.T) {
	const maxSmall = 300
	size, users := map[string]int{}, map[string]map[string]bool{}
	for file, lines := range productionFiles(t) {
		folder := path.Dir(file)
		for _, line := range lines {
			if isCode.MatchString(line) {
				size[folder]++
			}
			if _, imported, ok := strings.Cut(line, `"`+module+`/cmd/hatchel/`); ok && strings.HasSuffix(imported, `"`) {
				imported = "cmd/hatchel/" + strings.TrimSuffix(imported, `"`)
				if users[imported] == nil {
					users[imported] = map[string]bool{}
				}
				users[imported][folder] = true
			}
		}
	}
	for folder, n := range size {
		if len(users[folder]) == 1 && n < maxSmall && strings.HasPrefix(folder, "cmd/hatchel/") {
			t.Errorf("%s has %d lines, and only %v uses it: make it files of that package", folder, n,
				slices.Collect(maps.Keys(users[folder])))
		}
	}
}
