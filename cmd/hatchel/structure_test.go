package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
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
	const maxColumns, maxExceptions = 120, 30
	var long []string
	for file, lines := range productionFiles(t) {
		for _, line := range lines {
			if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > maxColumns {
				long = append(long, file+": "+line)
			}
		}
	}
	if len(long) > maxExceptions {
		t.Errorf("%d lines have more than %d columns, with a tab counted as 4; %d may:\n%s",
			len(long), maxColumns, maxExceptions, strings.Join(long, "\n"))
	}
}

func TestFilesHaveAtMost350Lines(t *testing.T) {
	const maxLines = 350
	for file, lines := range productionFiles(t) {
		if len(lines) > maxLines {
			t.Errorf("%s has %d lines: split it", file, len(lines))
		}
	}
}

func TestFoldersHaveAtMost30Files(t *testing.T) {
	maxFiles := map[string]int{"hcl": 50, "runtime": 20, "runtime/mcp": 50}
	count := map[string]int{}
	for file := range productionFiles(t) {
		count[path.Dir(file)]++
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
