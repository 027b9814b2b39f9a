package shell

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
)

// printed returns the arguments of a block whose program writes bytes, which are written as escapes of printf.
func printed(escapes, arguments string) string {
	return `command = ["printf", "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(escapes) + `"]` + "\n" + arguments
}

// readOutput makes a call of a tool that reads a member of the output of a block.
func readOutput(t *testing.T, block, member string) (map[string]any, error) {
	t.Helper()
	b := adaptertest.Bind(t, adaptertest.Source{Set: newSet(), HCL: `
tool "t" {
  description = "Runs something for a test."
  shell {
` + block + `
  }
  result = "output.` + member + `"
}`})
	return b.Do(context.WithoutCancel(t.Context()), `{}`)
}

func TestOutputIsDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		block, member string
		want          any
	}{
		"latin":              {printed(`caf\351 \200`, `encoding = "iso-8859-1"`), "stdout", "café €"},
		"code page":          {printed(`\201`, `encoding = "IBM850"`), "stdout", "ü"},
		"shift_jis lines":    {printed(`\203\145\n\203\130\n`, "encoding = \"shift_jis\"\nas = \"lines\""), "lines", []any{"テ", "ス"}},
		"json in UTF-16":     {printed(`"\000\351\000"\000`, "encoding = \"utf-16\"\nas = \"json\""), "json", "é"},
		"mark":               {printed(`\357\273\277caf\303\251`, ``), "stdout", "café"},
		"NUL characters":     {printed(`a\000b\000`, `encoding = "utf-8"`), "stdout", "a\x00b\x00"},
		"NULs as separators": {printed(`one\000two\000`, ``), "stdout", "one\x00two\x00"},
		"mark of UTF-16":     {printed(`\377\376a\000\351\000`, ``), "stdout", "aé"},
		"mark before lines":  {printed(`\357\273\277a\nb\n`, `as = "lines"`), "lines", []any{"a", "b"}},
		"mark before json":   {printed(`\357\273\277{}`, `as = "json"`), "json", map[string]any{}},
		"mark before jsonl":  {printed(`\357\273\277{}\n1\n`, `as = "jsonl"`), "json", []any{map[string]any{}, 1}},
		"mark in a text":     {printed(`a\357\273\277`, ``), "stdout", "a\ufeff"},
		"half a pair":        {printed(`"cut \134ud83d"`, `as = "json"`), "json", "cut \uFFFD"},
		"half pairs":         {printed(`"\134ud83d"\n"\134ude00"\n`, `as = "jsonl"`), "json", []any{"\uFFFD", "\uFFFD"}},
		"bytes":              {printed(`\377\376\000a`, `as = "bytes"`), "stdout", value.Bytes("\xff\xfe\x00a")},
		"bytes by parse":     {printed(`\351`, `parse = "bytes"`), "stdout", value.Bytes("\xe9")},
		"lines of a Mac":     {printed(`a\rb\r`, `as = "lines"`), "lines", []any{"a", "b"}},
		"progress":           {printed(`10%%\r20%%\rdone\nb\n`, `as = "lines"`), "lines", []any{"10%\r20%\rdone", "b"}},
		"error output":       {"script = \"printf 'caf\\\\351' >&2\"\nencoding = \"windows-1252\"", "stderr", "café"},
		"cut UTF-16":         {printed(strings.Repeat(`a\000\n\000`, 10), "as = \"lines\"\nencoding = \"utf-16le\"\nmax_output = 11"), "lines", []any{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := readOutput(t, c.block, c.member)
			if err != nil {
				t.Fatal(err)
			}
			if got := out[c.member]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v", got)
			}
		})
	}
}

func TestOutputThatIsNotInItsEncodingIsNamed(t *testing.T) {
	const advice = `; the tool must name the encoding, such as encoding = "windows-1252", or use as = "bytes"`
	for name, c := range map[string]struct{ block, want string }{
		"text":         {printed(`caf\351`, ``), "printf wrote text that is not UTF-8: 0xE9 at byte 4, in line 1" + advice},
		"lines":        {printed(`a\nb\n\200`, `as = "lines"`), "printf wrote text that is not UTF-8: 0x80 at byte 5, in line 3" + advice},
		"jsonl":        {printed(`1\n"\351"\n`, `as = "jsonl"`), "printf wrote text that is not UTF-8: 0xE9 at byte 4, in line 2" + advice},
		"half":         {printed(`a\303`, ``), "0xC3 at byte 2, in line 1"},
		"surrogates":   {printed(`\355\240\275`, ``), "0xED at byte 1"},
		"other":        {printed(`\252`, `encoding = "windows-1253"`), `printf wrote text that is not windows-1253: 0xAA at byte 1, in line 1; the tool must name another encoding than "windows-1253", or use as = "bytes"`},
		"half a unit":  {printed(`a\000b`, `encoding = "utf-16le"`), "not utf-16le: 0x62 at byte 3"},
		"UTF-16":       {printed(`n\000\344\000m\000e\000`, ``), `such as encoding = "utf-16le"`},
		"no mark":      {printed(`n\000a\000`, ``), `printf wrote text that seems to be utf-16le without a byte order mark; the tool must name the encoding: encoding = "utf-16le", or encoding = "utf-8"`},
		"lines, none":  {printed(`\000n\000\n`, `as = "lines"`), `encoding = "utf-16be"`},
		"second stage": {`pipe = [["printf", "\\351"], ["cat"]]`, "cat (command 2 of 2) wrote text that is not UTF-8: 0xE9 at byte 1"},
		"merged":       {"script = \"printf '\\\\351' >&2\"\nstderr = \"merge\"", "not UTF-8: 0xE9 at byte 1"},
		"failed":       {"script = \"printf 'Gr\\\\374n' >&2; exit 1\"", "the script failed with exit code 1: Gr<0xFC>n"},
		"failed well":  {"script = \"printf 'Gr\\\\374n' >&2; exit 1\"\nencoding = \"latin1\"", "the script failed with exit code 1: Grün"},
		"much":         {printed(strings.Repeat(`\351`, 20), "as = \"bytes\"\nmax_output = 10"), "printf wrote 20 bytes, but at most 10 bytes can be read as data"},
		"head of much": {printed(`\351`+strings.Repeat(`a`, 20), "max_output = 10"), "0xE9 at byte 1"},
		"tail of much": {printed(strings.Repeat(`a`, 20)+`\351b`, "max_output = 10"), "0xE9 at byte 21;"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readOutput(t, c.block, "stdout")
			var f *adapters.Fault
			if !errors.As(err, &f) || !strings.Contains(f.Message, c.want) {
				t.Error(err)
			}
		})
	}
}

// TestOnlyOutputThatIsReadMustBeText: a program may write anything to what the tool does not read.
func TestOnlyOutputThatIsReadMustBeText(t *testing.T) {
	for member, c := range map[string]struct{ reads, want string }{
		"stdout": {"stderr", "<0xE9>"}, "stderr": {"stdout", "<0xE9>"},
	} {
		block := `script = "printf '\\351'"`
		if member == "stderr" {
			block = `script = "printf '\\351' >&2"`
		}
		out, err := readOutput(t, block, c.reads)
		if err != nil || out[member] != c.want {
			t.Errorf("%s: %v, %v", member, out, err)
		}
		if _, err := readOutput(t, block, member); err == nil || !strings.Contains(err.Error(), "not UTF-8: 0xE9 at byte 1") {
			t.Errorf("%s: %v", member, err)
		}
	}
}

func TestMistakesOfEncodingsAreRejectedAtLoad(t *testing.T) {
	for arguments, want := range map[string]string{
		`encoding = "latni1"`:                   `There is no encoding "latni1". Did you mean "latin1"?`,
		`encoding = "klingon"`:                  `There is no encoding "klingon". Write one of the WHATWG Encoding Standard or of the IANA registry`,
		"as = \"bytes\"\nencoding = \"latin1\"": "encoding is that of text, but stdout is read as bytes",
		"as = \"text\"\nparse = \"json\"":       "as, parse",
		`as = "xml"`:                            `as is "text", "json", "jsonl", "lines" or "bytes", not "xml"`,
	} {
		if got := adaptertest.MustReject(t, newTool("command = [\"true\"]\n"+arguments)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

// TestMocksWriteInTheEncoding: the text of a mock is what the program writes, and a tape has the bytes that are no text.
func TestMocksWriteInTheEncoding(t *testing.T) {
	for name, c := range map[string]struct {
		block string
		reply map[string]any
		want  any
	}{
		"text":   {`encoding = "windows-1252"`, map[string]any{"stdout": "café"}, "café"},
		"UTF-16": {`encoding = "utf-16"`, map[string]any{"stdout": "café"}, "café"},
		"base64": {`encoding = "windows-1252"`, map[string]any{"stdout_base64": "Y2Fm6Q=="}, "café"},
		"bytes":  {`as = "bytes"`, map[string]any{"stdout_base64": "Y2Fm6Q=="}, value.Bytes("caf\xe9")},
	} {
		mocks := &adaptertest.Mocks{Reply: func(context.Context, *mock.Question) (map[string]any, error) { return c.reply, nil }}
		out, err := bindMocked(t, "{\ncommand = [\"cat\", \"a\"]\n"+c.block+"\n}\nresult = \"output.stdout\"", mocks).Do(t.Context(), `{"author": "a"}`)
		if err != nil || !reflect.DeepEqual(out["stdout"], c.want) {
			t.Errorf("%s: %#v, %v", name, out["stdout"], err)
		}
	}
	for _, raw := range []string{"caf\xe9", "caf\xc3\xa9", "\xff\xfe", "a\x00"} {
		for _, name := range []string{"utf-8", "windows-1252", "utf-16le"} {
			encoding, _ := charset.Find(name)
			taped := map[string]any{}
			tape(taped, "stdout", []byte(raw), encoding)
			again, err := (&action{}).written(&mock.Reply{Args: taped}, "stdout", encoding)
			if err != nil || string(again) != raw {
				t.Errorf("%q in %s comes back from the tape %v as %q, %v", raw, name, taped, again, err)
			}
		}
	}
}
