package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readRoot reads a file of the module.
func readRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// groupsOf returns the groups of all matches of a pattern, in order and joined by slashes.
func groupsOf(text, pattern string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, strings.Join(m[1:], "/"))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestThePageOfVersionsHasTheNumbersOfTheFormats(t *testing.T) {
	cmd := versionCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	var printed struct{ Formats map[string]int }
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	documented := map[string]int{}
	for _, row := range groupsOf(readRoot(t, "docs/versions.md"), `(?m)^\| [^|]+ \| `+"`"+`([a-z_]+)`+"`"+` \| (\d+) \|`) {
		name, number, _ := strings.Cut(row, "/")
		documented[name], _ = strconv.Atoi(number)
	}
	if !maps.Equal(documented, printed.Formats) {
		t.Errorf("docs/versions.md has %v, and the program %v", documented, printed.Formats)
	}
}

func TestThePageOfVersionsHasTheSystemsOfARelease(t *testing.T) {
	built := strings.Fields(readRoot(t, ".ci/packages/portable"))
	for _, arch := range groupsOf(readRoot(t, ".ci/release"), `(?m)^build (\w+) `) {
		built = append(built, "linux/"+arch)
	}
	slices.Sort(built)
	documented := groupsOf(readRoot(t, "docs/versions.md"), "`((?:linux|darwin|windows)/\\w+)`")
	if !slices.Equal(documented, built) {
		t.Errorf("docs/versions.md has %q, and .ci/release builds %q", documented, built)
	}
}
