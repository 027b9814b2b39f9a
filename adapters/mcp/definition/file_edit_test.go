package definition

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"hatchel/internal/sampletest"

	"hatchel/internal/benchtest"
)

// TestNoEditedFileLoads changes every byte of a file: it removes it, doubles it, replaces it and puts others before it.
func TestNoEditedFileLoads(t *testing.T) {
	text := sample(t).Append(nil)
	refuse := func(what string, edited []byte) {
		t.Helper()
		if bytes.Equal(edited, text) {
			return
		}
		if _, err := Read(edited); err == nil {
			t.Errorf("%s: the file loads\n%s", what, edited)
		} else if _, ok := errors.AsType[*FileError](err); !ok {
			t.Errorf("%s: %T %v", what, err, err)
		}
	}
	var places []int
	for i := range text {
		places = append(places, i)
	}
	for _, i := range sampletest.Of(t, 300, places) {
		at := fmt.Sprintf("byte %d (%q)", i, text[i])
		refuse(at+" removed", append(bytes.Clone(text[:i]), text[i+1:]...))
		for _, c := range []byte{
			text[i], ' ', '\n', '\r', '0', 'a', '"', '\\', ',', 255, 0, text[i] ^ 32, text[i] + 1,
		} {
			inserted := append(append(bytes.Clone(text[:i]), c), text[i:]...)
			refuse(fmt.Sprintf("%q before %s", c, at), inserted)
			replaced := bytes.Clone(text)
			replaced[i] = c
			refuse(fmt.Sprintf("%q in place of %s", c, at), replaced)
		}
		if i < len(text)-1 {
			swapped := bytes.Clone(text)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			refuse(at+" swapped", swapped)
		}
		refuse(at+" is the end", text[:i])
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := range lines {
		join := func(parts ...[][]byte) []byte {
			return bytes.Join([][]byte{bytes.Join(parts[0], nil),
				bytes.Join(parts[1], nil)}, nil)
		}
		refuse(fmt.Sprintf("line %d removed", i+1), join(lines[:i], lines[i+1:]))
		refuse(fmt.Sprintf("line %d doubled", i+1), join(lines[:i+1], lines[i:]))
	}
	refuse("lines of Windows", bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	refuse("byte order mark", append([]byte("\ufeff"), text...))
	refuse("more text", append(bytes.Clone(text), "{}"...))
}

func TestErrorsOfFilesHaveTheirPlace(t *testing.T) {
	text := string(sample(t).Append(nil))
	for _, c := range []struct{ old, new, want string }{
		{`"form": 1`, `"form": 2`, `line 2: The file has the form 2. This version of Hatchel reads form 1.`},
		{`{"type":"object"}`, `{"type":"objects"}`,
			`line 4: add does not match its digest. The file was edited. Restore it, or import the server again ` +
				`without --update.`},
		{`"title": "Create"`, `"title": "Delete"`, `line 9: create_issue does not match its digest.`},
		{`"name": "create_issue"`, `"name": "add"`, `line 9: add does not match its digest.`},
		{`      "title"`, `     "title"`, `line 11: The text of the file is not what Hatchel writes.`},
		{`"title": "Create"`, `"titel": "Create"`, `A definition has no member "titel".`},
		{`"tools"`, `"tool"`, `line 3: A file of form 1 has no member "tool".`},
		{"\n", "\r\n", `.gitattributes`},
		{"      \"title\"", "<<<<<<< HEAD\n      \"title\"", `line 11: The file has the marks of a merge conflict.`},
		{text, "", "The file is not JSON: an object is expected."},
		{text, "{}", "form and tools are missing"},
		{text, `{"form": 1, "tools": {}}`, "a list is expected"},
		{text, `{"form": 1, "tools": [{}]}`, "A tool has no valid name: name is missing."},
		{text, strings.Repeat(" ", MaxFileSize+1), "at most 4194304 are accepted"},
		{text, `{"form": 1, "tools": [{"inputSchema":` + strings.Repeat(`{"a":`, 100), "levels of nesting"},
	} {
		_, err := Read([]byte(strings.ReplaceAll(text, c.old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q → %.40q: %v, want %s", c.old, c.new, err, c.want)
		}
	}
}

func TestWholeDefinitionsMayBeRemoved(t *testing.T) {
	f := sample(t)
	one, err := New(f.Tools()[1:])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(one.Append(nil)); err != nil {
		t.Error(err)
	}
	if _, err := Read(File{}.Append(nil)); err != nil {
		t.Error(err)
	}
}

func TestDefinitionsThatAreNoneAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)
	for text, want := range map[string]string{
		`[]`:                            "a definition is an object",
		`{"inputSchema":{}}`:            "name is missing",
		`{"name":"a"}`:                  "inputSchema is missing",
		`{"name":1,"inputSchema":{}}`:   "name is a string, not a number",
		`{"name":"a","inputSchema":[]}`: "inputSchema is an object, not a list",
		`{"name":"a","inputSchema":{},"title":{}}`:                                "title is a string",
		`{"name":"a","inputSchema":{},"outputSchema":"x"}`:                        "outputSchema is an object",
		`{"name":"a","inputSchema":{},"annotations":1}`:                           "annotations is an object",
		`{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":"no"}}`:       "readOnlyHint is true or false",
		`{"name":"a","inputSchema":{},"execution":{"taskSupport":"x"}}`:           "execution.taskSupport",
		`{"name":"a","name":"b","inputSchema":{}}`:                                "appears twice",
		`{"name":"a","inputSchema":{"a":1,"a":2}}`:                                "appears twice",
		"{\"name\":\"a\xff\",\"inputSchema\":{}}":                                 "UTF-8",
		`{"name":"a\ud800","inputSchema":{}}`:                                     "surrogate",
		`{"name":"a","inputSchema":` + deep + `}`:                                 "64 levels",
		`{"name":"a","inputSchema":{"a":"` + strings.Repeat("x", MaxSize) + `"}}`: "at most 65536 are accepted",
		`{"name":"` + strings.Repeat("n", maxNameSize+1) + `","inputSchema":{}}`:  "at most 256",
		`{"name":"a","inputSchema":{}} {}`:                                        "more text",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
	d := parse(t, `{"name":"a","inputSchema":{}}`)
	if _, err := New([]Definition{d, d}); err == nil || !strings.Contains(err.Error(), `the name "a"`) {
		t.Errorf("two tools of a name: %v", err)
	}
	if _, err := New(make([]Definition, MaxTools+1)); err == nil || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("too many tools: %v", err)
	}
}

// TestDefinitionsThatSayTheSameAreEqual compares spellings of one definition, and those of neighbours.
func TestDefinitionsThatSayTheSameAreEqual(t *testing.T) {
	const text = `{"name":"a","inputSchema":{"type":"object",
		"properties":{"n":{"maximum":9007199254740993,"minimum":1}}}}`
	d := parse(t, text)
	for _, same := range []string{
		`{"inputSchema":{"properties":{"n":{"maximum":9007199254740993,"minimum":1.0}},"type":"\u006fbject"},
			"name":"a"}`,
		strings.Replace(text, `"a"`, `"a","title":null,"annotations":{"readOnlyHint":null},"icons":[1],"_meta":{}`, 1),
		strings.Replace(text, `"a"`, `"a","description":"","execution":{"taskSupport":"forbidden"}`, 1),
	} {
		if o := parse(t, same); !o.Equal(d) || o.Digest() != d.Digest() {
			t.Errorf("%s differs: %+v", same, o)
		}
	}
	for _, other := range []string{
		strings.Replace(text, "9007199254740993", "9007199254740992", 1),
		strings.Replace(text, `"a"`, `"A"`, 1),
		strings.Replace(text, `"n"`, `"n "`, 1),
		strings.Replace(text, `"a"`, `"a","annotations":{"x":0}`, 1),
	} {
		if o := parse(t, other); o.Equal(d) || o.Digest() == d.Digest() {
			t.Errorf("%s is the same", other)
		}
	}
}

// servers makes a file of n tools of the size that those of large servers have.
func servers(t testing.TB, n int) File {
	var all []Definition
	for i := range n {
		all = append(all, parse(t, fmt.Sprintf(`{"name":"tool_%03d","title":"Tool %d","description":%q,"inputSchema":%s,
			"outputSchema":{"type":"object","properties":{"id":{"type":"integer"}}},
			"annotations":{"readOnlyHint":true}}`,
			i, i, strings.Repeat("What the tool does. ", 20), largeSchema)))
	}
	f, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const largeSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
"required":["owner","repo","title"],"properties":{"owner":{"type":"string","description":"Owner of the repository"},
"repo":{"type":"string","description":"Name of the repository"},"title":{"type":"string","minLength":1,"maxLength":256},
"body":{"type":"string","description":"Text in Markdown"},"state":{"type":"string","enum":["open","closed","all"]},
"number":{"type":"integer","minimum":1},"labels":{"type":"array","items":{"type":"string"},"maxItems":10},
"since":{"type":"string","format":"date-time"},"page":{"type":"integer","exclusiveMinimum":0,"maximum":100}}}`

func TestDefinitionsTakeThreeTimesTheirFile(t *testing.T) {
	text := servers(t, 200).Append(nil)
	if took := memoryOf(t, text); took > 3*len(text) {
		t.Errorf("the definitions of a file of %d bytes take %d", len(text), took)
	}
}

// memoryOf returns how many bytes of memory the definitions of a file take.
func memoryOf(t testing.TB, text []byte) int {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(f)
	runtime.KeepAlive(text)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

func BenchmarkMemory200(b *testing.B) {
	text := servers(b, 200).Append(nil)
	for b.Loop() {
		b.ReportMetric(float64(memoryOf(b, text))/float64(len(text)), "B/byte")
	}
}

func BenchmarkRead200(b *testing.B) {
	text := servers(b, 200).Append(nil)
	b.SetBytes(int64(len(text)))
	defer benchtest.ReportCPU(b)()
	for b.Loop() {
		if _, err := Read(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompare200(b *testing.B) {
	f := servers(b, 200)
	for b.Loop() {
		for _, d := range f.Tools() {
			o, err := Parse(d.appendCanonical(nil))
			if err != nil || len(Compare(d, o, nil)) > 0 {
				b.Fatal(err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f).Append(nil))
	f.Add(File{}.Append(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(text)
		if err != nil {
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if got := file.Append(nil); !bytes.Equal(got, text) {
			t.Fatalf("read %q, written %q", text, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(createIssue))
	f.Add([]byte(`{"name":"a","inputSchema":{"a":[-0.0,1e400,12345678901234567890.5,{"\u0000":"\ud83c\udf89"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(d.appendCanonical(nil))
		if err != nil || !again.Equal(d) {
			t.Fatalf("%q became %q, and that %+v, %v", text, d.appendCanonical(nil), again, err)
		}
		file, err := New([]Definition{d})
		if err != nil {
			t.Fatal(err)
		}
		read, err := Read(file.Append(nil))
		if err != nil {
			t.Fatalf("%q: %v", file.Append(nil), err)
		}
		if o, ok := read.Lookup(d.Name); !ok || !o.Equal(d) || len(Compare(d, o, nil)) > 0 {
			t.Fatalf("%+v is read as %+v", d, o)
		}
	})
}
