package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer/mcp"
)

// npmDir is the directory of packages of npm, relative to the configuration directory.
const npmDir = ".mcp/npm"

// npm installs a package of npm and returns its program.
func (i *Installer) npm(ctx context.Context, p mcp.Package) (mcp.Program, error) {
	name := packageName(p.Spec)
	if !validPackage(name) {
		return mcp.Program{}, fmt.Errorf("%q is no name of a package of npm", name)
	}
	has, err := i.hasPackage(name, strings.TrimPrefix(p.Spec[len(name):], "@"))
	if err != nil {
		return mcp.Program{}, err
	}
	dir := filepath.Join(i.Dir, filepath.FromSlash(npmDir))
	words := []string{"npm", "install", "--save-exact", p.Spec}
	if has {
		words = []string{"npm", "ci"}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(name))); err != nil || !has {
		if err := i.makeDir(npmDir, "package.json", []byte("{\n  \"private\": true\n}\n")); err != nil {
			return mcp.Program{}, err
		}
		words = append(words, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--prefix", npmDir)
		if err := i.run(ctx, words); err != nil {
			return mcp.Program{}, err
		}
	}
	if err := i.ignore(npmDir + "/node_modules/"); err != nil {
		return mcp.Program{}, err
	}
	entry, err := npmEntry(filepath.Join(dir, "node_modules"), name, p.Executable)
	if err != nil {
		return mcp.Program{}, err
	}
	return mcp.Program{Words: []string{"node", npmDir + "/node_modules/" + entry}, Read: []string{npmDir}}, nil
}

// packageName returns the name in a specification such as @scope/name@1.2.
func packageName(spec string) string {
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		return spec[:at]
	}
	return spec
}

// validPackage reports whether a text is a name of a package, which is also its path below node_modules.
func validPackage(name string) bool {
	scope, rest, scoped := strings.Cut(name, "/")
	if !scoped {
		rest = name
	}
	part := func(s string) bool {
		return s != "" && !strings.ContainsAny(s[:1], ".-") && !strings.ContainsAny(s, "/\\ \t\n@:")
	}
	return part(rest) && (!scoped || strings.HasPrefix(scope, "@") && part(scope[1:]))
}

// hasPackage reports whether the list of packages has a package, in a version that a specification asks for. One that
// asks for no version, or for a tag or a range, is content with any.
func (i *Installer) hasPackage(name, version string) (bool, error) {
	src, err := os.ReadFile(filepath.Join(i.Dir, filepath.FromSlash(npmDir), "package.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var list struct{ Dependencies map[string]string }
	if err := json.Unmarshal(src, &list); err != nil {
		return false, fmt.Errorf("%s/package.json cannot be read: %w", npmDir, err)
	}
	has := list.Dependencies[name]
	isExact := version != "" && strings.Trim(version, "0123456789.") == "" && strings.Count(version, ".") == 2
	return has != "" && (!isExact || has == version), nil
}

// npmEntry returns the file that a package names as its program, relative to node_modules, with slashes.
func npmEntry(modules, name, executable string) (string, error) {
	src, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(name), "package.json"))
	if err != nil {
		return "", fmt.Errorf("the package %s was not installed: %w", name, err)
	}
	var of struct{ Bin json.RawMessage }
	if err := json.Unmarshal(src, &of); err != nil {
		return "", fmt.Errorf("package.json of %s cannot be read: %w", name, err)
	}
	var file string
	programs := map[string]string{}
	if json.Unmarshal(of.Bin, &file) != nil && json.Unmarshal(of.Bin, &programs) != nil || len(of.Bin) == 0 {
		return "", fmt.Errorf("the package %s has no program", name)
	}
	switch {
	case file != "":
	case executable != "":
		file = programs[executable]
	case len(programs) == 1:
		for _, file = range programs {
		}
	default:
		file = programs[path.Base(name)]
	}
	if file == "" {
		return "", fmt.Errorf("the package %s has the programs %s, and it is not said which one is meant", name,
			strings.Join(sortedKeys(programs), ", "))
	}
	entry := path.Join(name, file)
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("the program of %s is not in the package", name)
	}
	if info, err := os.Stat(filepath.Join(modules, filepath.FromSlash(entry))); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("the package %s has no file %s", name, file)
	}
	return entry, nil
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
