package editor

import (
	"testing"
	"testing/fstest"

	"hatchel/hcl"
)

// FuzzFile asks all questions about any text at any offset.
func FuzzFile(f *testing.F) {
	for _, src := range []string{
		"tool \"a\" {\n  description = \"x `b`\"\n  input \"b\" { type = integer }\n  text = \"${input.b}\"\n}\n",
		"tool \"a\" {\n  text = <<X\n${", "\xef\xbb\xbftool \"a\" {\r\n}\r\n", "tool \"𝄞", "locals {\n  a = local.a\n}\n}",
		"resource \"r\" {\n  uri_template = \"a://{b,c*}\"\n}\nlocals = 1", "tool \"a\" {\n  allow = \"filter(input, #.x\"\n}",
		"toolset \"t\" {\n  tools = [\"*\", a[\"${\"]]\n}\nmock \"http\" {\n}\ntest \"x\" {\n  mock\n  expect { refused = \"\" }\n}",
	} {
		f.Add([]byte(src), 12)
	}
	f.Add([]byte("tool \"𝄞"), 8) // inside the character
	f.Fuzz(func(t *testing.T, src []byte, offset int) {
		if len(src) > 4<<10 {
			return
		}
		p := language.Load(fstest.MapFS{"a.hcl": {Data: src}}, hcl.Options{Dir: "/x"}, func(string) bool { return true })
		file := Parse("a.hcl", src)
		offset = max(0, min(offset, len(src)))
		text := NewText(src)
		if back := text.Offset(text.Position(offset)); back > offset {
			t.Errorf("offset %d is %v, which is offset %d", offset, text.Position(offset), back)
		}
		p.Hover(file, offset)
		p.Definition(file, offset)
		p.References(file, offset, true)
		p.Rename(file, offset, "renamed")
		p.Around(file, offset)
		Outline(file)
		Regions(file)
		Declarations(file)
		if edits, diags := FormatEdits(file, Span{0, len(src)}); !diags.HasErrors() {
			Apply(src, edits)
		}
	})
}
