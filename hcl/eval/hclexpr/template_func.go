package hclexpr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// templateFuncValue is the value of a call of ident, raw, path or under. Only under has a value of
// its own; the others are bound by the compilers of templates.
func (c *Compiler) templateFuncValue(h *template.Interpolation, call *hclsyntax.FunctionCallExpr) (template.Value,
	template.Type) {
	want := map[string]string{"ident": "one name, or a schema and a name", "raw": "one text known at load",
		"path": "one value", "under": "a folder and a name below it"}
	allowed := map[string][2]int{"ident": {1, 2}, "raw": {1, 1}, "path": {1, 1}, "under": {2, 2}}[call.Name]
	if n := len(h.Args); n < allowed[0] || n > allowed[1] {
		c.Errorf(call.Range(), "Wrong number of arguments", "%s takes %s.", call.Name, want[call.Name])
		return asTemplateValue(eval.Broken()), template.Type{}
	}
	if call.Name != "under" {
		return h.Args[0].Value, h.Args[0].Type
	}
	return underValue(h.Args[0].Value, h.Args[1].Value), template.Type{Kind: template.String}
}

func underValue(dir, name template.Value) template.Value {
	return func(f template.Frame) (any, error) {
		d, err := dir(f)
		if err != nil {
			return nil, err
		}
		n, err := name(f)
		if err != nil {
			return nil, err
		}
		base, ok := d.(string)
		if !ok {
			return nil, fmt.Errorf("under: the folder must be a string, got %s", value.Kind(d))
		}
		below, ok := n.(string)
		if !ok {
			return nil, fmt.Errorf("under: the name must be a string, got %s", value.Kind(n))
		}
		return resolveUnder(f.(*eval.Frame).Base, base, below)
	}
}

// resolveUnder returns the absolute path of name below dir, which is relative to base. Symbolic
// links are resolved, and a path outside of dir is rejected. The directory must exist; the file
// need not.
func resolveUnder(base, dir, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("a path cannot contain a NUL character")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if name != "" && !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a path below the folder: it must be relative and stay inside",
			name)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder for %q does not exist", name)
	}
	full := filepath.Join(root, name)
	resolved, err := resolveLinks(full)
	if err != nil {
		return "", fmt.Errorf("%q cannot be reached", name)
	}
	if rel, err := filepath.Rel(root, resolved); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q leaves the folder through a link", name)
	}
	return resolved, nil
}

// resolveLinks resolves the symbolic links of as much of a path as exists.
func resolveLinks(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil || !os.IsNotExist(err) {
		return resolved, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", err // a dangling link could be completed later
	}
	parent, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
