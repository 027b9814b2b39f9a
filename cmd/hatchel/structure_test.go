package main

import (
	"path"
	"strings"
	"testing"
)

func TestFoldersHaveAtMost30Files(t *testing.T) {
	maxFiles := map[string]int{"hcl": 50, "runtime": 20, "runtime/mcp": 50}
	count := map[string]int{}
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			count[path.Dir(file)]++
		}
	}
	for folder, n := range count {
		limit := maxFiles[folder]
		if limit == 0 {
			limit = 30
		}
		if n > limit {
			t.Errorf("%s has %d Go files that are no tests, and may have %d: move some to a package of their own",
				folder, n, limit)
		}
	}
}
