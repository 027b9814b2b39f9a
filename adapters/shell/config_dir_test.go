package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// newConfigDir makes a configuration directory with files, by their paths.
func newConfigDir(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runIn makes one call of a block in a configuration directory. Programs print what they are denied.
func runIn(t *testing.T, dir, block, arguments string) (output string, warnings []string) {
	t.Helper()
	if !strings.Contains(block, "pipe") {
		block += "\nok_codes = [0, 1, 2, 126, 127]"
	}
	s := newTool(block + "\nstderr = \"merge\"")
	s.Dir = dir
	b := adaptertest.Bind(t, s)
	out, err := b.Do(t.Context(), arguments)
	if err != nil {
		return err.Error(), b.Warnings
	}
	return out["stdout"].(string), b.Warnings
}

func TestProgramsReadOfTheConfigurationWhatTheCommandNames(t *testing.T) {
	dir := newConfigDir(t, t.TempDir(), map[string]string{
		"tools.hcl": "the configuration\n", "run.sh": "#!/bin/sh\necho ran\n", "other.sh": "echo other\n",
		"sub/data": "data\n", "sub/tools.hcl": "the configuration\n", "calls.sh": ". ./other.sh\n",
	})
	outside := filepath.Join(newConfigDir(t, t.TempDir(), map[string]string{"file": "outside\n"}), "file")
	for name, target := range map[string]string{"inner": "sub/data", "outer": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const denied = "ermission denied"
	for name, c := range map[string]struct{ block, want string }{
		"it is the working directory":        {`command = ["pwd"]`, dir + "\n"},
		"it is not listed":                   {`command = ["ls", "."]`, denied},
		"nor is a part of it":                {`command = ["ls", "sub"]`, denied},
		"a script reads nothing of it":       {`script = "cat tools.hcl"`, denied},
		"a constant inside of a word":        {`command = ["sh", "-c", "cat tools.hcl"]`, denied},
		"a caller's word":                    {`command = ["fold", input.s]`, denied},
		"a word":                             {`command = ["cat", "sub/data"]`, "data\n"},
		"an absolute word":                   {fmt.Sprintf("command = [\"cat\", %q]", dir+"/sub/../sub/data"), "data\n"},
		"a word of a branch":                 {`command = ["cat", input.n == 0 ? "sub/data" : "run.sh"]`, "data\n"},
		"a word of a stage":                  {`pipe = [["cat", "sub/data"], input.n > 0 ? ["sort"] : null, ["sh", "run.sh"]]`, "ran\n"},
		"a program":                          {`command = ["./run.sh"]`, "ran\n"},
		"a script file":                      {`script_file = "run.sh"`, "ran\n"},
		"not what the script file includes":  {`script_file = "calls.sh"`, denied},
		"unless read names it":               {"script_file = \"calls.sh\"\nsandbox { read = [\"other.sh\"] }", "other\n"},
		"a link to another file":             {`command = ["cat", "inner"]`, "data\n"},
		"a link that leads out":              {`command = ["cat", "outer"]`, denied},
		"a directory that is a word":         {`command = ["find", "sub", "-name", "data"]`, denied},
		"dir, without the rest":              {"dir = \"sub\"\ncommand = [\"sh\", \"-c\", \"ls; cat ../tools.hcl\"]", "data\ntools.hcl\ncat: ../tools.hcl: P" + denied},
		"not a dir that is the directory":    {"dir = \".\"\nscript = \"ls\"", denied},
		"nor one around it":                  {"dir = \"..\"\nscript = \"ls\"", denied},
		"through /proc":                      {`script = "cat /proc/self/cwd/tools.hcl"`, denied},
		"under, for this call":               {`command = ["cat", under("sub", "data")]`, "data\n"},
		"under in a script":                  {`script = "cat $${x}"` + "\nenv = { x = under(\"sub\", \"data\") }", "data\n"},
		"under reaches nothing beside it":    {`command = ["sh", "-c", "cat $1 ../tools.hcl", "sh", under("sub", "data")]` + "\ndir = \"sub\"", denied},
		"under as dir, also to run programs": {"dir = under(\"sub\", \"..x\")\ncommand = [\"ls\"]", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := runIn(t, dir, c.block, `{"s": "tools.hcl"}`)
			exact := strings.HasSuffix(c.want, "\n")
			if exact && got != c.want || !exact && !strings.Contains(got, c.want) || strings.Contains(got, "the configuration") {
				t.Errorf("%q", got)
			}
			if len(warnings) > 0 {
				t.Error(warnings)
			}
		})
	}
}

// A configuration directory may lie below a directory that belongs to the system or is in PATH.
func TestTheConfigurationIsNotReadAsAPartOfTheSystem(t *testing.T) {
	around := newConfigDir(t, t.TempDir(), map[string]string{"conf/tools.hcl": "the configuration\n", "bin/tool": "#!/bin/sh\necho tool\n", "greet": "#!/bin/sh\necho hello\n"})
	if err := os.Symlink(around, filepath.Join(around, "circle")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")+":"+around)
	for script, want := range map[string]string{
		"greet": "hello\n", "cat " + around + "/bin/tool": "#!/bin/sh\necho tool\n", "cat tools.hcl": "ermission denied", "ls " + around: "ermission denied",
	} {
		if got, _ := runIn(t, filepath.Join(around, "conf"), fmt.Sprintf("script = %q", script), `{}`); !strings.Contains(got, want) {
			t.Errorf("%s: %q", script, got)
		}
	}
}

func TestReadOfTheConfigurationWarns(t *testing.T) {
	dir := newConfigDir(t, t.TempDir(), map[string]string{"sub/x": ""})
	for sandbox, want := range map[string]string{
		`read = ["sub"]`:  "",
		`read = ["."]`:    `Configuration can be read: "." contains the configuration directory, so that programs can read every file in it.`,
		`read = ["/"]`:    `Configuration can be read: "/" contains`,
		`write = [".."]`:  `Configuration can be changed: ".." contains the configuration directory, so that programs can change the tools`,
		`mode = "none"`:   "",
		`network = false`: "",
	} {
		_, warnings := runIn(t, dir, "command = [\"true\"]\nsandbox {\n"+sandbox+"\n}", `{}`)
		if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", sandbox, got)
		}
	}
}

// A link that a program has made leads to nothing that its own words name later.
func TestALinkOfAProgramNamesNoFile(t *testing.T) {
	dir := newConfigDir(t, t.TempDir(), map[string]string{"tools.hcl": "the configuration\n", "out/x": "x\n"})
	if err := os.Symlink("out/x", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := newTool("command = [\"sh\", \"-c\", \"cat link; touch $TMPDIR/t; ln -sf ../tools.hcl out/x\", \"link\"]\nstderr = \"merge\"\nsandbox { write = [\"out\"] }")
	s.Dir = dir
	b := adaptertest.Bind(t, s)
	for range 2 {
		if out, err := b.Do(t.Context(), `{}`); err != nil || strings.Contains(out["stdout"].(string), "the configuration") {
			t.Errorf("%v, %v", out, err)
		}
	}
}

// What under has resolved for a local is readable in each block that reads the local, though it is computed once.
func TestAPathOfALocalIsReadable(t *testing.T) {
	s := newTool(`command = ["cat", local.path]`)
	s.HCL = strings.Replace(s.HCL, "description", "locals {\n  path = under(\"sub\", \"data\")\n}\n  description", 1)
	s.Dir = newConfigDir(t, t.TempDir(), map[string]string{"sub/data": "data\n"})
	b := adaptertest.Bind(t, s)
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := b.Action.Do(t.Context(), call)
		if err != nil || out.(map[string]any)["stdout"] != "data\n" {
			t.Errorf("%v, %v", out, err)
		}
	}
	if locals := call.Frame.ComputedLocals(); len(locals) > 0 {
		t.Errorf("%v would not be resolved again after a pause", locals)
	}
}
