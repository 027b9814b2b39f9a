package main

import (
	"bytes"
	"os"
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
