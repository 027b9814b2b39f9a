// Command reportsites reads a coverage profile and lists the places below a folder that report a
// diagnostic and were not reached. It exits with status 1 if there are any. A place that only guards
// against a mistake in the program is exempt: the line above it begins with "// unreachable:".
//
//	reportsites PROFILE FOLDER
//	reportsites -packages FOLDER   prints the import paths of the packages with such places, separated by commas
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reporters are the functions that take the summary of a diagnostic.
var reporters = []string{"Errorf", "Warnf", "errorf", "warnf", "errorAt", "warnAt", "fail",
	"report"}

// summary matches the constant summary of a diagnostic: a capital letter, and at least two words.
var summary = regexp.MustCompile(`^[A-Z$][^.]* [^.]*$`)

// block is one block of a coverage profile.
type block struct {
	fromLine, fromColumn, toLine, toColumn int
	reached                                bool
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reportsites PROFILE FOLDER | reportsites -packages FOLDER")
		os.Exit(2)
	}
	if os.Args[1] == "-packages" {
		packages, err := reporting(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, "reportsites:", err)
			os.Exit(2)
		}
		fmt.Println(strings.Join(packages, ","))
		return
	}
	missed, total, err := check(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "reportsites:", err)
		os.Exit(2)
	}
	for _, m := range missed {
		fmt.Println(m)
	}
	fmt.Fprintf(os.Stderr, "reportsites: %d of %d places that report a diagnostic are not reached by a golden\n",
		len(missed), total)
	if len(missed) > 0 || total == 0 {
		os.Exit(1)
	}
}

func check(profile, folder string) (missed []string, total int, err error) {
	blocks, err := readProfile(profile)
	if err != nil {
		return nil, 0, err
	}
	err = eachSite(folder, func(s site) {
		reached, known := covered(blocks, s.file, s.at.Line, s.at.Column)
		if !known || s.exempt {
			return // in a table of constants, or exempt
		}
		if total++; !reached {
			missed = append(missed, fmt.Sprintf("%s:%d: %s", s.file, s.at.Line, s.text))
		}
	})
	return missed, total, err
}

// reporting returns the import paths of the packages below a folder that have places, in order.
func reporting(folder string) (packages []string, err error) {
	err = eachSite(folder, func(s site) { packages = append(packages, "hatchel/"+path.Dir(filepath.ToSlash(s.file))) })
	slices.Sort(packages)
	return slices.Compact(packages), err
}

// site is a place that reports a diagnostic.
type site struct {
	file, text string
	at         token.Position
	exempt     bool
}

// eachSite calls use with each place below a folder, but for those of tests.
func eachSite(folder string, use func(site)) error {
	return filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		exempt := map[int]bool{}
		for _, group := range file.Comments {
			if strings.HasPrefix(group.List[0].Text, "// unreachable:") {
				exempt[files.Position(group.End()).Line+1] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text := summaryOf(n); text != "" {
				at := files.Position(n.Pos())
				use(site{name, text, at, exempt[at.Line]})
			}
			return true
		})
		return nil
	})
}

// summaryOf returns the summary that a node reports, or "".
func summaryOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		if !slices.Contains(reporters, name) {
			return ""
		}
		for _, a := range n.Args[:min(3, len(n.Args))] {
			if text := constant(a); summary.MatchString(text) {
				return text
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Summary" {
			return constant(n.Value)
		}
	}
	return ""
}

func constant(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}

// readProfile returns the blocks of a profile by the end of their file names. A block is reached if
// any of the merged profiles reached it.
func readProfile(name string) (map[string][]block, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reached := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		place, counts, ok := strings.Cut(lines.Text(), " ")
		if ok && !strings.HasPrefix(place, "mode:") {
			reached[place] = reached[place] || !strings.HasSuffix(counts, " 0")
		}
	}
	blocks := map[string][]block{}
	for place, hit := range reached {
		file, span, _ := strings.Cut(place, ":")
		_, file, _ = strings.Cut(file, "/") // without the name of the module
		b := block{reached: hit}
		if _, err := fmt.Sscanf(span, "%d.%d,%d.%d", &b.fromLine, &b.fromColumn, &b.toLine, &b.toColumn); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		blocks[file] = append(blocks[file], b)
	}
	return blocks, lines.Err()
}

// covered reports whether the innermost block at a position was reached, and whether there is one.
func covered(blocks map[string][]block, file string, line, column int) (reached, known bool) {
	var best block
	for _, b := range blocks[file] {
		after := line > b.fromLine || line == b.fromLine && column >= b.fromColumn
		before := line < b.toLine || line == b.toLine && column <= b.toColumn
		inner := !known || b.fromLine > best.fromLine || b.fromLine == best.fromLine && b.fromColumn > best.fromColumn
		if after && before && inner {
			best, known = b, true
		}
	}
	return best.reached, known
}
