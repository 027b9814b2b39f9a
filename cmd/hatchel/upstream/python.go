package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer/mcp"
)

// pythonDir is the directory of environments of Python, relative to the configuration directory. Each server has one,
// and beside it NAME.txt with the versions and digests of its packages.
const pythonDir = ".mcp/py"

// python installs a package of PyPI into an environment of the server, and returns its program. Only built packages
// are installed, because to build one runs its code.
func (i *Installer) python(ctx context.Context, server string, p mcp.Package) (mcp.Program, error) {
	env, list := pythonDir+"/"+server, pythonDir+"/"+server+".txt"
	dir := filepath.Join(i.Dir, filepath.FromSlash(env))
	spec := pythonSpec(p.Spec)
	name, _, _ := strings.Cut(spec, "[")
	name, _, _ = strings.Cut(name, "=")
	executable := cmp.Or(p.Executable, strings.TrimSpace(name))
	if executable != filepath.Base(executable) || strings.HasPrefix(spec, "-") {
		return mcp.Program{}, fmt.Errorf("%q is no package of PyPI", p.Spec)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", executable)); err != nil {
		if err := i.installPython(ctx, spec, env, list); err != nil {
			return mcp.Program{}, err
		}
	}
	if err := i.ignore(pythonDir + "/*/"); err != nil {
		return mcp.Program{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", executable)); err != nil {
		return mcp.Program{}, fmt.Errorf("the package %s has no program %s", p.Spec, executable)
	}
	read := []string{env}
	if base := basePrefix(filepath.Join(dir, "bin", "python")); base != "" {
		read = append(read, base)
	}
	return mcp.Program{Words: []string{env + "/bin/python", env + "/bin/" + executable}, Read: read}, nil
}

// pythonSpec returns the specification of a package as pip reads it: uvx also knows name@version.
func pythonSpec(spec string) string {
	name, version, ok := strings.Cut(spec, "@")
	switch {
	case !ok:
		return spec
	case version == "latest":
		return name
	}
	return name + "==" + version
}

// installPython makes an environment and installs the packages of a list, which is made first if there is none.
// Both are relative to the configuration directory.
func (i *Installer) installPython(ctx context.Context, spec, env, list string) error {
	if i.DryRun {
		return errNotInstalled
	}
	if err := os.MkdirAll(filepath.Join(i.Dir, filepath.FromSlash(pythonDir)), 0o755); err != nil {
		return err
	}
	if err := i.run(ctx, []string{"python3", "-m", "venv", env}); err != nil {
		return err
	}
	pip := []string{"./" + env + "/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-input", "--only-binary", ":all:"}
	listFile := filepath.Join(i.Dir, filepath.FromSlash(list))
	if _, err := os.Stat(listFile); err != nil {
		report := env + "/resolved.json"
		err := i.run(ctx, slices.Concat(pip, []string{"--dry-run", "--ignore-installed", "--report", report, spec}))
		if err != nil {
			return err
		}
		text, err := requirements(filepath.Join(i.Dir, filepath.FromSlash(report)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(listFile, text, 0o644); err != nil {
			return err
		}
	}
	return i.run(ctx, slices.Concat(pip, []string{"--require-hashes", "--no-deps", "-r", list}))
}

// requirements returns a list of packages with their digests, from a report of pip about what it would install.
func requirements(report string) ([]byte, error) {
	src, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var resolved struct {
		Install []struct {
			Metadata     struct{ Name, Version string }
			DownloadInfo struct {
				ArchiveInfo struct{ Hashes map[string]string } `json:"archive_info"`
			} `json:"download_info"`
		}
	}
	if err := json.Unmarshal(src, &resolved); err != nil {
		return nil, fmt.Errorf("the report of pip cannot be read: %w", err)
	}
	var lines []string
	for _, one := range resolved.Install {
		digest := one.DownloadInfo.ArchiveInfo.Hashes["sha256"]
		if digest == "" {
			return nil, fmt.Errorf("pip reports no digest of %s", one.Metadata.Name)
		}
		lines = append(lines, fmt.Sprintf("%s==%s --hash=sha256:%s\n", one.Metadata.Name, one.Metadata.Version, digest))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), nil
}

// basePrefix returns the directory of the Python that an environment uses, if it is not the system's.
func basePrefix(python string) string {
	out, err := exec.Command(python, "-I", "-c", "import sys; print(sys.base_prefix)").Output()
	base := strings.TrimSpace(string(out))
	if err != nil || base == "" || base == "/usr" || strings.HasPrefix(base, "/usr/") {
		return ""
	}
	return base
}
