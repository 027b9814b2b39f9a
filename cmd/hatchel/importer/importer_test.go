package importer

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/syntax"
	"hatchel/internal/printable"
)

// valueOf returns the value of an HCL expression that must be constant text.
func valueOf(t *testing.T, src string) string {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(src), "x.hcl", hclv2.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%q does not parse: %v", src, diags)
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		t.Fatalf("%q is not constant: %v", src, diags)
	}
	return v.AsString()
}

func FuzzNothingBreaksOutOfAQuotedText(f *testing.F) {
	for _, s := range []string{
		`"; x`, "${secret.x}", "%{if true}", "$${x}", "$$${x}", "%%%{x}", "$$", "a\nb\r\t\\", "\x00\x1b\u200b\u202e", "\U000e0041", "$", "%", "$%{",
		"TEXT\nTEXT\n", `\${x}`, "\u2028",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		want := valueOf(t, `"`+strings.Join(escapeEach(s), "")+`"`)
		if got := valueOf(t, Quote(s)); got != want {
			t.Errorf("Quote(%q) = %s, which is %q", s, Quote(s), got)
		}
	})
}

// escapeEach returns every character of s as an escape.
func escapeEach(s string) (out []string) {
	for _, r := range s {
		out = append(out, `\U`+strings.ToUpper(leftPad(r)))
	}
	return out
}

func leftPad(r rune) string {
	const digits = "0123456789abcdef"
	b := []byte("00000000")
	for i := 7; r > 0; i-- {
		b[i], r = digits[r&15], r>>4
	}
	return string(b)
}

func FuzzNothingOfATemplateIsAnInterpolation(f *testing.F) {
	for _, s := range []string{"${x}", "%{if x}", "a $b", `"${"`, "x${y}%{z}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if printable.HasHidden(s) || strings.ContainsAny(s, "\n\t\r") || !TemplateHolds(s) {
			t.Skip()
		}
		want := valueOf(t, Quote(s))
		got := strings.TrimSuffix(valueOf(t, "<<END_OF_IT\n|"+Template(s)+"|\nEND_OF_IT\n"), "\n")
		if got != "|"+want+"|" {
			t.Errorf("Template(%q) is %q", s, got)
		}
	})
}

func TestKeysAndTokensOfATextAreReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"Use sk_live_0123456789.":               "Use ….",
		"key=ghp_0123456789abcdef, or not":      "key=…, or not",
		"(eyJhbGciOi.eyJzdWIi.c2ln-bmF0dXJl_A)": "(…)",
		"_AKIA0123456789ABCDEF_":                "_…_",
		"a sketch of a risk-management-plan":    "a sketch of a risk-management-plan",
		"task_pk_orders and pk-index, sk_test_": "task_pk_orders and pk-index, sk_test_",
	} {
		if got := WithoutCredentials(text); got != want {
			t.Errorf("WithoutCredentials(%q) = %q, want %q", text, got, want)
		}
		if got := ContainsCredential(text); got != (text != want) {
			t.Errorf("ContainsCredential(%q) = %v", text, got)
		}
	}
	r := &Result{}
	if got := r.Describe("a", "its description", "Is glpat-0123456789abcdef.", "", 100); got != "Is …." || len(r.Losses) != 1 {
		t.Errorf("got %q and the losses %v", got, r.Losses)
	}
}

const listTool = `
# public.a
tool "list_a" {
  description = "List rows."
  text        = "none"
}
`

func importOf(texts ...string) *Result {
	r := &Result{Source: "schema x"}
	for _, text := range texts {
		r.Blocks = append(r.Blocks, Block{File: "x.hcl", Text: text, Origin: "public.a"})
	}
	return r
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func replace(t *testing.T, dir, name, old, new string) {
	t.Helper()
	src := strings.Replace(read(t, dir, name), old, new, 1)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

// move moves the blocks of x.hcl to y.hcl.
func move(t *testing.T, dir string) {
	if err := os.Rename(filepath.Join(dir, "x.hcl"), filepath.Join(dir, "y.hcl")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.hcl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnImportKeepsWhatTheAuthorHasChanged(t *testing.T) {
	upstream := strings.Replace(listTool, "List rows.", "List all rows.", 1)
	other := strings.ReplaceAll(listTool, "list_a", "list_b")
	for _, test := range []struct {
		name      string
		edit      func(t *testing.T, dir string)
		blocks    []string
		states    []State
		contains  string
		conflicts string // in x.hcl.new
	}{
		{"nothing changed", nil, []string{listTool}, []State{Unchanged}, "List rows.", ""},
		{"upstream changed", nil, []string{upstream}, []State{Replaced}, "List all rows.", ""},
		{"a block is new", nil, []string{listTool, other}, []State{Unchanged, Added}, `tool "list_b"`, ""},
		{"a block is gone", nil, nil, []State{Gone}, "List rows.", ""},
		{"the author changed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "none", "mine") },
			[]string{listTool}, []State{Kept}, "mine", ""},
		{"both changed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "none", "mine") },
			[]string{upstream}, []State{Conflict}, "mine", "List all rows."},
		{"the author only formatted it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "text  ", "text") },
			[]string{upstream}, []State{Replaced}, "List all rows.", ""},
		{"the author removed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", read(t, dir, "x.hcl"), "") },
			[]string{upstream}, []State{Removed}, "", ""},
		{"the author removed it and the source has not changed", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", read(t, dir, "x.hcl"), "") },
			[]string{listTool}, []State{Removed}, "", ""},
		{"both removed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", read(t, dir, "x.hcl"), "") },
			nil, nil, "", ""},
		{"the author changed it and the source removed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "none", "mine") },
			nil, []State{Gone}, "mine", ""},
		{"both made the same change", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "List rows.", "List all rows.") },
			[]string{upstream}, []State{Unchanged}, "List all rows.", ""},
		{"the author changed the comment", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "# public.a", "# mine") },
			[]string{upstream}, []State{Conflict}, "# mine", "List all rows."},
		{"the author renamed it", func(t *testing.T, dir string) { replace(t, dir, "x.hcl", "list_a", "list_mine") },
			[]string{upstream}, []State{Removed}, `tool "list_mine"`, ""},
		{"the author added a block", func(t *testing.T, dir string) {
			replace(t, dir, "x.hcl", "# public.a", "tool \"own\" {\n  description = \"Own.\"\n  text = \"x\"\n}\n\n# public.a")
		}, []string{upstream}, []State{Replaced}, `tool "own"`, ""},
		{"the author moved it", move, []string{upstream}, []State{Replaced}, "", ""},
		{"the author moved it and the source has not changed", move, []string{listTool}, []State{Unchanged}, "", ""},
		{"the author moved and changed it, and the source changed it", func(t *testing.T, dir string) {
			move(t, dir)
			replace(t, dir, "y.hcl", "none", "mine")
		}, []string{upstream}, []State{Conflict}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			if _, err := Write(dir, importOf(listTool), Options{}); err != nil {
				t.Fatal(err)
			}
			if test.edit != nil {
				test.edit(t, dir)
			}
			r, err := Write(dir, importOf(test.blocks...), Options{Update: true})
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range r.Entries {
				if e.State != test.states[i] {
					t.Errorf("%s is %s, want %s", e.Block, e.State, test.states[i])
				}
			}
			if len(r.Entries) != len(test.states) {
				t.Errorf("got %d blocks, want %d", len(r.Entries), len(test.states))
			}
			if got := read(t, dir, "x.hcl"); !strings.Contains(got, test.contains) {
				t.Errorf("x.hcl does not contain %q:\n%s", test.contains, got)
			}
			if test.conflicts != "" && !strings.Contains(read(t, dir, "x.hcl.new"), test.conflicts) {
				t.Errorf("x.hcl.new does not contain %q", test.conflicts)
			}
			again, err := Write(dir, importOf(test.blocks...), Options{Update: true})
			if err != nil || len(again.Files) > 0 {
				t.Errorf("a second update writes %v: %v", again, err)
			}
		})
	}
}

func TestAConflictKeepsTheBlocksOfEarlierOnes(t *testing.T) {
	dir := t.TempDir()
	other := strings.ReplaceAll(listTool, "list_a", "list_b")
	change := func(text, by string) string { return strings.Replace(text, "List rows.", by, 1) }
	for _, blocks := range [][]string{{listTool, other}, {change(listTool, "First."), other}, {change(listTool, "First."), change(other, "Second.")},
		{change(listTool, "Third."), change(other, "Second.")}} {
		if _, err := Write(dir, importOf(blocks...), Options{Update: true}); err != nil {
			t.Fatal(err)
		}
		replace(t, dir, "x.hcl", `"none"`, `"mine"`)
		replace(t, dir, "x.hcl", `"none"`, `"mine"`)
	}
	got := read(t, dir, "x.hcl.new")
	if !strings.Contains(got, "Second.") || !strings.Contains(got, "Third.") || strings.Contains(got, "First.") {
		t.Errorf("x.hcl.new is\n%s", got)
	}
}

func TestAnImportWritesNothingThatIsIgnoredOrNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "draft.hcl"), []byte(`tool "`), 0o600); err != nil {
		t.Fatal(err)
	}
	isDraft := func(name string) bool { return name == "draft.hcl" }
	if _, err := Write(dir, importOf(listTool), Options{Ignores: isDraft}); err != nil {
		t.Errorf("a broken file that is ignored: %v", err)
	}
	r := importOf(strings.ReplaceAll(listTool, "list_a", "list_b"))
	r.Blocks[0].File = "draft.hcl"
	if _, err := Write(dir, r, Options{Update: true, Ignores: isDraft}); err == nil || read(t, dir, "draft.hcl") != `tool "` {
		t.Errorf("an ignored file: %v, %s", err, read(t, dir, "draft.hcl"))
	}
	if err := os.Mkdir(filepath.Join(dir, "z.hcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	r = importOf(strings.ReplaceAll(listTool, "list_a", "list_c"), strings.ReplaceAll(listTool, "list_a", "list_d"))
	r.Blocks[0].File, r.Blocks[1].File = "a.hcl", "z.hcl"
	if _, err := Write(dir, r, Options{Update: true}); err == nil {
		t.Error("a directory in place of a file is no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.hcl")); !os.IsNotExist(err) {
		t.Error("a part was written")
	}
}

func TestAnImportOverwritesNothingWithoutUpdate(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write(dir, importOf(listTool), Options{}); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir, "x.hcl")
	for _, blocks := range [][]string{
		{strings.Replace(listTool, "List rows.", "List all rows.", 1)},
		{listTool, strings.ReplaceAll(listTool, "list_a", "list_b")},
	} {
		if _, err := Write(dir, importOf(blocks...), Options{}); err == nil || read(t, dir, "x.hcl") != before {
			t.Errorf("got %v and\n%s", err, read(t, dir, "x.hcl"))
		}
	}
}

// TestFilesOfAnImportAreLoaded checks that the blocks of an import that are too large for one file are written to
// several, that a later import finds them there, and that files of the author are none of these.
func TestFilesOfAnImportAreLoaded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x_2.hcl"), []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i := range 14 {
		text := strings.ReplaceAll(listTool, "list_a", "list_"+strconv.Itoa(i))
		blocks = append(blocks, "# "+strings.Repeat("-", 100_000)+text)
	}
	for i, want := range []State{Added, Unchanged} {
		r, err := Write(dir, importOf(blocks...), Options{Update: i > 0})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Entries {
			if e.State != want || e.File == "x_2.hcl" {
				t.Errorf("%s in %s is %v, want %v", e.Block, e.File, e.State, want)
			}
		}
	}
	for _, name := range []string{"x.hcl", "x_3.hcl", "x_4.hcl"} {
		if _, diags := syntax.Parse(name, []byte(read(t, dir, name))); diags.HasErrors() {
			t.Errorf("%s does not load: %v", name, diags)
		}
	}
	if got := read(t, dir, "x_2.hcl"); got != "# mine\n" {
		t.Errorf("the file of the author is %q", got)
	}
}

func TestAnImportLeavesBlocksOfTheAuthorAlone(t *testing.T) {
	dir := t.TempDir()
	mine := strings.Replace(listTool, "none", "mine", 1)
	if err := os.WriteFile(filepath.Join(dir, "mine.hcl"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Write(dir, importOf(listTool), Options{Update: true})
	if err != nil || r.Entries[0].State != Foreign || read(t, dir, "mine.hcl") != mine {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	r, err := Write(dir, importOf(listTool), Options{DryRun: true})
	if _, statErr := os.Stat(dir); err != nil || len(r.Files) != 1 || !os.IsNotExist(statErr) {
		t.Errorf("got %+v, %v, %v", r, err, statErr)
	}
}

func TestABrokenManifestOrFileIsReported(t *testing.T) {
	for name, src := range map[string]string{ManifestFile: "<<<<<<< ours", "x.hcl": `tool "`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(dir, importOf(listTool), Options{Update: true}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNamesAreDistinctAfterTheyAreCut(t *testing.T) {
	n := Names{}
	for _, want := range []string{"list_orders", "list_orde_2", "list_orde_3"} {
		if got := n.Take("list_orders_of_the_shop", 11); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for in, want := range map[string]string{
		"OrderID": "order_id", "Start time<": "start_time", "9": "x_9", "": "x", "\"; x": "x", "a__b": "a_b", "größe": "gr_e",
	} {
		if got := Identifier(in); got != want {
			t.Errorf("Identifier(%q) = %s, want %s", in, got, want)
		}
	}
}
