package mcp_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/mcp"
	"hatchel/hcl"
)

var update = flag.Bool("update", false, "write what is generated to the golden files")

// TestClientFilesBecomeTheseFiles imports the client's file of each archive twice, with the lists of tools in the
// files NAME.list.json, and compares the files, the report and the client's file that is printed.
func TestClientFilesBecomeTheseFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			isWanted := func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want/") }
			given := slices.IndexFunc(archive.Files, isWanted)
			if given < 0 {
				given = len(archive.Files)
			}
			dir := t.TempDir()
			got := importFile(t, dir, archive.Comment, archive.Files[:given], importer.Options{})
			again := importFile(t, dir, archive.Comment, archive.Files[:given], importer.Options{Update: true})
			if !bytes.Equal(filesOf(got), filesOf(again)) {
				t.Errorf("a second import gives other files:\n%s", txtar.Format(&txtar.Archive{Files: again}))
			}
			archive.Files = append(archive.Files[:given:given], got...)
			text := txtar.Format(archive)
			if bytes.Contains(filesOf(got), []byte("hunter2")) {
				t.Error("a value of a secret is written")
			}
			if *update {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(name); err != nil || !bytes.Equal(text, want) {
				t.Errorf("run with -update, and review the difference; got\n%s", text)
			}
		})
	}
}

// A definition that is too large or too deep is left out with its reason, and the others are imported.
func TestDefinitionsThatCannotBePinnedAreReported(t *testing.T) {
	const levels = 900
	l, err := mcp.ReadList(fmt.Appendf(nil, `{"tools": [{"name": "deep", "inputSchema": %s{}%s},
		{"name": "large", "description": %q, "inputSchema": {}}, {"title": "nameless", "inputSchema": {}}, null,
		{"name": "ping", "description": "Answers.", "inputSchema": {"type": "object"}}]}`,
		strings.Repeat(`{"items":`, levels), strings.Repeat("}", levels), strings.Repeat("x", 64<<10)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewServer("host", "https://host.example/mcp", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	servers := []*mcp.Server{s}
	result, err := mcp.Import(s, l, mcp.Options{Declarations: mcp.NewDeclarations(servers), Taken: importer.Names{}, Check: checkFiles})
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, loss := range result.Losses {
		lost = append(lost, loss.Name+": "+loss.Kind+": "+loss.Detail)
	}
	const left = ": tool left out: its definition cannot be pinned: "
	want := []string{
		"deep" + left + "invalid JSON at byte 599: more than 64 levels of nesting",
		"large" + left + "the definition has 65586 bytes, and at most 65536 are accepted",
		"a tool without a name" + left + "name is missing",
		"a tool without a name" + left + "a definition is an object, not a null",
	}
	if len(result.Blocks) != 2 || !strings.Contains(result.Blocks[1].Text, `tool "ping"`) || !slices.Equal(lost, want) {
		t.Errorf("%d blocks; lost %q", len(result.Blocks), lost)
	}
}

// filesOf returns the written files, without the report.
func filesOf(files []txtar.File) []byte {
	return txtar.Format(&txtar.Archive{Files: slices.DeleteFunc(slices.Clone(files), func(f txtar.File) bool {
		return strings.HasSuffix(f.Name, "report")
	})})
}

// importFile imports a client's file into a directory as the command does, with programs that are not installed. What
// the comment of the archive has are options.
func importFile(t *testing.T, dir string, comment []byte, files []txtar.File, opt importer.Options) []txtar.File {
	t.Helper()
	var report bytes.Buffer
	f, err := mcp.ReadClientFile(files[0].Name, files[0].Data)
	if err != nil {
		return []txtar.File{{Name: "want/error", Data: []byte(err.Error() + "\n")}}
	}
	for _, l := range f.Losses {
		fmt.Fprintf(&report, "%s: %s: %s (%s)\n", l.Name, l.Kind, l.Detail, l.Origin)
	}
	declarations := mcp.NewDeclarations(f.Servers)
	taken := importer.Names{}
	for _, s := range f.Servers {
		o := mcp.Options{Declarations: declarations, Taken: taken, Check: checkFiles}
		options(t, &o, string(comment))
		s.SetWorkspace("/work")
		p, err := s.Launched()
		if err != nil {
			fmt.Fprintf(&report, "%s: %v\n", s.Name, err)
			continue
		}
		if p != nil && p.Python {
			dir := ".mcp/py/" + s.Name
			s.SetProgram(mcp.Program{Words: []string{dir + "/bin/python", dir + "/bin/" + p.Spec}, Read: []string{dir}})
		} else if p != nil {
			s.SetProgram(mcp.Program{Words: []string{"node", ".mcp/npm/node_modules/" + p.Spec + "/index.js"},
				Read: []string{".mcp/npm"}})
		}
		result, err := mcp.Import(s, listOf(t, s.Name, files), o)
		if err != nil {
			fmt.Fprintf(&report, "%s: %v\n", s.Name, err)
			continue
		}
		written, err := importer.Write(dir, result, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range written.Entries {
			if name, isTool := strings.CutPrefix(e.Block, "tool "); isTool {
				taken[name] = true
			}
		}
		for _, l := range written.Losses {
			fmt.Fprintf(&report, "%s: %s: %s (%s)\n", l.Name, l.Kind, l.Detail, l.Origin)
		}
		for _, name := range written.Exports {
			fmt.Fprintf(&report, "set %s\n", name)
		}
	}
	var out []txtar.File
	sources := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Base(name)] = src
		if filepath.Base(name) != importer.ManifestFile {
			out = append(out, txtar.File{Name: "want/" + filepath.Base(name), Data: src})
		}
	}
	if mistakes, err := checkFiles(sources); err != nil || len(mistakes) > 0 {
		t.Errorf("the files do not load without a warning: %v %v", mistakes, err)
	}
	report.Write(f.Client("/srv/tools"))
	return append(out, txtar.File{Name: "want/report", Data: report.Bytes()})
}

// options reads lines such as --prefix gh_.
func options(t *testing.T, o *mcp.Options, text string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "--prefix":
			o.Prefix = value
		case "--tool":
			o.Tools = strings.Split(value, ",")
		case "--asks":
			o.Asks = strings.Split(value, ",")
		case "--trust-hints":
			o.TrustHints = true
		case "--oauth":
			o.OAuth = &mcp.OAuth{Resource: "https://mcp.example/mcp", TokenURL: value, Scopes: []string{"tools.read"}}
		case "":
		default:
			if strings.HasPrefix(name, "--") {
				t.Fatalf("unknown option %s", name)
			}
		}
	}
}

// listOf returns the list of a server. One without a list has the tool ping.
func listOf(t *testing.T, name string, files []txtar.File) *mcp.Listing {
	list := `{"tools": [{"name": "ping", "description": "Answer.", "inputSchema": {"type": "object"}}]}`
	for _, f := range files {
		if f.Name == name+".list.json" {
			list = string(f.Data)
		}
	}
	l, err := mcp.ReadList([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkFiles loads files, and returns what validate would report.
func checkFiles(files map[string][]byte) (mistakes []importer.Mistake, err error) {
	fsys := fstest.MapFS{}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: src}
	}
	_, diags := hcl.Load(fsys, all.Set().Kinds(), hcl.Options{Dir: "/", UnsetVars: true}.ForCheck())
	for _, d := range diags {
		mistakes = append(mistakes, importer.Mistake{File: d.Subject.File, Line: d.Subject.Start.Line,
			Text: d.Summary + ": " + d.Text(), Warning: d.Severity != hcl.Error})
	}
	return mistakes, nil
}
