package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/file"
	"hatchel/hcl/value"
)

var set = adapters.Set{Adapters: []adapters.Adapter{file.Adapter()}}

// tool is a tool over the folder "docs" with the inputs name, first, last and content.
func tool(dir, block string) adaptertest.Source {
	inputs := ""
	for name, typ := range map[string]string{"name": "string", "first": "optional(integer)", "last": "optional(integer)", "content": "optional(any, \"\")"} {
		if strings.Contains(block, "input."+name) {
			inputs += fmt.Sprintf("  input %q { type = %s }\n", name, typ)
		}
	}
	return adaptertest.Source{Set: set, Dir: dir, HCL: fmt.Sprintf(`
tool "t" {
  description = "Test."
%s  file {
    directory = "docs"
    %s
  }
  result = "output.path"
}
`, inputs, block)}
}

func folder(t testing.TB, files map[string]string) (dir, docs string) {
	t.Helper()
	dir = t.TempDir()
	docs = filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, docs
}

func refused(t testing.TB, b *adaptertest.Bound, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v, %v", out, err)
	}
	adaptertest.CheckFault(t, f)
	return f.Message
}

func TestFilesAreReadAsWhatTheyAre(t *testing.T) {
	dir, docs := folder(t, map[string]string{
		"a.txt": "één\r\ntwo\n\nfour", "a.json": "\ufeff{\"n\": 12345678901234567890, \"l\": [1]}", "a.csv": "\ufeffid,name\n1,\"A, B\"\n2,\n", "a.bin": "\x00\xff", "a.ssv": "id;name\n1;x\n",
	})
	for block, want := range map[string]any{
		`read = "a.txt"`:                                      "één\r\ntwo\n\nfour",
		"read = \"a.txt\"\n as = \"lines\"":                   []any{"één", "two", "", "four"},
		"read = \"a.json\"\n as = \"json\"":                   map[string]any{"n": value.Number("12345678901234567890"), "l": []any{1}},
		"read = \"a.csv\"\n as = \"csv\"":                     []any{map[string]any{"id": "1", "name": "A, B"}, map[string]any{"id": "2", "name": ""}},
		"read = \"a.ssv\"\n as = \"csv\"\n delimiter = \";\"": []any{map[string]any{"id": "1", "name": "x"}},
		"read = \"a.bin\"\n as = \"bytes\"":                   value.Bytes("\x00\xff"),
	} {
		out, err := adaptertest.Bind(t, tool(dir, block)).Do(t.Context(), `{}`)
		if err != nil {
			t.Errorf("%s: %v", block, err)
			continue
		}
		if !strings.HasPrefix(out["path"].(string), docs) || out["size"].(int) == 0 {
			t.Errorf("output %v", out)
		}
		delete(out, "path")
		delete(out, "size")
		for _, got := range out {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s gives %#v", block, got)
			}
		}
	}
}

func TestLinesAreReadByNumber(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	dir, _ := folder(t, map[string]string{"log": "1\n2\n" + long + "\n4\n5"})
	b := adaptertest.Bind(t, tool(dir, "read = input.name\n first = input.first\n last = input.last\n max_size = \"1KiB\""))
	for arguments, want := range map[string]string{
		`{"name": "log", "first": 1, "last": 2}`: "1\n2\n",
		`{"name": "log", "first": 4}`:            "4\n5",
		`{"name": "log", "last": 1}`:             "1\n",
		`{"name": "log", "first": 5, "last": 5}`: "5",
		`{"name": "log", "first": 9}`:            "",
	} {
		out, err := b.Do(t.Context(), arguments)
		if err != nil || out["content"] != want {
			t.Errorf("%s: %v, %v", arguments, out["content"], err)
		}
	}
	for arguments, want := range map[string]string{
		`{"name": "log", "first": 3}`:            "more than 1 KiB would be read; ask for fewer lines: ",
		`{"name": "log"}`:                        "more than 1 KiB",
		`{"name": "log", "first": 0}`:            "first must be a line number of at least 1",
		`{"name": "log", "first": 3, "last": 2}`: "the last line, 2, comes before the first, 3",
	} {
		if said := refused(t, b, arguments); !strings.Contains(said, want) {
			t.Errorf("%s: %s", arguments, said)
		}
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	dir, docs := folder(t, map[string]string{"bin": "a\xffb", "bad.json": `{"a": 1,}`, "bad.csv": "a,b\n1\n", "twice.csv": "a,a\n1,2\n", "quote.csv": "a\n\"x\n"})
	if err := os.Mkdir(filepath.Join(docs, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": "../secret", "abs": secret, "loop": "loop", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(docs, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ as, name, want string }{
		{"text", "bin", `this is not text in UTF-8, so the tool would have to read it with as = "bytes": `},
		{"text", "none", "no such file: " + filepath.Join(docs, "none")},
		{"text", "sub", "this is a directory, not a file: "},
		{"text", "out", "a symbolic link leads out of the folder: "},
		{"text", "abs", "a symbolic link leads out of the folder: "},
		{"text", "up/secret", "out of the folder"},
		{"text", "loop", "symbolic links lead in a circle: "},
		{"text", "../secret", "climbs out of the folder"},
		{"text", "/etc/passwd", "is an absolute path"},
		{"text", ".env", "is hidden"},
		{"text", "bin/x", "no such directory: "},
		{"json", "bad.json", "this is not JSON, at byte 8: a key is expected: "},
		{"csv", "bad.csv", "line 2 of the CSV file cannot be read, it has more or fewer cells than there are columns: "},
		{"csv", "twice.csv", "two columns have the same name: "},
		{"csv", "quote.csv", "a quote is not closed"},
	} {
		b := adaptertest.Bind(t, tool(dir, fmt.Sprintf("read = input.name\n as = %q", x.as)))
		if said := refused(t, b, fmt.Sprintf(`{"name": %q}`, x.name)); !strings.Contains(said, x.want) {
			t.Errorf("%s: %s", x.name, said)
		}
	}
}

func TestContentIsWrittenAsItIs(t *testing.T) {
	dir, docs := folder(t, nil)
	for _, x := range []struct{ content, want string }{
		{`"text with \u0000 and é"`, "text with \x00 and é"},
		{`{"b": [1, null], "a": "x"}`, "{\"a\":\"x\",\"b\":[1,null]}\n"},
		{`12345678901234567890`, "12345678901234567890\n"},
	} {
		b := adaptertest.Bind(t, tool(dir, "write = \"a\"\n content = input.content\n if_exists = \"replace\""))
		out, err := b.Do(t.Context(), fmt.Sprintf(`{"content": %s}`, x.content))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(docs, "a"))
		if err != nil || string(got) != x.want || out["size"] != len(x.want) {
			t.Errorf("%s: %q, %v, %v", x.content, got, out, err)
		}
	}
	b := adaptertest.Bind(t, tool(dir, "write = \"b\"\n content = base64bytes(input.content)"))
	if _, err := b.Do(t.Context(), `{"content": "/wA="}`); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(docs, "b")); string(got) != "\xff\x00" {
		t.Errorf("wrote %q", got)
	}
	if said := refused(t, b, `{"content": "/wA="}`); said != "file exists: "+filepath.Join(docs, "b") {
		t.Error(said)
	}
}

func TestAppendAddsAtTheEnd(t *testing.T) {
	dir, docs := folder(t, map[string]string{"log": "one\n"})
	b := adaptertest.Bind(t, tool(dir, "write = input.name\n content = input.content\n if_exists = \"append\""))
	for _, name := range []string{"log", "new"} {
		if _, err := b.Do(t.Context(), fmt.Sprintf(`{"name": %q, "content": "two\n"}`, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"log": "one\ntwo\n", "new": "two\n"} {
		if got, _ := os.ReadFile(filepath.Join(docs, name)); string(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestWrongBlocksAreRefusedWhenLoaded(t *testing.T) {
	for block, want := range map[string]string{
		"read = \"a\"\n as = \"xml\"":                     `as is one of text, bytes, lines, csv, json, and this is "xml".`,
		"read = \"a\"\n content = \"x\"":                  "content belongs to write",
		"read = \"a\"\n if_exists = \"fail\"":             "if_exists belongs to write",
		"read = \"a\"\n as = \"json\"\n first = 1":        "first counts lines",
		"write = \"a\"":                                   "write content = …",
		"write = \"a\"\n content = \"x\"\n as = \"text\"": "as belongs to read",
		"read = \"a\"\n write = \"b\"\n content = \"x\"":  "write one of read, write",
	} {
		if said := adaptertest.Refusal(t, tool("", block)); !strings.Contains(said, want) {
			t.Errorf("%s: %s", block, said)
		}
	}
}

func TestContract(t *testing.T) {
	dir, _ := folder(t, map[string]string{"a.txt": "one\ntwo\n", "bin": "\xff"})
	t.Run("read", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Case{
			Source: tool(dir, `read = input.name`),
			Works:  `{"name": "a.txt"}`,
			Fails:  map[string]string{"Missing": `{"name": "b"}`, "Escape": `{"name": "../../etc/passwd"}`, "Binary": `{"name": "bin"}`},
		})
	})
	for _, mode := range []string{"replace", "append"} {
		t.Run(mode, func(t *testing.T) {
			adaptertest.Run(t, adaptertest.Case{
				Source: tool(dir, fmt.Sprintf("write = input.name\n content = input.content\n if_exists = %q", mode)),
				Works:  `{"name": "w.txt", "content": "x"}`,
				Fails:  map[string]string{"Escape": `{"name": "../w", "content": "x"}`},
			})
		})
	}
}
