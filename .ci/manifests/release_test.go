package manifests_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	spdx "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// registry is the module of the MCP registry, which has the schemas of its entries.
const registry = "github.com/modelcontextprotocol/registry@v1.8.8"

// release returns the path of a file of a release, in a folder that .ci/check-packages names.
func release(t *testing.T, pattern string) string {
	t.Helper()
	if os.Getenv("HATCHEL_RELEASE") == "" {
		t.Skip("HATCHEL_RELEASE is not set")
	}
	found, err := filepath.Glob(filepath.Join(os.Getenv("HATCHEL_RELEASE"), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func TestReleaseHasAnEntryForTheRegistry(t *testing.T) {
	entry, err := os.Open(release(t, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	out, err := exec.Command("go", "mod", "download", "-json", registry).Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(module.Dir, "internal/validators/schemas/2025-12-11.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(entry)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}

// TestReleaseHasTheFilesOfThePage compares the files of a release with the table of docs/versions.md.
func TestReleaseHasTheFilesOfThePage(t *testing.T) {
	sums := release(t, "SHA256SUMS")
	page, err := os.ReadFile("../../docs/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## A release\n")
	var patterns []string
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`[^|]+`"+`) \|`).FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			patterns = append(patterns, regexp.MustCompile("VERSION|NUMBER|ARCH").ReplaceAllString(strings.Trim(name, "`"), "*"))
		}
	}
	used := map[string]bool{}
	files, err := os.ReadDir(filepath.Dir(sums))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		matched := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool {
			ok, err := filepath.Match(p, file.Name())
			return err != nil || !ok
		})
		if len(matched) == 0 {
			t.Errorf("docs/versions.md has no %s", file.Name())
		}
		for _, p := range matched {
			used[p] = true
		}
	}
	for _, p := range patterns {
		if !used[p] {
			t.Errorf("the release has no %s", p)
		}
	}
}

func TestReleaseListsModulesAndPackages(t *testing.T) {
	file, err := os.Open(release(t, "*.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := spdx.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[common.ElementID]string{}
	for _, p := range document.Packages {
		ids[p.PackageSPDXIdentifier] = p.PackageName
	}
	var related []string
	for _, r := range document.Relationships {
		if ids[r.RefB.ElementRefID] == "" {
			t.Errorf("%s is related to %s, which is no package", r.RefA, r.RefB)
		}
		related = append(related, r.Relationship+" "+ids[r.RefB.ElementRefID])
	}
	for _, want := range []string{
		"DESCRIBES hatchel", "DEPENDS_ON github.com/mattn/go-sqlite3", "DESCRIBES hatchel-image-tools", "CONTAINS git",
	} {
		if !slices.Contains(related, want) {
			t.Errorf("no relationship %q", want)
		}
	}
}
