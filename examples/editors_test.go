package examples_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
)

// edited is a folder with a configuration and one of Terraform, for people with editors.
func edited(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir()}
	for _, name := range []string{"tools", "foreign"} {
		if err := os.Mkdir(f.file(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.write("tools/tools.hcl", `tool "greet" {
  description = "Greet a person by name."
  input "name" { type = string("Who to greet") }
  text = "Hello ${input.name}!"
}
`)
	f.write("foreign/main.hcl", `terraform {
  required_version = ">= 1.6"
}

resource "null_resource" "a" {
  triggers = { name = var.nmae }
}
`)
	return f
}

const hovered = "`string`\n\nWho to greet"

const unknownInput = `Unknown input: There is no input "nmae". Did you mean "name"?`

// vsix packs the extension for VS Code, and returns its files.
func vsix(t *testing.T) map[string][]byte {
	t.Helper()
	pack := os.Getenv("HATCHEL_TEST_VSIX")
	if pack == "" {
		t.Skip("HATCHEL_TEST_VSIX does not name the program that packs the extension")
	}
	path := filepath.Join(t.TempDir(), "hatchel.vsix")
	if out, err := exec.Command(pack, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for _, entry := range archive.File {
		in, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[entry.Name], err = io.ReadAll(in); err != nil { // it checks the checksum
			t.Fatalf("%s: %v", entry.Name, err)
		}
		in.Close()
	}
	return files
}

func TestExtensionForVSCodeWorksWithTheServer(t *testing.T) {
	needsTypeScript(t)
	t.Parallel()
	files := vsix(t)
	for _, name := range []string{"extension.vsixmanifest", "[Content_Types].xml", "extension/package.json",
		"extension/readme.md", "extension/LICENSE.txt", "extension/ThirdPartyNotices.txt",
		"extension/language-configuration.json", "extension/syntaxes/hatchel.tmLanguage.json"} {
		if len(files[name]) == 0 {
			t.Errorf("the extension has no %s", name)
		}
	}
	if size := len(files["extension/extension.js"]); size == 0 || size > 400<<10 {
		t.Errorf("the program of the extension has %d bytes", size)
	}
	f := edited(t)
	f.write("extension.js", string(files["extension/extension.js"]))
	f.scripted(`{
		"claimed": "hatchel",
		"broken": ["4:25 0 `+jsonText(unknownInput)+`"],
		"mended": [],
		"lenses": ["dry-run", "≈ 69 tokens"],
		"commands": true,
		"completed": ["name"],
		"hover": "`+jsonText(hovered)+`",
		"formatted": true,
		"foreign": ["hcl", []],
		"tasks": [[["test", "--tool", "greet"], true], [["call", "--dry-run", "--", "greet", "{\"name\":\"Ada\"}"], true], [["lock"], true]],
		"messages": []
	}`, "../../editors/vscode/test/session.cjs", f.file("extension.js"), hatchel, f.file("tools"))
}

func TestGrammarForVSCodeReadsTheExamples(t *testing.T) {
	needsTypeScript(t)
	t.Parallel()
	f := edited(t)
	f.write("words.hcl", `# A comment.
tool "find" {
  read_only = true
  input "id" { type = optional(integer, 7) }
  query = <<-SQL
    SELECT total WHERE id = ${input.id} %{if var.open}AND paid%{endif}
  SQL
  text   = "Hello $${x} ${upper(local.name)}!"
  result = <<-EXPR
    let rows = filter(output.rows, .total > 0); rows
  EXPR
}
`)
	paths := map[string]string{"grammar": "../editors/vscode/syntaxes/hatchel.tmLanguage.json", "examples": "."}
	for name, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		paths[name] = absolute
	}
	f.scripted(`{"read": true, "wrong": [],
		"# A comment.": "comment.line.number-sign",
		"tool": "entity.name.type", "\"find\"": "string.quoted.double",
		"read_only": "variable.other.property", "=": "keyword.operator.assignment", "true": "constant.language",
		"optional": "entity.name.function", "integer": "variable.other", "7": "constant.numeric",
		"<<-SQL": "keyword.control.heredoc", "SQL": "keyword.control.heredoc",
		"SELECT": "meta.embedded.block.sql keyword.source.sql",
		"AND": "meta.embedded.block.sql keyword.source.sql",
		"${": "meta.embedded.block.sql meta.interpolation punctuation.section.interpolation.begin",
		"if": "meta.embedded.block.sql meta.interpolation source keyword.control",
		"$${": "string.quoted.double constant.character.escape",
		"upper": "string.quoted.double meta.interpolation source entity.name.function",
		"name": "string.quoted.double meta.interpolation source variable.other.member",
		"let": "meta.embedded.block.expr keyword.control",
		"filter": "meta.embedded.block.expr entity.name.function"
	}`, "../../editors/vscode/test/grammar.cjs", paths["grammar"], f.file("words.hcl"), paths["examples"])
}

// jsonText is a text as it stands inside of quotes in JSON.
func jsonText(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// neovimSettings are the settings of the guide.
var neovimSettings = regexp.MustCompile("(?s)```lua\n(.*?)```")

// olderNeovim defines what the settings use and Neovim 0.7, which some distributions have, lacks.
const olderNeovim = `
local client
vim.lsp.start = vim.lsp.start or function(config)
  client = client or vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(0, client)
end
`

func TestNeovimWorksWithTheServer(t *testing.T) {
	t.Parallel()
	nvim := os.Getenv("HATCHEL_TEST_NEOVIM")
	if nvim == "" {
		t.Skip("HATCHEL_TEST_NEOVIM does not name a Neovim")
	}
	guide, err := os.ReadFile("../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := neovimSettings.FindSubmatch(guide)
	if settings == nil {
		t.Fatal("docs/editors.md has no settings for Neovim")
	}
	script, err := filepath.Abs("../editors/neovim/session.lua")
	if err != nil {
		t.Fatal(err)
	}
	f := edited(t)
	f.write("init.lua", olderNeovim+string(settings[1]))
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-n", "-i", "NONE", "-u", "init.lua",
		"--cmd", "set noloadplugins", "-c", "luafile "+script)
	cmd.Dir, cmd.Env = f.path, append(f.command().Env, "PATH="+filepath.Dir(hatchel)+":"+os.Getenv("PATH"),
		"XDG_CONFIG_HOME="+f.path, "XDG_DATA_HOME="+f.path, "XDG_STATE_HOME="+f.path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	var seen map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	want := map[string]any{"filetype": "hcl", "broken": []any{"4:25 " + unknownInput}, "mended": []any{},
		"hover": hovered, "formatted": true, "foreign": 0.0}
	for what := range want {
		if !reflect.DeepEqual(seen[what], want[what]) && !(what == "mended" && seen[what] == nil) {
			t.Errorf("%s: %v, not %v", what, seen[what], want[what])
		}
	}
}
