// Package file implements the file block, which reads or writes a single file in a directory. No file name
// leads out of the directory. A file is written atomically, and read up to a size limit.
package file

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/media"
	"hatchel/hcl/schema"
	"hatchel/internal/charset"
)

const blockDoc = "Reads or writes a file. Reading returns output.content, output.lines or output.rows, depending " +
	"on as. Reading and writing return output.path and output.size."

// Adapter returns the file block of tools and steps.
func Adapter() adapters.Adapter {
	a := adapters.New("file", blockDoc, (*block).spec, bind)
	a.Kind.Files = true
	return a
}

// block is a file block.
type block struct {
	Read      *hcl.StringExpr
	Write     *hcl.StringExpr
	Directory string

	As        string
	Encoding  string
	First     *hcl.Expr
	Last      *hcl.Expr
	Delimiter string
	MaxSize   hcl.Size
	Truncate  bool

	Content  *hcl.Expr
	IfExists string
}

// Values of the argument as.
const (
	asText  = "text"
	asBytes = "bytes"
	asLines = "lines"
	asCSV   = "csv"
	asJSON  = "json"
)

const defaultMaxSize = 4 << 20

func (b *block) spec() hcl.Spec {
	return hcl.Join(
		hcl.ExactlyOneOf("what to do",
			hcl.Attr(&b.Read, "read", "The name of a file to read. It cannot lead out of the directory."),
			hcl.Attr(&b.Write, "write", "The name of a file to write."),
		),
		hcl.Spec{
			hcl.Attr(&b.Directory, "directory", "The directory that contains the files. A relative path starts at the "+
				"configuration directory.").Require(),
			hcl.Choice(&b.As, "as", `How the file is decoded: "text", "json" and "bytes" set output.content, "lines" `+
				`sets output.lines, and "csv" sets output.rows to objects with the names in the first line.`,
				asText, asBytes, asLines, asCSV, asJSON).DefaultDoc(`"text"`),
			hcl.Encoding(&b.Encoding, "The encoding of the file to read. Text that is not in it fails the call."),
			hcl.Attr(&b.First, "first", `The first line to read, counted from 1; for "text" and "lines".`),
			hcl.Attr(&b.Last, "last", "The last line to read."),
			hcl.Attr(&b.Delimiter, "delimiter", "The character between the cells of a CSV file.").
				DefaultDoc(`what the file has of ",", ";", "\t" and "|"`),
			hcl.Attr(&b.MaxSize, "max_size",
				"The maximum size to read, of text as UTF-8. Lines before first do not count. Longer text and lines "+
					"are cut, and output.truncated is true; longer bytes, JSON and CSV fail the call.").
				DefaultDoc(`"4MiB"`),
			hcl.TruncateAttr(&b.Truncate, "max_size"),
			hcl.Attr(&b.Content, "content",
				"The content to write: text, bytes, an uploaded file, or a value as JSON.").AllowFile(),
			adapters.IfExistsAttr(&b.IfExists, "adds to it"),
		},
	)
}

// StreamedRows returns the content to write, which may be rows that are written as they arrive.
func (b *block) StreamedRows() *hcl.Expr {
	if b.Write == nil {
		return nil
	}
	return b.Content
}

// Describe implements hcl.Describer.
func (b *block) Describe(*hcl.Connection) (hcl.Effects, error) {
	var checks adapters.Checks
	if b.Write != nil {
		b.checkWrite(&checks)
		return adapters.IfExists(b.IfExists).WriteEffects("size"), checks.Err()
	}
	b.checkRead(&checks)
	return b.readEffects(), checks.Err()
}

// Effects implements hcl.EffectLister.
func (b *block) Effects(*hcl.Connection) []hcl.Effect {
	if b.Write != nil {
		effect := hcl.Effect{Verb: "WRITE", Source: []any{&b.Directory, &b.Write}}
		if b.IfExists != string(adapters.ExistsFail) { // the default, which may be written or not
			effect.What = b.IfExists
		}
		return []hcl.Effect{effect}
	}
	return []hcl.Effect{{Verb: "READ", Source: []any{&b.Directory, &b.Read}}}
}

func (b *block) readEffects() hcl.Effects {
	effects := hcl.Effects{ReadOnly: true, Idempotent: true}
	text := &schema.Type{Kind: schema.String}
	name, t := "content", text
	switch b.format() {
	case asBytes:
		t = &schema.Type{Kind: schema.Bytes}
		effects.Default.Document, effects.MimeType = name, b.mimeType()
	case asLines:
		name, t = "lines", schema.ListOf(text)
		effects.Default.Member = name
	case asCSV:
		name, t = "rows", schema.ListOf(&schema.Type{Kind: schema.Map, Elem: text})
		effects.Default.Member = name
	case asJSON:
		t = &schema.Type{Kind: schema.Any}
		effects.Default.Member = name
	default:
		effects.Default.Text, effects.Default.Document, effects.MimeType = name, name, b.mimeType()
	}
	if canBeCut(b.format()) {
		effects.Facts = hcl.CutMembers(name)
	}
	effects.Output = schema.ObjectOf(
		&schema.Member{Name: name, Type: t},
		&schema.Member{Name: "path", Type: text},
		&schema.Member{Name: "size", Type: &schema.Type{Kind: schema.Integer}},
		&schema.Member{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
	)
	return effects
}

// mimeType returns the type that the file name implies, or "" if the name is not known at load.
func (b *block) mimeType() string {
	if b.Read == nil {
		return ""
	}
	name, _ := b.Read.Known()
	return media.TypeByExtension(name)
}

func (b *block) format() string {
	if b.As == "" {
		return asText
	}
	return b.As
}

func (b *block) checkWrite(checks *adapters.Checks) {
	checks.Refuse(b.Content == nil, &b.Write, "The content to write is missing: write content = ….")
	for _, arg := range []struct {
		field any
		name  string
		isSet bool
	}{
		{&b.As, "as", b.As != ""}, {&b.Encoding, "encoding", b.Encoding != ""},
		{&b.First, "first", b.First != nil}, {&b.Last, "last", b.Last != nil},
		{&b.Delimiter, "delimiter", b.Delimiter != ""}, {&b.MaxSize, "max_size", b.MaxSize != 0},
	} {
		checks.Refuse(arg.isSet, arg.field, "%s belongs to read, but this block writes.", arg.name)
	}
}

func (b *block) checkRead(checks *adapters.Checks) {
	checks.Refuse(b.Content != nil, &b.Content, "content belongs to write, but this block reads.")
	checks.Refuse(b.IfExists != "", &b.IfExists, "if_exists belongs to write, but this block reads.")
	hasLines := b.format() == asText || b.format() == asLines
	checks.Refuse(b.First != nil && !hasLines, &b.First, "first counts lines, but the file is read as %s.", b.format())
	checks.Refuse(b.Last != nil && !hasLines, &b.Last, "last counts lines, but the file is read as %s.", b.format())
	checks.Refuse(b.Encoding != "" && b.format() == asBytes, &b.Encoding, "encoding is that of text, but the file is "+
		"read as bytes. Remove one of them.")
	valid := utf8.RuneCountInString(b.Delimiter) == 1 && !strings.ContainsAny(b.Delimiter, "\"\r\n\x00")
	checks.Refuse(b.Delimiter != "" && (!valid || b.format() != asCSV), &b.Delimiter,
		`delimiter must be one character such as "," or "\t", and requires as = "csv".`)
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	dir := adapters.NewDirectory(env, b.Directory)
	if b.Write != nil {
		env.WarnIfMissing(&b.Directory, b.Directory)
		return &writer{block: b, dir: dir, ifExists: cmp.Or(adapters.IfExists(b.IfExists), adapters.ExistsFail)}, nil
	}
	maxSize := cmp.Or(int64(b.MaxSize), defaultMaxSize)
	encoding, _ := charset.Find(b.Encoding)
	return &reader{block: b, dir: dir, format: b.format(), maxSize: maxSize, encoding: encoding}, nil
}
