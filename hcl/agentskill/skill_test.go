package agentskill

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

type directory struct{ fstest.MapFS }

func (d directory) List(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(d.MapFS, dir) }

func with(files map[string]string) directory {
	d := directory{fstest.MapFS{"s/SKILL.md": {Data: []byte("---\nname: s\ndescription: d\n---\n")}}}
	for name, content := range files {
		d.MapFS["s/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	return d
}

func TestASkillWithinTheLimitsOfTheProtocolIsRead(t *testing.T) {
	many := map[string]string{}
	for i := range MaxFiles - 1 {
		many[fmt.Sprintf("references/%03d.txt", i)] = "x"
	}
	many["large.bin"] = ""
	delete(many, "references/000.txt")
	many["large.bin"] = strings.Repeat("\xff", MaxSize-MaxFiles-40)
	s, err := Read(with(many), "s")
	if err != nil || len(s.Files) != MaxFiles || s.File("large.bin").IsText || s.File("none") != nil {
		t.Fatal(len(s.Files), err)
	}
	if got := s.File("large.bin").MimeType + " " + s.File("references/001.txt").MimeType; got != "application/octet-stream text/plain" {
		t.Error(got)
	}
}

func TestWhatIsNoSkillIsRefused(t *testing.T) {
	many := map[string]string{}
	for i := range MaxFiles {
		many[fmt.Sprint(i)] = ""
	}
	for want, files := range map[string]map[string]string{
		"the directory s has more than 512 files, the limit of the protocol":       many,
		"the files of s have more than 16777216 bytes, the limit of the protocol":  {"a": strings.Repeat("x", MaxSize)},
		"the directory s has more than 16 levels of directories, or more than 512": {strings.Repeat("a/", 17) + "b": ""},
		"the file s/SKILL.md is not UTF-8":                                         {"SKILL.md": "---\nname: s\xff"},
		"SKILL.md must begin with a line ---":                                      {"SKILL.md": "---"},
		"The frontmatter is nested more than 32 levels deep":                       {"SKILL.md": "---\na: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n---\n"},
		"The frontmatter is not YAML: exceeded max depth of 10000":                 {"SKILL.md": "---\na: " + strings.Repeat("[", 12000) + "\n---\n"},
		"\".inf\" is read in different ways by readers of YAML":                    {"SKILL.md": "---\nname: s\ndescription: d\na: .inf\n---\n"},
		"\"12345678901234567\" is read in different ways":                          {"SKILL.md": "---\nname: s\ndescription: d\na: 12345678901234567\n---\n"},
		"The frontmatter may have no anchors and aliases":                          {"SKILL.md": "---\nname: s\ndescription: d\na: &a [x, x]\nb: [*a, *a]\n---\n"},
	} {
		_, err := Read(with(files), "s")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Read(directory{fstest.MapFS{"s/a.md": {}}}, "s"); err == nil || err.Error() != "the directory s has no file SKILL.md" {
		t.Error(err)
	}
	if err := reasonOf("file a", errors.Join(fs.ErrPermission)); err.Error() != "permission to read the file a is denied" {
		t.Error(err)
	}
}

func TestFrontmatterIsRenderedAsItIsWritten(t *testing.T) {
	src := "---\r\nname: s\r\ndescription: \"a: b\"\r\nmetadata:\r\n  n: 1.50\r\n  big: -120\r\n  'yes': 'on'\r\n  none: ~\r\n  list: [true, x]\r\nallowed-tools: Bash\r\n---\r\nText"
	f, err := ParseFrontmatter([]byte(src))
	const want = `{"name":"s","description":"a: b","metadata":{"n":1.5,"big":-120,"yes":"on","none":null,"list":[true,"x"]},"allowed-tools":"Bash"}`
	if err != nil || string(f.JSON) != want || !f.AllowedTools {
		t.Errorf("%s, %v", f.JSON, err)
	}
	if _, body, ok := Split([]byte(src)); !ok || string(body) != "Text" {
		t.Errorf("%q", body)
	}
}

func TestScriptsAreKnownByNameAndContent(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    bool
	}{"a.py": {"", true}, "run": {"#!/bin/sh\n", true}, "a.bin": {"\x7fELF", true}, "B.PS1": {"", true}, "a.md": {"# x", false}, "a.json": {"{}", false}} {
		if got := (&File{Path: name, Content: []byte(c.content)}).IsScript(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestNamesOfSkills(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "pdf-forms2": true, "": false, "-a": false, "a-": false, "a--b": false, "A": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "ä": false, "a_b": false} {
		if IsName(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add([]byte("---\nname: s\ndescription: d\nmetadata: {a: [1, x]}\n---\n"))
	f.Add([]byte("---\n? [a]\n: b\n---\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if f, err := ParseFrontmatter(src); err == nil && (f.Name == "" || f.JSON[0] != '{') {
			t.Errorf("%+v", f)
		}
	})
}
