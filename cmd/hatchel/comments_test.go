package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageNames are the names that a package of this module declares: at the top level, and the fields and methods of
// its types.
type packageNames struct {
	top     map[string]bool
	members map[string]map[string]bool // of a type
	foreign map[string]bool            // the last elements of the paths of other modules that its files import
}

// moduleFiles returns the syntax of the files of the module by their paths.
func moduleFiles(t *testing.T, tests bool) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set, files := token.NewFileSet(), map[string]*ast.File{}
	for _, name := range goFiles(t) {
		if !tests && strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(moduleRoot, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return set, files
}

// declaredNames returns the names of the packages of the module by their folders.
func declaredNames(files map[string]*ast.File) map[string]*packageNames {
	all := map[string]*packageNames{}
	for name, file := range files {
		p := all[path.Dir(name)]
		if p == nil {
			p = &packageNames{map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
			all[path.Dir(name)] = p
		}
		for _, spec := range file.Imports {
			if imported := strings.Trim(spec.Path.Value, `"`); !strings.HasPrefix(imported, module+"/") {
				p.foreign[path.Base(imported)] = true
			}
		}
		for _, d := range file.Decls {
			p.declare(d)
		}
	}
	return all
}

func (p *packageNames) declare(d ast.Decl) {
	member := func(of, name string) {
		if p.members[of] == nil {
			p.members[of] = map[string]bool{}
		}
		p.members[of][name] = true
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if of := receiver(d); of != "" {
			member(of, d.Name.Name)
		} else {
			p.top[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					p.top[n.Name] = true
				}
			case *ast.TypeSpec:
				p.top[s.Name.Name] = true
				var fields *ast.FieldList
				switch t := s.Type.(type) {
				case *ast.StructType:
					fields = t.Fields
				case *ast.InterfaceType:
					fields = t.Methods
				default:
					continue
				}
				for _, f := range fields.List {
					for _, n := range f.Names {
						member(s.Name.Name, n.Name)
					}
					if len(f.Names) == 0 { // embedded: what it promotes is not known here
						member(s.Name.Name, "*")
					}
				}
			}
		}
	}
}

// receiver returns the name of the type of a method; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		}
	}
}

// firstWord is the first word of a comment, without an article.
var firstWord = regexp.MustCompile(`^(?:An? |The )?(\w+)`)

// TestCommentsBeginWithTheNameThatTheyDocument fails for the comment of a declaration that was renamed.
func TestCommentsBeginWithTheNameThatTheyDocument(t *testing.T) {
	set, files := moduleFiles(t, false)
	check := func(doc *ast.CommentGroup, name string) {
		if doc == nil {
			return
		}
		if name == "_" {
			return
		}
		m := firstWord.FindStringSubmatch(doc.Text())
		if m != nil && m[1] != name {
			t.Errorf("%s: the comment of %s begins with %q", set.Position(doc.Pos()), name, m[1])
		}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if d.Lparen.IsValid() && d.Tok != token.TYPE {
					continue // a group has a sentence of its own
				}
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						check(s.Doc, s.Name.Name)
						if !d.Lparen.IsValid() {
							check(d.Doc, s.Name.Name)
						}
					case *ast.ValueSpec:
						if len(s.Names) == 1 {
							check(d.Doc, s.Names[0].Name)
						}
					}
				}
			}
		}
	}
}

// dotted is a name of Go in a sentence: of a package, or of a type.
var dotted = regexp.MustCompile(`(?:^|[\s(])([A-Za-z][A-Za-z0-9]*)\.([A-Z][A-Za-z0-9]*)\b`)

// TestCommentsNameWhatExists fails for a comment that says package.Name or Type.Member of this module, where there is
// no such name.
func TestCommentsNameWhatExists(t *testing.T) {
	set, files := moduleFiles(t, false)
	names := declaredNames(files)
	byName := map[string][]*packageNames{}
	for folder, p := range names {
		byName[path.Base(folder)] = append(byName[path.Base(folder)], p)
	}
	for name, file := range files {
		own := names[path.Dir(name)]
		for _, group := range file.Comments {
			for _, m := range dotted.FindAllStringSubmatch(group.Text(), -1) {
				if !existsName(own, byName, m[1], m[2]) {
					t.Errorf("%s: a comment names %s.%s, which does not exist", set.Position(group.Pos()), m[1], m[2])
				}
			}
		}
	}
}

// camel is a word that is written as a name of Go is. A name after a dot is another test's.
var camel = regexp.MustCompile(`(?:^|[^.\w])([A-Za-z][a-z0-9]+[A-Z]\w*)`)

// foreignWords are such words of comments that are no names of this module.
var foreignWords = strings.Fields(`
	ReadTimeout macOS OpenPGP W3C ConfigMap ConfigMaps PowerShell StateDirectory encodeURIComponent formData indicatorsSearch listHTTPRoutesV2`)

// TestCommentsUseNamesThatExist fails for a comment with a name that is nowhere in the code: neither an identifier nor
// a part of a text.
func TestCommentsUseNamesThatExist(t *testing.T) {
	set, files := moduleFiles(t, true)
	known := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				for _, m := range camel.FindAllStringSubmatch(n.Value, -1) {
					known[m[1]] = true
				}
			}
			return true
		})
	}
	for _, file := range files {
		for _, group := range file.Comments {
			for _, m := range camel.FindAllStringSubmatch(group.Text(), -1) {
				parameter := strings.ToLower(m[1][:1]) + m[1][1:] // which begins a sentence
				if !known[m[1]] && !known[parameter] && !slices.Contains(foreignWords, m[1]) {
					t.Errorf("%s: a comment names %s, which does not exist", set.Position(group.Pos()), m[1])
				}
			}
		}
	}
}

// existsName reports whether a comment of a package may say of.name: a member of one of its types, or a declaration of
// a package of this module. What is neither is a name of another module, or no name of Go.
func existsName(own *packageNames, packages map[string][]*packageNames, of, name string) bool {
	if members, known := own.members[of]; known {
		return members[name] || members["*"]
	}
	return own.foreign[of] || len(packages[of]) == 0 ||
		slices.ContainsFunc(packages[of], func(p *packageNames) bool { return p.top[name] })
}
