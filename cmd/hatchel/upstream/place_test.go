package upstream

import (
	"os"
	"path/filepath"
	"testing"

	"hatchel/cmd/hatchel/importer/mcp"
)

func TestAProgramReadsItsPackageAndWhatIsBesideIt(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"node_modules/@a/b/package.json", "node_modules/@a/b/dist/index.js", "c/package.json", "c/dist/index.js", "d/run.js",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for word, want := range map[string]mcp.Place{
		"node_modules/@a/b/dist/index.js": {Path: "node_modules/@a/b/dist/index.js", Read: "node_modules"},
		"./c/dist/index.js":               {Path: "c/dist/index.js", Read: "c"},
		"d/run.js":                        {Path: "d/run.js", Read: "d/run.js"},
		"./d":                             {Path: "d", Read: "d", IsDir: true},
	} {
		if got, ok := Find(dir, dir, word); !ok || got != want {
			t.Errorf("%s is %+v, %v; want %+v", word, got, ok, want)
		}
	}
	if got, ok := Find(dir, dir, "no/such/file.js"); ok {
		t.Errorf("%+v", got)
	}
}
