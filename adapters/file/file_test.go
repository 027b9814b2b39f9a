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

var testSet = adapters.Set{Adapters: []adapters.Adapter{file.Adapter()}}

// source returns a tool over the directory docs. It has the inputs name, first, last and content if the
// block uses them.
func source(dir, block string) adaptertest.Source {
	inputs := ""
	for name, typ := range map[string]string{
		"name": "string", "first": "optional(integer)", "last": "optional(integer)", "content": "optional(any, \"\")",
	} {
		if strings.Contains(block, "input."+name) {
			inputs += fmt.Sprintf("  input %q { type = %s }\n", name, typ)
		}
	}
	return adaptertest.Source{Set: testSet, Dir: dir, HCL: fmt.Sprintf(`
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

// newDocs creates a configuration directory whose directory docs has these files.
func newDocs(t testing.TB, files map[string]string) (dir, docs string) {
	t.Helper()
	dir = t.TempDir()
	docs = filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(docs, name), text)
	}
	return dir, docs
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s contains %q, %v; want %q", path, got, err, want)
	}
}

// mustFail makes a call that fails and returns the message of its fault.
func mustFail(t testing.TB, b *adaptertest.BoundTool, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v, %v", out, err)
	}
	adaptertest.CheckFault(t, f)
	return f.Message
}

func wantPart(t testing.TB, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("got %q, which does not contain %q", got, part)
	}
}

func TestFileIsDecodedAsRequested(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{
		"a.txt":     "één\r\ntwo\n\nfour",
		"half.json": `["cut \ud83d"]`, "a.json": "\ufeff{\"n\": 12345678901234567890, \"l\": [1]}",
		"a.csv": "\ufeffid,name\n1,\"A, B\"\n2,\n",
		"a.bin": "\x00\xff",
		"a.ssv": "id;name\n1;x\n",
	})
	large, err := value.ParseNumber("12345678901234567890")
	if err != nil {
		t.Fatal(err)
	}
	for block, c := range map[string]struct {
		member string
		want   any
	}{
		`read = "a.txt"`:                                      {"content", "één\r\ntwo\n\nfour"},
		"read = \"a.txt\"\n as = \"lines\"":                   {"lines", []any{"één", "two", "", "four"}},
		"read = \"half.json\"\n as = \"json\"":                {"content", []any{"cut \uFFFD"}},
		"read = \"a.json\"\n as = \"json\"":                   {"content", map[string]any{"n": large, "l": []any{1}}},
		"read = \"a.csv\"\n as = \"csv\"":                     {"rows", []any{map[string]any{"id": "1", "name": "A, B"}, map[string]any{"id": "2", "name": ""}}},
		"read = \"a.bin\"\n as = \"bytes\"":                   {"content", value.Bytes("\x00\xff")},
		"read = \"a.ssv\"\n as = \"csv\"\n delimiter = \";\"": {"rows", []any{map[string]any{"id": "1", "name": "x"}}},
	} {
		t.Run(block, func(t *testing.T) {
			out, err := adaptertest.Bind(t, source(dir, block)).Do(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out["path"].(string), docs) || out["size"].(int) == 0 {
				t.Errorf("output %v", out)
			}
			if got := out[c.member]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("output.%s is %#v", c.member, got)
			}
		})
	}
}

func TestFileInAnyEncodingIsText(t *testing.T) {
	dir, _ := newDocs(t, map[string]string{
		"latin.txt": "caf\xe9\n", "mark.txt": "\ufeffone\ntwo\n", "wide.txt": "\xff\xfeo\x00\n\x00\xe9\x00\n\x00t\x00",
		"mac.txt": "one\rtwo\rthree", "wide.csv": "\xff\xfea\x00\t\x00b\x00\r\x00\n\x001\x00\t\x002\x00", "latin.csv": "n;m\n\xe9;\xe8\n",
		"wide.json": "\xfe\xff\x00[\x00]", "late.txt": "\xff\nok\n\xfe\n", "bare.txt": "o\x00\n\x00", "long.txt": strings.Repeat("x", 100_000) + "\r" + "y\r",
	})
	for _, c := range []struct {
		block, member string
		want          any
	}{
		{"read = \"latin.txt\"\n encoding = \"latin1\"", "content", "café\n"},
		{`read = "mark.txt"`, "content", "one\ntwo\n"},
		{"read = \"mark.txt\"\n as = \"lines\"", "lines", []any{"one", "two"}},
		{"read = \"mark.txt\"\n first = 1\n last = 1", "content", "one\n"},
		{`read = "wide.txt"`, "content", "o\né\nt"},
		{"read = \"wide.txt\"\n encoding = \"latin1\"", "content", "o\né\nt"},
		{"read = \"wide.txt\"\n first = 2\n last = 2", "content", "é\n"},
		{"read = \"wide.txt\"\n max_size = 3", "content", "o\n"},
		{"read = \"wide.txt\"\n as = \"bytes\"", "content", value.Bytes("\xff\xfeo\x00\n\x00\xe9\x00\n\x00t\x00")},
		{"read = \"mac.txt\"\n as = \"lines\"", "lines", []any{"one", "two", "three"}},
		{"read = \"mac.txt\"\n first = 2\n last = 2", "content", "two\r"},
		{"read = \"mac.txt\"\n max_size = 9", "content", "one\rtwo\r"},
		{"read = \"long.txt\"\n first = 2", "content", "y\r"},
		{"read = \"wide.csv\"\n as = \"csv\"", "rows", []any{map[string]any{"a": "1", "b": "2"}}},
		{"read = \"latin.csv\"\n as = \"csv\"\n encoding = \"windows-1252\"", "rows", []any{map[string]any{"n": "é", "m": "è"}}},
		{"read = \"wide.json\"\n as = \"json\"", "content", []any{}},
		{"read = \"late.txt\"\n first = 2\n last = 2", "content", "ok\n"},
		{"read = \"bare.txt\"\n encoding = \"utf-8\"", "content", "o\x00\n\x00"},
		{"read = \"bare.txt\"\n encoding = \"utf-16le\"", "content", "o\n"},
	} {
		out, err := adaptertest.Bind(t, source(dir, c.block)).Do(t.Context(), `{}`)
		if got := out[c.member]; err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v", c.block, got, err)
		}
	}
	for block, want := range map[string]string{
		"read = \"latin.csv\"\n as = \"csv\"":                     "not UTF-8: 0xE9 at byte 5, in line 2; the tool must name the encoding",
		"read = \"late.txt\"\n first = 2":                         "not UTF-8: 0xFE at byte 6, in line 3",
		"read = \"latin.txt\"\n encoding = \"shift_jis\"":         `not shift_jis: 0xE9 at byte 4, in line 1; the tool must name another encoding than "shift_jis"`,
		`read = "bare.txt"`:                                       `this seems to be utf-16le without a byte order mark; the tool must name the encoding: encoding = "utf-16le", or encoding = "utf-8"`,
		"read = \"bare.txt\"\n as = \"lines\"":                    `encoding = "utf-16le"`,
		"read = \"latin.txt\"\n as = \"json\"":                    "not UTF-8: 0xE9 at byte 4",
		"read = \"latin.txt\"\n as = \"lines\"":                   "not UTF-8: 0xE9 at byte 4",
		"read = \"wide.json\"\n as = \"csv\"\n max_size = \"1B\"": "the content is larger than 1",
	} {
		b := adaptertest.Bind(t, source(dir, block))
		wantPart(t, mustFail(t, b, `{}`), want)
	}
}

func TestLineRange(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	dir, _ := newDocs(t, map[string]string{"log": "1\n2\n" + long + "\n4\n5"})
	b := adaptertest.Bind(t, source(dir, "read = input.name\n first = input.first\n last = input.last\n max_size = \"1KiB\""))
	for arguments, want := range map[string]string{
		`{"name": "log", "first": 1, "last": 2}`: "1\n2\n",
		`{"name": "log", "first": 4}`:            "4\n5",
		`{"name": "log", "last": 1}`:             "1\n",
		`{"name": "log", "first": 5, "last": 5}`: "5",
		`{"name": "log", "first": 9}`:            "",
		`{"name": "log", "first": 3}`:            strings.Repeat("x", 1<<10), // cut within a line
		`{"name": "log"}`:                        "1\n2\n",                   // cut before a line
	} {
		t.Run("is read/"+arguments, func(t *testing.T) {
			out, err := b.Do(t.Context(), arguments)
			if err != nil || out["content"] != want {
				t.Errorf("got %v, %v", out["content"], err)
			}
		})
	}
	for arguments, want := range map[string]string{
		`{"name": "log", "first": 0}`:            "first must be a line number of at least 1",
		`{"name": "log", "first": 3, "last": 2}`: "the last line (2) is before the first (3)",
	} {
		t.Run("is rejected/"+arguments, func(t *testing.T) { wantPart(t, mustFail(t, b, arguments), want) })
	}
}

func TestUnreadableFileIsExplained(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{
		"bin": "a\xffb", "bad.json": `{"a": 1,}`, "bad.csv": "a,b\n1\n", "twice.csv": "a,a\n1,2\n", "quote.csv": "a\n\"x\n",
	})
	if err := os.Mkdir(filepath.Join(docs, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(dir, "outside")
	writeFile(t, outside, "x")
	for link, to := range map[string]string{"out": "../outside", "abs": outside, "loop": "loop", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(docs, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ as, name, want string }{
		{"text", "bin", `this is not UTF-8: 0xFF at byte 2, in line 1; the tool must name the encoding, such as encoding = "windows-1252", or use as = "bytes": `},
		{"text", "none", "no such file: " + filepath.Join(docs, "none")},
		{"text", "sub", "this is a directory, not a file: "},
		{"text", "out", "a symbolic link leads out of the directory: "},
		{"text", "abs", "a symbolic link leads out of the directory: "},
		{"text", "up/outside", "out of the directory"},
		{"text", "loop", "too many levels of symbolic links: "},
		{"text", "../outside", "leads out of the directory with .."},
		{"text", "/etc/passwd", "is an absolute path"},
		{"text", ".env", "is hidden"},
		{"text", "bin/x", "no such directory: "},
		{"json", "bad.json", "this is not JSON, at byte 8: "},
		{"csv", "bad.csv", "line 2 of the CSV file cannot be read, it has another number of cells, 1, than the first line, 2: "},
		{"csv", "twice.csv", "line 1 of the CSV file cannot be read, the columns 1 and 2 have the same name, \"a\": "},
		{"csv", "quote.csv", "a quote is not closed"},
	} {
		t.Run(c.as+"/"+c.name, func(t *testing.T) {
			b := adaptertest.Bind(t, source(dir, fmt.Sprintf("read = input.name\n as = %q", c.as)))
			wantPart(t, mustFail(t, b, fmt.Sprintf(`{"name": %q}`, c.name)), c.want)
		})
	}
}

func TestContentIsWritten(t *testing.T) {
	dir, docs := newDocs(t, nil)
	for content, want := range map[string]string{
		`"text with \u0000 and é"`:   "text with \x00 and é",
		`{"b": [1, null], "a": "x"}`: "{\"a\":\"x\",\"b\":[1,null]}\n",
		`12345678901234567890`:       "12345678901234567890\n",
	} {
		t.Run("from JSON/"+content, func(t *testing.T) {
			b := adaptertest.Bind(t, source(dir, "write = \"a\"\n content = input.content\n if_exists = \"replace\""))
			out, err := b.Do(t.Context(), fmt.Sprintf(`{"content": %s}`, content))
			if err != nil || out["size"] != len(want) {
				t.Errorf("output %v, %v", out, err)
			}
			wantContent(t, filepath.Join(docs, "a"), want)
		})
	}
	b := adaptertest.Bind(t, source(dir, "write = \"b\"\n content = base64bytes(input.content)"))
	path := filepath.Join(docs, "b")
	t.Run("from bytes", func(t *testing.T) {
		if _, err := b.Do(t.Context(), `{"content": "/wA="}`); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path, "\xff\x00")
	})
	t.Run("but not over an existing file by default", func(t *testing.T) {
		if got := mustFail(t, b, `{"content": "/wA="}`); got != "file exists: "+path {
			t.Error(got)
		}
	})
}

func TestAppendAddsToTheFile(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{"log": "one\n"})
	b := adaptertest.Bind(t, source(dir, "write = input.name\n content = input.content\n if_exists = \"append\""))
	for name, want := range map[string]string{"log": "one\ntwo\n", "new": "two\n"} {
		t.Run(name, func(t *testing.T) {
			out, err := b.Do(t.Context(), fmt.Sprintf(`{"name": %q, "content": "two\n"}`, name))
			if err != nil || out["size"] != len(want) {
				t.Errorf("output %v, %v", out, err)
			}
			wantContent(t, filepath.Join(docs, name), want)
		})
	}
}

func TestTextIsAddedToUTF8Only(t *testing.T) {
	dir, docs := newDocs(t, map[string]string{"wide": "\xff\xfea\x00", "mark": "\ufeffa"})
	text := adaptertest.Bind(t, source(dir, "write = input.name\n content = \"b\"\n if_exists = \"append\""))
	wantPart(t, mustFail(t, text, `{"name": "wide"}`), "the file is in utf-16le, and text is added in UTF-8 only: ")
	if _, err := text.Do(t.Context(), `{"name": "mark"}`); err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(docs, "mark"), "\ufeffab")
	raw := adaptertest.Bind(t, source(dir, "write = input.name\n content = base64bytes(\"YgA=\")\n if_exists = \"append\""))
	if _, err := raw.Do(t.Context(), `{"name": "wide"}`); err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(docs, "wide"), "\xff\xfea\x00b\x00")
}

func TestMistakesAreRejectedAtLoad(t *testing.T) {
	for block, want := range map[string]string{
		"read = \"a\"\n as = \"xml\"":                             `as is "text", "bytes", "lines", "csv" or "json", not "xml".`,
		"read = \"a\"\n content = \"x\"":                          "content belongs to write",
		"read = \"a\"\n if_exists = \"fail\"":                     "7:14: Backend refused: if_exists belongs to write",
		"read = \"a\"\n as = \"json\"\n first = 1":                "first counts lines",
		"read = \"a\"\n as = \"csv\"\n delimiter = \"ab\"":        "delimiter must be one character",
		"read = \"a\"\n encoding = \"latni1\"":                    `Did you mean "latin1"?`,
		"read = \"a\"\n encoding = \"latin1\"\n as = \"bytes\"":   "encoding is that of text, but the file is read as bytes",
		"write = \"a\"\n content = \"x\"\n encoding = \"latin1\"": "encoding belongs to read",
		"write = \"a\"": "write content = …",
		"write = \"a\"\n content = \"x\"\n as = \"text\"": "8:7: Backend refused: as belongs to read",
		"read = \"a\"\n write = \"b\"\n content = \"x\"":  "write one of read, write",
	} {
		t.Run(block, func(t *testing.T) { wantPart(t, adaptertest.MustReject(t, source("", block)), want) })
	}
}

func TestContract(t *testing.T) {
	dir, _ := newDocs(t, map[string]string{"a.txt": "one\ntwo\n", "bin": "\xff"})
	t.Run("read", func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Case{
			Source:       source(dir, `read = input.name`),
			ValidCall:    `{"name": "a.txt"}`,
			FailingCalls: map[string]string{"missing": `{"name": "b"}`, "outside": `{"name": "../../etc/passwd"}`, "binary": `{"name": "bin"}`},
		})
	})
	for _, mode := range []string{"replace", "append"} {
		t.Run(mode, func(t *testing.T) {
			adaptertest.Run(t, adaptertest.Case{
				Source:       source(dir, fmt.Sprintf("write = input.name\n content = input.content\n if_exists = %q", mode)),
				ValidCall:    `{"name": "w.txt", "content": "x"}`,
				FailingCalls: map[string]string{"outside": `{"name": "../w", "content": "x"}`},
			})
		})
	}
}

func TestAPlanHasTheContentThatIsReplaced(t *testing.T) {
	dir, _ := newDocs(t, map[string]string{"a.txt": "old\n", "bytes.txt": "\xff", "long.txt": strings.Repeat("x", 33<<10)})
	for name, want := range map[string]string{"a.txt": "old\n", "new.txt": "none", "bytes.txt": "none", "long.txt": "none"} {
		t.Run(name, func(t *testing.T) {
			b := adaptertest.Bind(t, source(dir, "write = input.name\n content = \"new\"\n if_exists = \"replace\""))
			effects, err := b.Effects(t.Context(), fmt.Sprintf(`{"name":%q}`, name))
			if err != nil || len(effects) != 1 || *effects[0].After != "new" {
				t.Fatal(effects, err)
			}
			got := "none"
			if before := effects[0].Before; before != nil {
				got = *before
			}
			if got != want {
				t.Errorf("before it is %q, want %q", got, want)
			}
		})
	}
}
