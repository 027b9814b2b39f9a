// Command typecheck checks the types of packages for another system, without a C compiler for that system.
//
//	typecheck [-cgo=false] GOOS GOARCH PACKAGE...
//
// The names of C are taken as they are; of other modules only the declarations are checked.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what go list says of a package.
type listed struct {
	Dir, ImportPath   string
	Module            *struct{ Main bool }
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
}

// checker has the packages that were checked, by import path. Every package is checked after those that it imports.
type checker struct {
	files *token.FileSet
	done  map[string]*types.Package
	sizes types.Sizes
}

func main() {
	cgo := flag.Bool("cgo", true, "check the files that use cgo, and not those in their place")
	flag.Parse()
	if flag.NArg() < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck [-cgo=false] GOOS GOARCH PACKAGE...")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *cgo, flag.Args()[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

func run(system, arch string, cgo bool, patterns []string) error {
	arguments := []string{"list", "-deps", "-json=Dir,ImportPath,Module,GoFiles,CgoFiles,ImportMap"}
	list := exec.Command("go", append(arguments, patterns...)...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	if cgo {
		list.Env = append(list.Env, "CGO_ENABLED=1")
	}
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	c := &checker{token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}, types.SizesFor("gc", arch)}
	own, found := 0, 0
	for packages := json.NewDecoder(out); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return cmp.Or(list.Wait(), err)
		}
		n, err := c.check(&p)
		if err != nil {
			return err
		}
		found += n
		if p.isOwn() {
			own++
		}
	}
	if err := list.Wait(); err != nil {
		return err
	}
	if found > 0 {
		return fmt.Errorf("%d errors on %s/%s", found, system, arch)
	}
	fmt.Fprintf(os.Stderr, "typecheck: %d packages are right on %s/%s\n", own, system, arch)
	return nil
}

func (p *listed) isOwn() bool { return p.Module != nil && p.Module.Main }

// check checks one package, and returns how many errors it has printed.
func (c *checker) check(p *listed) (found int, err error) {
	if p.ImportPath == "unsafe" {
		return 0, nil
	}
	var syntax []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return 0, err
		}
		syntax = append(syntax, file)
	}
	config := types.Config{
		FakeImportC:      true,
		IgnoreFuncBodies: !p.isOwn(),
		Sizes:            c.sizes,
		Importer:         importer{c, p.ImportMap},
		Error: func(err error) {
			// The type of a constant of C is not known.
			if p.isOwn() && !strings.Contains(err.Error(), "invalid type") {
				found++
				fmt.Fprintln(os.Stderr, err)
			}
		},
	}
	c.done[p.ImportPath], _ = config.Check(p.ImportPath, c.files, syntax, nil)
	return found, nil
}

// importer finds what a package imports among those that were checked.
type importer struct {
	*checker
	paths map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if p := i.done[cmp.Or(i.paths[path], path)]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("there is no package %s", path)
}
