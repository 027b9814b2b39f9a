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

// templateFunc is a function whose meaning depends on the template around it.
type templateFunc struct {
	min, max int    // how many arguments it takes
	takes    string // what they are
	onlyIn   string // where it can be used, for a call outside of a template; empty for everywhere
}

var templateFuncs = map[string]templateFunc{
	"ident": {1, 2, "one name, or a schema and a name",
		"ident(...) quotes the name of a table or column. It can only be used in SQL."},
	"raw": {1, 1, "one text known at load",
		"raw(...) inserts a text that is known at load into SQL. It can only be used in SQL."},
	"path": {1, 1, "one value", "path(...) inserts several segments into the path of a URL. It can only be used in " +
		"the path of a request."},
	"segment": {1, 1, "one value", "segment(...) inserts one segment with escaped slashes into the path of a URL. " +
		"It can only be used in the path of a request."},
	"under":    {2, 2, "a folder and a name below it", ""},
	"filename": {1, 1, "one name", ""},
}

// templateFuncValue is the value of a call of a templateFunc. Only under and filename have a value of
// their own; the others are bound by the compilers of templates.
func (c *Compiler) templateFuncValue(h *template.Interpolation, call *hclsyntax.FunctionCallExpr) (template.Value,
	template.Type) {
	fn := templateFuncs[call.Name]
	switch n := len(h.Args); {
	case n < fn.min || n > fn.max:
		c.Errorf(call.Range(), "Wrong number of arguments", "%s takes %s.", call.Name, fn.takes)
		return asTemplateValue(eval.Broken()), template.Type{}
	case call.Name == "under":
		c.checkFolder(h.Args[0])
		return underValue(h.Args), template.Type{Kind: template.String, Path: template.PathUnder}
	case call.Name == "filename":
		return fileNameValue(h.Args[0]), template.Type{Kind: template.String, Path: template.PathSafe}
	}
	return h.Args[0].Value, h.Args[0].Type
}

// checkFolder reports a folder of under that a call can choose, or from which a caller's value can
// reach every file, or those of the configuration.
func (c *Compiler) checkFolder(h *template.Interpolation) {
	folders := h.Type.Texts()
	if folders == nil && !c.Diags.HasErrors() {
		c.Errorf(h.Range, "Known name needed",
			`The folder of under(folder, name) must be known at load, and %s is not. Write a constant, a variable or `+
				`a local, and the rest of the path as the name.`, h.Source)
	}
	for _, dir := range folders {
		if c.containsConfig(dir) {
			c.Errorf(h.Range, "Folder too wide",
				`%q contains the configuration, so a caller could name any file of it. Name the folder with the files.`,
				dir)
		}
	}
}

// containsConfig reports whether a folder is the configuration directory or contains it.
func (c *Compiler) containsConfig(dir string) bool {
	config := filepath.Join("/", c.env.Dir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(config, dir)
	}
	rest, err := filepath.Rel(dir, config)
	return err == nil && filepath.IsLocal(rest)
}

// fileNameValue returns a name that is in the folder where it is used.
func fileNameValue(arg *template.Interpolation) template.Value {
	return func(f template.Frame) (any, error) {
		v, err := arg.Value(f)
		if err != nil {
			return nil, err
		}
		name, ok := v.(string)
		if !ok || name == "" || name[0] == '.' || strings.ContainsAny(name, "/\\\x00") {
			return nil, fmt.Errorf("%s must be the name of a file: a text that is not empty, does not begin with "+
				"a dot and has no slash or backslash", arg.Source)
		}
		return name, nil
	}
}

func underValue(args []*template.Interpolation) template.Value {
	return func(f template.Frame) (any, error) {
		var texts [2]string // the folder and the name
		for i, a := range args {
			v, err := a.Value(f)
			if err != nil {
				return nil, err
			}
			var ok bool
			if texts[i], ok = v.(string); !ok {
				what := []string{"folder", "name"}[i]
				return nil, fmt.Errorf("under: the %s must be a string, got %s", what, value.Kind(v))
			}
		}
		frame := f.(*eval.Frame)
		path, err := resolveUnder(frame.Base, texts[0], texts[1])
		if err == nil && frame.Resolved != nil {
			*frame.Resolved = append(*frame.Resolved, path)
		}
		return path, err
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
		return "", fmt.Errorf("%q is not a path below the folder: it must be relative and stay inside", name)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder for %q does not exist", name)
	}
	if config, err := filepath.EvalSymlinks(base); err == nil {
		if rel, err := filepath.Rel(root, config); err == nil && filepath.IsLocal(rel) {
			return "", fmt.Errorf("the folder for %q contains the configuration; the tool must name another", name)
		}
	}
	resolved, err := resolveLinks(filepath.Join(root, name))
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
