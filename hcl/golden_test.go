package hcl_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
	. "hatchel/hcl"
	"hatchel/hcl/diag"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Every archive of testdata is a folder of configuration and what the loader makes of it, byte for byte. Its comment says why it exists. A file
// "vars" gives values of variables, a file "env" the environment. "want" is what is printed; "want.json" holds the tools of a configuration without errors.
func TestConfigurationsReadAsWritten(t *testing.T) {
	for _, name := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a := archive(t, name)
			if len(bytes.TrimSpace(a.Comment)) == 0 {
				t.Error("the archive does not say why it exists")
			}
			config, diags, sources := loadArchive(t, a, nil)
			checked := false
			for i, f := range a.Files {
				var got []byte
				switch f.Name {
				case "want":
					got = printed(t, diags, sources)
				case "want.json":
					if diags.HasErrors() {
						t.Fatalf("the configuration is refused:\n%s", printed(t, diags, sources))
					}
					got = listed(config)
				default:
					continue
				}
				checked = true
				switch {
				case *update:
					a.Files[i].Data = got
				case !bytes.Equal(got, f.Data):
					t.Errorf("%s: got:\n%s\nwant:\n%s", f.Name, got, f.Data)
				}
			}
			if !checked {
				t.Fatal("the archive says nothing of what it wants")
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func archives(t testing.TB) []string {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	return names
}

func archive(t testing.TB, name string) *txtar.Archive {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func loadArchive(t testing.TB, a *txtar.Archive, parallel func(int, func(int))) (*Config, diag.Diagnostics, map[string][]byte) {
	fsys := fstest.MapFS{}
	env := map[string]string{}
	opts := Options{Parallel: parallel, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	for _, f := range a.Files {
		switch f.Name {
		case "want", "want.json":
		case "vars":
			var diags diag.Diagnostics
			if opts.Vars, diags = ParseVars("vars", f.Data); diags.HasErrors() {
				t.Fatal("the file vars is broken")
			}
		case "env":
			for line := range strings.Lines(string(f.Data)) {
				name, v, _ := strings.Cut(strings.TrimSpace(line), "=")
				env[name] = v
			}
		default:
			fsys[f.Name] = archived(f.Data)
		}
	}
	config, diags := Load(fsys, all.Set().Kinds(), opts)
	return config, diags, config.Sources
}

// archived is a file as an archive writes it. A line "repeat N text" stands for N times the text, in which \n is a line
// break, and a file "link name" for a link.
func archived(data []byte) *fstest.MapFile {
	if target, ok := strings.CutPrefix(string(data), "link "); ok {
		return &fstest.MapFile{Data: []byte(strings.TrimSuffix(target, "\n")), Mode: fs.ModeSymlink}
	}
	repeated := regexp.MustCompile(`(?m)^repeat (\d+) (.*\n)`)
	return &fstest.MapFile{Data: repeated.ReplaceAllFunc(data, func(line []byte) []byte {
		parts := repeated.FindSubmatch(line)
		n, _ := strconv.Atoi(string(parts[1]))
		return bytes.Repeat(bytes.ReplaceAll(parts[2], []byte(`\n`), []byte("\n")), n)
	})}
}

// offered is a configuration of one file without errors.
func offered(t testing.TB, src string) *Config {
	t.Helper()
	config, diags := Load(files("a.hcl", src), all.Set().Kinds(), Options{})
	if diags.HasErrors() {
		t.Fatalf("%s", printed(t, diags, config.Sources))
	}
	return config
}

func printed(t testing.TB, diags diag.Diagnostics, sources map[string][]byte) []byte {
	var out bytes.Buffer
	if err := diags.Print(&out, sources); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// listed writes what clients see of everything that is offered, one a line.
func listed(c *Config) (out []byte) {
	for _, t := range c.Tools {
		out = append(out, t.Name+" "...)
		out = t.Input.AppendSchema(out)
		for _, hint := range []struct {
			name string
			on   bool
		}{{"read_only", t.ReadOnly}, {"destructive", t.Destructive}, {"idempotent", t.Idempotent}, {"open_world", t.OpenWorld}} {
			if hint.on {
				out = append(out, " "+hint.name...)
			}
		}
		out = append(out, completed(&t.Operation)+"\n"...)
	}
	for _, p := range c.Prompts {
		out = append(out, "prompt "+p.Name...)
		for _, a := range p.Arguments() {
			out = fmt.Appendf(out, " (%s, title %q, description %q, required %t)", a.Name, a.Title, a.Description, a.Required)
		}
		for _, m := range p.Messages {
			out = fmt.Appendf(out, " %s %d", m.Role, len(m.Content))
		}
		out = append(out, completed(&p.Operation)+"\n"...)
	}
	for _, k := range c.Skills {
		out = fmt.Appendf(out, "skill %s %s\n", k.URI, k.Content.Frontmatter.JSON)
		for _, f := range k.Content.Files {
			out = fmt.Appendf(out, "  %s %s %s\n", k.URIOf(f.Path), f.MimeType, f.Digest)
		}
	}
	for _, r := range c.Resources {
		out = fmt.Appendf(out, "resource %s %s", r.Name, r.URI)
		if r.Template != nil {
			out = fmt.Appendf(append(out, r.Template.Raw()+" "...), "%s", r.Input.AppendSchema(nil))
		}
		out = fmt.Appendf(out, " mime_type %q size %d", r.MimeType, r.Size)
		if r.CacheHint != nil {
			out = fmt.Appendf(out, " ttl %s private %t", r.CacheHint.TTL, !r.CacheHint.Public)
		}
		if r.Refresh > 0 {
			out = fmt.Appendf(out, " refresh %s", r.Refresh)
		}
		if !r.Listed {
			out = append(out, " unlisted"...)
		}
		out = append(out, completed(&r.Operation)+"\n"...)
	}
	for _, t := range c.Toolsets {
		out = fmt.Appendf(out, "toolset %s %q %q %q\n", t.Name, t.Tools, t.Prompts, t.Resources)
		if s := t.Search; s != nil {
			out = fmt.Appendf(out, "  search %q %q %d\n", s.Areas, s.Pinned, s.Results)
		}
	}
	for _, p := range c.Policies {
		out = fmt.Appendf(out, "policy %s %q %q %q whole %t\n", p.Name, p.Tools, p.Prompts, p.Resources, p.AppliesToAll)
	}
	return out
}

// completed says how the inputs of a block are completed.
func completed(w *Operation) (said string) {
	for _, m := range w.Input.Members {
		if c := w.Completion(m.Name); c != nil {
			said += fmt.Sprintf(" %s completed by %q and %d backends", m.Name, c.Values, len(c.Steps))
		}
	}
	return said
}
