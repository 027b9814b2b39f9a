package highlight

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var kindNames = map[Kind]string{Keyword: "keyword", Block: "block", Argument: "argument", Variable: "variable",
	Function: "function", String: "string", Number: "number", Comment: "comment", Operator: "operator", Interpolation: "hole"}

// byName knows the languages of a few arguments.
func byName(path []Header, argument string) Language {
	switch {
	case argument == "query" && path[len(path)-1].Type == "sql":
		return SQL
	case argument == "script":
		return Shell
	case argument == "that" || argument == "result":
		return Program
	}
	return Text
}

// A golden has a file and its words: the line, the word and its kind.
func TestWords(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			src := archive.Files[0].Data
			var got strings.Builder
			line, at := 1, 0
			for _, w := range Words(src, byName) {
				line += strings.Count(string(src[at:w.Start]), "\n")
				at = w.Start
				fmt.Fprintf(&got, "%d %-8s %s\n", line, kindNames[w.Kind], src[w.Start:w.End])
			}
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "words", Data: []byte(got.String())})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := string(archive.Files[1].Data); got.String() != want {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
}

// Editors refuse words that overlap, that are out of order or that span lines.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"tool \"a\" {\n  sql {\n    query = <<-SQL\n      SELECT 'it''s ${input.x}' -- c ${\n    SQL\n  }\n}\n",
		"tool a {\r\n script = \"echo \\\"$X\\\" 'a'\" }", "a = \"${", "x { script = <<SH\n# c\n'", "that = \"a /* \"", "}}}])\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		last := 0
		every := func(path []Header, argument string) Language { return Language(len(argument) % 4) }
		for _, w := range Words([]byte(src), every) {
			switch {
			case w.Start < last || w.End <= w.Start || w.End > len(src):
				t.Fatalf("word %v after byte %d of %q", w, last, src)
			case strings.ContainsAny(src[w.Start:w.End], "\r\n"):
				t.Fatalf("word %v spans lines of %q", w, src)
			}
			last = w.End
		}
	})
}
