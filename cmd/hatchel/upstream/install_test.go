package upstream_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/cmd/hatchel/upstream"
)

// A package of npm is installed in an exact version and without its scripts, and only once.
func TestPackagesOfNpmAreInstalledOnce(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	source := t.TempDir()
	write(t, source, "package.json", `{"name": "server-of-test", "version": "1.2.3", "bin": {"server-of-test": "dist/index.js", "other": "x.js"},
		"scripts": {"postinstall": "touch RAN"}}`)
	write(t, source, "dist/index.js", "#!/usr/bin/env node\n")
	pack := exec.Command("npm", "pack", "--silent")
	pack.Dir = source
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := t.TempDir()
	write(t, dir, ".mcp/npm/package.json", fmt.Sprintf(`{"private": true, "dependencies": {"server-of-test": "file:%s"}}`,
		filepath.Join(source, "server-of-test-1.2.3.tgz")))
	lock := exec.Command("npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--prefix", ".mcp/npm")
	lock.Dir = dir
	if out, err := lock.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var notes bytes.Buffer
	i := &upstream.Installer{Dir: dir, Notes: &notes, DryRun: true}
	if _, err := i.Install(t.Context(), "x", mcp.Package{Spec: "server-of-test"}); err == nil {
		t.Error("a dry run installs a package")
	}
	i.DryRun = false
	for range 2 {
		p, err := i.Install(t.Context(), "x", mcp.Package{Spec: "server-of-test"})
		if err != nil {
			t.Fatalf("%v: %s", err, notes.String())
		}
		if got := strings.Join(p.Words, " "); got != "node .mcp/npm/node_modules/server-of-test/dist/index.js" {
			t.Errorf("the program is %s", got)
		}
	}
	if n := strings.Count(notes.String(), "$ npm ci "); n != 1 {
		t.Errorf("the package was installed %d times:\n%s", n, notes.String())
	}
	if _, err := os.Stat(filepath.Join(dir, ".mcp/npm/node_modules/server-of-test/RAN")); err == nil {
		t.Error("a script of the package has run")
	}
	if got := read(t, dir, ".gitignore"); got != ".mcp/npm/node_modules/\n" {
		t.Errorf(".gitignore has %q", got)
	}
	for _, spec := range []string{"../x", "-x", "@scope", "a/b", "@../x"} {
		if _, err := i.Install(t.Context(), "x", mcp.Package{Spec: spec}); err == nil {
			t.Errorf("%q is installed", spec)
		}
	}
}

// A package of PyPI is installed with digests of all packages, and only once.
func TestPackagesOfPythonAreInstalledWithDigests(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import ensurepip, venv").CombinedOutput(); err != nil {
		t.Skipf("python3 has no venv: %s", out)
	}
	wheels := t.TempDir()
	writeWheel(t, filepath.Join(wheels, "server_of_test-1.2.3-py3-none-any.whl"))
	t.Setenv("PIP_FIND_LINKS", wheels)
	t.Setenv("PIP_NO_INDEX", "1")
	dir := t.TempDir()
	var notes bytes.Buffer
	i := &upstream.Installer{Dir: dir, Notes: &notes}
	for range 2 {
		p, err := i.Install(t.Context(), "test", mcp.Package{Python: true, Spec: "server-of-test@1.2.3"})
		if err != nil {
			t.Fatalf("%v: %s", err, notes.String())
		}
		if got := strings.Join(p.Words, " "); got != ".mcp/py/test/bin/python .mcp/py/test/bin/server-of-test" || p.Read[0] != ".mcp/py/test" {
			t.Errorf("the program is %s, which reads %s", got, p.Read)
		}
	}
	if n := strings.Count(notes.String(), "--require-hashes"); n != 1 {
		t.Errorf("the package was installed %d times:\n%s", n, notes.String())
	}
	if list := read(t, dir, ".mcp/py/test.txt"); !strings.HasPrefix(list, "server-of-test==1.2.3 --hash=sha256:") {
		t.Errorf("the list is %q", list)
	}
	// What the list does not have is not installed. The environment stays, as it takes seconds to make one.
	installed, err := filepath.Glob(filepath.Join(dir, ".mcp/py/test/lib/*/site-packages/server_of_test*"))
	if err != nil || len(installed) == 0 {
		t.Fatalf("installed is %v, %v", installed, err)
	}
	for _, name := range append(installed, filepath.Join(dir, ".mcp/py/test/bin/server-of-test")) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, ".mcp/py/test.txt", "server-of-test==1.2.3 --hash=sha256:"+strings.Repeat("0", 64)+"\n")
	if _, err := i.Install(t.Context(), "test", mcp.Package{Python: true, Spec: "server-of-test"}); err == nil {
		t.Error("a package with another digest is installed")
	}
	if !strings.Contains(notes.String(), "DO NOT MATCH THE HASHES") {
		t.Errorf("pip says %s", notes.String())
	}
}

// writeWheel writes a package of Python with one program.
func writeWheel(t *testing.T, name string) {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"server_of_test.py", "def main():\n    pass\n"},
		{"server_of_test-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: server-of-test\nVersion: 1.2.3\n"},
		{"server_of_test-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"server_of_test-1.2.3.dist-info/entry_points.txt", "[console_scripts]\nserver-of-test = server_of_test:main\n"},
		{"server_of_test-1.2.3.dist-info/RECORD", "server_of_test.py,,\nserver_of_test-1.2.3.dist-info/METADATA,,\n" +
			"server_of_test-1.2.3.dist-info/WHEEL,,\nserver_of_test-1.2.3.dist-info/entry_points.txt,,\n" +
			"server_of_test-1.2.3.dist-info/RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
