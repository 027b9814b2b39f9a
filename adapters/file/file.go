// Package file turns file blocks into reads and writes of single files below one folder. No name leads out of the folder; a file is written whole or not
// at all, and read up to a limit.
package file

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/media"
	"hatchel/hcl/schema"
)

// Adapter declares the file block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("file", "Reads or writes a file. Reading gives output.content, output.lines or output.rows, by what as says; all give output.path and output.size.", (*config).spec, bind)
}

// config is a file block.
type config struct {
	Read      *hcl.StringExpr
	Write     *hcl.StringExpr
	Directory string

	As        string
	First     *hcl.Expr
	Last      *hcl.Expr
	Delimiter string
	MaxSize   hcl.Size

	Content  *hcl.Expr
	IfExists string
}

// What a file is read as.
const (
	asText  = "text"
	asBytes = "bytes"
	asLines = "lines"
	asCSV   = "csv"
	asJSON  = "json"
)

var forms = []string{asText, asBytes, asLines, asCSV, asJSON}

const defaultMaxSize = 4 << 20

func (c *config) spec() hcl.Spec {
	return hcl.Join(
		hcl.ExactlyOneOf("what to do",
			hcl.Attr(&c.Read, "read", "The name of a file to read. It cannot lead out of the folder."),
			hcl.Attr(&c.Write, "write", "The name of a file to write."),
		),
		hcl.Spec{
			hcl.Attr(&c.Directory, "directory", "The folder that the files lie in; a relative one is below the folder of the configuration.").Require(),
			hcl.Attr(&c.As, "as", "What is read: \"text\" or \"json\" into output.content, \"bytes\" likewise, \"lines\" into output.lines, \"csv\" into output.rows, objects named after the first line.").DefaultDoc(`"text"`),
			hcl.Attr(&c.First, "first", "The first line that is read, counted from 1; for \"text\" and \"lines\"."),
			hcl.Attr(&c.Last, "last", "The last line that is read."),
			hcl.Attr(&c.Delimiter, "delimiter", "The character between the cells of a CSV file.").DefaultDoc(`","`),
			hcl.Attr(&c.MaxSize, "max_size", "How much may be read; lines before the first are not counted.").DefaultDoc(`"4MiB"`),
			hcl.Attr(&c.Content, "content", "What is written: text, bytes, an uploaded file, or a value as JSON.").AllowFile(),
			hcl.Attr(&c.IfExists, "if_exists", "What happens to a file of that name: \"fail\" leaves it alone, \"replace\" writes a new one in its place, \"append\" adds to it.").DefaultDoc(`"fail"`),
		},
	)
}

// Describe implements hcl.Described.
func (c *config) Describe(*hcl.Connection) (hcl.Effects, error) {
	members := []*schema.Member{
		{Name: "path", Type: &schema.Type{Kind: schema.String}},
		{Name: "size", Type: &schema.Type{Kind: schema.Integer}},
	}
	if c.Write != nil {
		replace := c.IfExists == string(adapters.ExistsReplace)
		return hcl.Effects{
			Output:      schema.ObjectOf(members...),
			Default:     hcl.DefaultResult{Members: []string{"path", "size"}},
			Writes:      true,
			Destructive: replace,
			Idempotent:  replace,
		}, errors.Join(c.checkWrite()...)
	}
	facts := hcl.Effects{ReadOnly: true, Idempotent: true}
	var read *schema.Member
	text := &schema.Type{Kind: schema.String}
	switch c.form() {
	case asBytes:
		read, facts.Default.Document, facts.MimeType = &schema.Member{Name: "content", Type: &schema.Type{Kind: schema.Bytes}}, "content", c.mimeType()
	case asLines:
		read, facts.Default.Member = &schema.Member{Name: "lines", Type: schema.ListOf(text)}, "lines"
	case asCSV:
		read, facts.Default.Member = &schema.Member{Name: "rows", Type: schema.ListOf(&schema.Type{Kind: schema.Map, Elem: text})}, "rows"
	case asJSON:
		read, facts.Default.Member = &schema.Member{Name: "content", Type: &schema.Type{Kind: schema.Any}}, "content"
	default:
		read, facts.Default.Text = &schema.Member{Name: "content", Type: text}, "content"
		facts.Default.Document, facts.MimeType = "content", c.mimeType()
	}
	facts.Output = schema.ObjectOf(append([]*schema.Member{read}, members...)...)
	return facts, errors.Join(c.checkRead()...)
}

// mimeType is what the name of the file says of it, where that is known at load.
func (c *config) mimeType() string {
	if c.Read == nil {
		return ""
	}
	name, _ := c.Read.Known()
	return media.TypeByExtension(name)
}

func (c *config) form() string {
	if c.As == "" {
		return asText
	}
	return c.As
}

func (c *config) checkWrite() (errs []error) {
	if c.Content == nil {
		errs = append(errs, hcl.Blame(&c.Write, "What is written is missing: write content = …."))
	}
	if c.IfExists != "" && !slices.Contains([]string{"fail", "replace", "append"}, c.IfExists) {
		errs = append(errs, hcl.Blame(&c.IfExists, "if_exists is \"fail\", \"replace\" or \"append\", and this is %q.", c.IfExists))
	}
	for _, x := range []struct {
		field   any
		name    string
		written bool
	}{
		{&c.As, "as", c.As != ""}, {&c.First, "first", c.First != nil}, {&c.Last, "last", c.Last != nil},
		{&c.Delimiter, "delimiter", c.Delimiter != ""}, {&c.MaxSize, "max_size", c.MaxSize != 0},
	} {
		if x.written {
			errs = append(errs, hcl.Blame(x.field, "%s belongs to read, and this block writes.", x.name))
		}
	}
	return errs
}

func (c *config) checkRead() (errs []error) {
	if !slices.Contains(forms, c.form()) {
		errs = append(errs, hcl.Blame(&c.As, "as is one of %s, and this is %q.", strings.Join(forms, ", "), c.As))
	}
	if c.Content != nil {
		errs = append(errs, hcl.Blame(&c.Content, "content belongs to write, and this block reads."))
	}
	if c.IfExists != "" {
		errs = append(errs, hcl.Blame(&c.IfExists, "if_exists belongs to write, and this block reads."))
	}
	if c.form() != asText && c.form() != asLines {
		if c.First != nil {
			errs = append(errs, hcl.Blame(&c.First, "first counts lines, and the file is read as %s.", c.form()))
		}
		if c.Last != nil {
			errs = append(errs, hcl.Blame(&c.Last, "last counts lines, and the file is read as %s.", c.form()))
		}
	}
	if c.Delimiter != "" && (c.form() != asCSV || utf8.RuneCountInString(c.Delimiter) != 1 || strings.ContainsAny(c.Delimiter, "\"\r\n\x00")) {
		errs = append(errs, hcl.Blame(&c.Delimiter, "delimiter is one character such as \",\" or \";\", and belongs to as = \"csv\"."))
	}
	return errs
}

func bind(_ context.Context, c *config, env adapters.Env) (adapters.Action, error) {
	folder := adapters.NewFolder(env.Dir, c.Directory)
	if c.Write != nil {
		ifExists := adapters.IfExists(c.IfExists)
		if ifExists == "" {
			ifExists = adapters.ExistsFail
		}
		return &writer{config: c, folder: folder, ifExists: ifExists}, nil
	}
	r := &reader{config: c, folder: folder, form: c.form(), limit: int64(c.MaxSize), delimiter: ','}
	if r.limit == 0 {
		r.limit = defaultMaxSize
	}
	if c.Delimiter != "" {
		r.delimiter, _ = utf8.DecodeRuneInString(c.Delimiter)
	}
	return r, nil
}
