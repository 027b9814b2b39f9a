package examples_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// signInTexts returns all texts of the packages that sign people in: joined literals of Go, and templates.
func signInTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../runtime/edge/signin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		ast.Inspect(file, func(n ast.Node) bool {
			if text := joinedText(n); text != "" {
				all.WriteString(text + "\n")
			}
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	templates, err := filepath.Glob("../runtime/edge/signin/templates/*.html")
	if err != nil || len(templates) == 0 {
		t.Fatal(err, templates)
	}
	for _, path := range templates {
		all.WriteString(readPage(t, path).src)
	}
	return all.String()
}

// joinedText returns the text of literals that are joined by +; the parts in between, which are no literals, are \x00.
func joinedText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, _ := strconv.Unquote(n.Value)
			return text
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			return joinedText(n.X) + joinedText(n.Y)
		}
	}
	return "\x00"
}

// errorTexts returns the texts of the pages that say why nobody is signed in.
func errorTexts(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../runtime/edge/signin/*.go")
	for _, folder := range []string{"client", "provider"} {
		more, failed := filepath.Glob("../runtime/edge/signin/" + folder + "/*.go")
		files, err = append(files, more...), errors.Join(err, failed)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "assertion.go" { // which no person reads
			continue
		}
		file, failed := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		err = errors.Join(err, failed)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if isNamed(n.Key, "Page") {
					all = append(all, joinedText(n.Value))
				}
			case *ast.CompositeLit:
				for _, element := range n.Elts {
					pair, isPair := element.(*ast.KeyValueExpr)
					if isNamed(n.Type, "pageError") && isPair && isNamed(pair.Key, "text") {
						all = append(all, joinedText(pair.Value))
					}
					if isNamed(n.Type, "Refusal") && !isPair {
						all = append(all, joinedText(element))
					}
				}
			case *ast.CallExpr:
				if isNamed(n.Fun, "refuse") {
					all = append(all, joinedText(n.Args[0]))
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if strings.HasPrefix(name.Name, "page") && i < len(n.Values) {
						all = append(all, joinedText(n.Values[i]))
					}
				}
			}
			return true
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(text string) bool { return !strings.Contains(text, " ") })
}

func isNamed(n ast.Node, name string) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == name
}

// Every page that says why nobody is signed in is explained.
func TestTheGuideExplainsEveryErrorOfASignIn(t *testing.T) {
	t.Parallel()
	var guide string
	for _, page := range []string{"sign-in.md", "sign-in-clients.md", "sign-in-providers.md"} {
		guide += strings.Join(strings.Fields(readPage(t, "../docs/"+page).src), " ")
	}
	texts := errorTexts(t)
	for _, text := range texts {
		said, _, _ := strings.Cut(text, "%")
		first, _, _ := strings.Cut(said, ". ")
		if first = strings.Trim(first, " ."); first == "" || !strings.Contains(guide, first) {
			t.Errorf("no row explains %q", text)
		}
	}
	if len(texts) < 20 {
		t.Errorf("only %d texts were found", len(texts))
	}
}

// pageText matches a text that a page says, in a row of a table about what people see.
var pageText = regexp.MustCompile(`\*([^*]+)\*`)

// foreignText matches rows about texts of others: of programs, and of providers, in brackets.
var foreignText = regexp.MustCompile(`^\| \(a page of`)

// The texts that the guide explains are those of the pages.
func TestTheGuideQuotesThePagesOfASignIn(t *testing.T) {
	t.Parallel()
	texts, quoted := strings.ToLower(strings.Join(strings.Fields(signInTexts(t)), " ")), 0
	check := func(page, text string) {
		quoted++
		for _, part := range regexp.MustCompile(`…|HOST|claude\.ai|chatgpt\.com|vscode\.dev`).Split(text, -1) {
			if part = strings.Trim(part, " ."); !strings.Contains(texts, strings.ToLower(part)) {
				t.Errorf("%s: no page says %q", page, part)
			}
		}
	}
	for line := range strings.Lines(readPage(t, "../docs/sign-in.md").src) {
		if strings.HasPrefix(line, "| *") {
			cells := strings.Split(line, "|")
			for _, m := range pageText.FindAllStringSubmatch(cells[1], -1) {
				check("sign-in.md", strings.ReplaceAll(m[1], "Finance tools", "…"))
			}
		}
	}
	for line := range strings.Lines(readPage(t, "../docs/sign-in-clients.md").src) {
		if strings.HasPrefix(line, "| *") && strings.Contains(line, "(page)") {
			check("sign-in-clients.md", pageText.FindStringSubmatch(line)[1])
		}
	}
	for line := range strings.Lines(readPage(t, "../docs/sign-in-providers.md").src) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && !foreignText.MatchString(line) {
			for _, m := range pageText.FindAllStringSubmatch(cells[2], -1) {
				check("sign-in-providers.md", m[1])
			}
		}
	}
	if quoted < 40 {
		t.Errorf("only %d texts were found", quoted)
	}
}
