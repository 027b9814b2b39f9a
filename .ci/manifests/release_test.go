package manifests_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
