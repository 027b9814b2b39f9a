package hcl

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
)

// Answer is how the result of a tool is sent. Its zero value sends JSON with structured content.
type Answer struct {
	Formats    []string    // the first is the default; nil for JSON alone
	Structured bool        // results in other formats keep their structured content
	Projection *Projection // nil for all members
	MaxTokens  int         // of the text of a result, estimated; 0 for no maximum
	Page       *Page       // nil for all rows in one answer
}

// Projection is the projection block: callers choose the members of the rows.
type Projection struct {
	Offer   []string // the members that a caller may choose
	Default []string // those of a call that chooses none
}

// The inputs that the arguments of an answer add.
const (
	FormatInput = "format" // of a format with several values
	FieldsInput = "fields" // of projection
)

const (
	jsonFormat    = "json"
	maxProjection = 64 // members that a projection offers
	minMaxTokens  = 200
	maxMaxTokens  = 100_000
)

// formats are the formats of answers.
var formats = []string{jsonFormat, "csv", "markdown"}

// HasTables reports whether the tool answers with tables of CSV or Markdown.
func (a *Answer) HasTables() bool {
	return slices.ContainsFunc(a.Formats, func(name string) bool { return name != jsonFormat })
}

// SendsStructured reports whether results have structured content, and the tool an output schema. Some clients give
// their model nothing else, so it is left out where a table is to be read.
func (a *Answer) SendsStructured() bool { return !a.HasTables() || a.Structured }

// Format returns the format that a call has chosen.
func (a *Answer) Format(input map[string]any) string {
	if len(a.Formats) == 0 {
		return jsonFormat
	}
	if name, ok := input[FormatInput].(string); ok && len(a.Formats) > 1 {
		return name
	}
	return a.Formats[0]
}

// Fields returns the members that a call has chosen; nil without a projection.
func (a *Answer) Fields(input map[string]any) []string {
	if a.Projection == nil {
		return nil
	}
	chosen, _ := input[FieldsInput].([]any)
	names := make([]string, 0, len(chosen))
	for _, v := range chosen {
		if name, ok := v.(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return a.Projection.Default
	}
	return names
}

// formatField declares the argument format.
func formatField(dst *[]string, several bool) decode.Field {
	typ := `"json", "csv" or "markdown"`
	doc := "The format of the text of a list of objects. csv and markdown take fewer tokens than JSON; anything that " +
		"is no list of objects is sent as JSON."
	if several {
		typ += ", or a list of them"
		doc += " A list adds the input format, by which callers choose; the first is the default. With csv or " +
			"markdown, results have no structured content unless structured is true."
	}
	field := decode.Custom("format", typ, doc, func(d *decode.Decoder, e hclsyntax.Expression) {
		*dst = decodeFormats(d, e, several)
	})
	return field.DefaultDoc(`"json"`)
}

func decodeFormats(d *decode.Decoder, e hclsyntax.Expression, several bool) (names []string) {
	n := d.CompileKnown(e, decode.Field{Name: "format"})
	if !n.Known {
		return nil
	}
	words, isList := n.Value.([]any)
	if !isList || !several {
		words = []any{n.Value}
	}
	for i, v := range words {
		name, isText := v.(string)
		at := diag.RangeOf(e.Range())
		if isList {
			at = diag.RangeOf(decode.ElementRange(e, i))
		}
		switch {
		case !isText:
			d.Diags.Errorf(at, "Wrong type", "A format is a string, not %s.", eval.ValuePhrase(v))
			return nil
		case !slices.Contains(formats, name):
			d.Diags.Errorf(at, "Unknown format", "There is no format %q.%s", name,
				diag.SuggestOr(name, formats, " Write json, csv or markdown."))
			return nil
		case slices.Contains(names, name):
			d.Diags.Errorf(at, "Duplicate format", "The format %q is already listed.", name)
			return nil
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		d.Errorf(e.Range(), "Empty list", "Name at least one format: json, csv or markdown.")
	}
	return names
}

// shapeSpec is the spec of what shapes a result before it is sent. It adds inputs.
func (t *toolDecoder) shapeSpec() decode.Spec {
	a := &t.tool.Answer
	return decode.Spec{
		formatField(&a.Formats, true),
		decode.Attr(&a.Structured, "structured", "Whether results in csv or markdown also have structured content, "+
			"and the tool an output schema. Some clients give their model the structured content alone, others both, "+
			"so this sends the rows twice.").DefaultDoc("false"),
		decode.Block(&a.Projection, "projection", "Adds the input fields, by which callers choose the members of "+
			"each row. The server leaves the others out; the statement or request does not change.",
			(*Projection).spec),
		decode.Block(&a.Page, "page", "Answers with a part of the rows, as { rows, next_cursor }, and adds the input "+
			"cursor for the next part. Each page is a call of its own.", (*Page).spec),
		decode.Attr(&a.MaxTokens, "max_tokens", "The maximum number of tokens of the text of a result, from 200 to "+
			"100000, as the server estimates them. A list ends after the last element that fits, with a notice; any "+
			"other text is truncated. max_text applies, too.").DefaultDoc("none").
			Check(func(d *decode.Decoder, r Range) {
				if a.MaxTokens < minMaxTokens || a.MaxTokens > maxMaxTokens {
					d.Diags.Errorf(r, "Number out of range", "max_tokens is a number from %d to %d, not %d.",
						minMaxTokens, maxMaxTokens, a.MaxTokens)
				}
			}),
	}
}

func (p *Projection) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&p.Offer, "offer", "The members that callers may choose, at most 64.").Require().
			Check(func(d *decode.Decoder, r Range) { checkOffer(d, r, p.Offer) }),
		decode.Attr(&p.Default, "default", "The members that a call receives which chooses none.").
			DefaultDoc("all that are offered"),
	}
}

func checkOffer(d *decode.Decoder, r Range, names []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] || name == "" {
			d.Diags.Errorf(r, "Invalid projection", "offer names each member once, and %q is not such a name.", name)
			return
		}
		seen[name] = true
	}
	if len(names) == 0 || len(names) > maxProjection {
		d.Diags.Errorf(r, "Invalid projection", "offer names 1 to %d members, not %d.", maxProjection, len(names))
	}
}

// addAnswerInputs adds the inputs by which callers choose what they receive.
func (t *toolDecoder) addAnswerInputs() {
	a := &t.tool.Answer
	if a.Projection != nil {
		t.checkDefaultFields()
		if len(a.Projection.Default) == 0 {
			a.Projection.Default = a.Projection.Offer
		}
		least, most := 1, len(a.Projection.Offer)
		t.addInput(FieldsInput, "projection", &schema.Type{
			Kind: schema.List, Elem: enumOf(a.Projection.Offer...), MinItems: &least, MaxItems: &most,
			Description: "The members of each row to return, in this order.",
		}, anyTexts(a.Projection.Default))
	}
	if len(a.Formats) > 1 {
		choice := enumOf(a.Formats...)
		choice.Description = "The format of the answer."
		t.addInput(FormatInput, "format", choice, a.Formats[0])
	}
}

func anyTexts(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// checkDefaultFields reports a default that is not offered.
func (t *toolDecoder) checkDefaultFields() {
	p := t.tool.Projection
	for _, name := range p.Default {
		if !slices.Contains(p.Offer, name) {
			t.dec.Diags.Errorf(t.dec.FieldRange(&p.Default, t.block.Block), "Invalid projection",
				"default names %q, which is not offered.%s", name, diag.SuggestOr(name, p.Offer, diag.ListAre(p.Offer)))
			return
		}
	}
}

// addInput adds an optional input of an argument or a block of the tool.
func (t *toolDecoder) addInput(name, of string, typ *schema.Type, otherwise any) {
	in, d := t.inputs, t.dec
	at := t.attrRange(of)
	if b := decode.FindBlock(t.block.Body, of); b != nil {
		at = headerRange(b)
	}
	if in.verbatim != nil {
		d.Diags.Errorf(at, "No place for an input", "%s adds the input %q, and schema replaces the input schema. "+
			"Write input blocks in place of schema.", of, name)
		return
	}
	if taken, ok := in.labelRanges[name]; ok {
		d.Diags.Errorf(taken, "Input name reserved", "Input %q is reserved by %s. Rename this one.", name, of)
		return
	}
	in.members = append(in.members, &schema.Member{
		Name: name, Type: typ, Optional: true, HasDefault: otherwise != nil, Default: otherwise,
	})
}

const (
	// expectedResultSize is how many characters of a result Claude Code gives its model unless the tool allows more.
	expectedResultSize = 50_000
	// maxResultSizeHint is the largest size that it accepts.
	maxResultSizeHint = 500_000
)

// resultSizeMeta is the metadata of a tool by which Claude Code allows more.
const resultSizeMeta = "anthropic/maxResultSizeChars"

// announceResultSize adds the size of a result to the metadata of the tool, if its author has written more than clients
// expect, and has not written the metadata.
func (t *toolDecoder) announceResultSize() {
	if !t.has("max_text") || t.tool.MaxText <= expectedResultSize {
		return
	}
	if _, written := jsonscan.Lookup(t.tool.Meta, resultSizeMeta); written {
		return
	}
	meta := bytes.TrimSuffix(t.tool.Meta, []byte{'}'})
	if len(meta) > len("{") {
		meta = append(meta[:len(meta):len(meta)], ',')
	} else {
		meta = []byte{'{'}
	}
	t.tool.Meta = fmt.Appendf(meta, "%q:%d}", resultSizeMeta, min(int(t.tool.MaxText), maxResultSizeHint))
}

// checkAnswer reports arguments of the answer that contradict each other or the result. The answer is decoded.
func (t *toolDecoder) checkAnswer() {
	a := &t.tool.Answer
	if t.dec.Diags.HasErrors() {
		return
	}
	shaped := t.has("text", "content")
	switch {
	case a.Formats != nil && shaped:
		t.dec.Diags.Errorf(t.attrRange("format"), "Too many arguments",
			"format writes the text of the result, and so do text and content. Remove one of them.")
		return
	case a.Projection != nil && shaped && t.tool.Returns == nil && t.tool.Result == nil:
		t.dec.Diags.Errorf(t.blockRange("projection"), "Nothing to project",
			"This tool sends a text of its own and no structured result. Remove projection, or text and content.")
		return
	case t.has("structured") && !a.HasTables():
		t.dec.Diags.Errorf(t.attrRange("structured"), "Nothing to choose", "structured belongs to format = \"csv\" or "+
			"\"markdown\": results in JSON always have structured content.")
		return
	}
	known := t.tool.ResultType()
	if known == nil {
		return
	}
	row, isTable := rowType(known)
	switch {
	case a.HasTables() && !isTable:
		t.dec.Diags.Errorf(t.attrRange("format"), "No list of objects", "csv and markdown are for a list of "+
			"objects, or for an object with one such list, and the result of this tool is %s.", eval.TypePhrase(known))
	case a.Projection != nil && row != nil:
		t.checkOffered(row)
	}
}

// checkOffered reports a member that the rows of the result do not have.
func (t *toolDecoder) checkOffered(row *schema.Type) {
	p := t.tool.Projection
	for i, name := range p.Offer {
		if _, ok := row.Lookup(name); ok {
			continue
		}
		at := t.dec.FieldRange(&p.Offer, t.block.Block)
		if a := decode.FindBlock(t.block.Body, "projection").Body.Attributes["offer"]; a != nil {
			at = diag.RangeOf(decode.ElementRange(a.Expr, i))
		}
		t.dec.Diags.Errorf(at, "Unknown member", "The rows of the result have no member %s.%s", strconv.Quote(name),
			diag.SuggestOr(name, row.MemberNames(), diag.ListHas(row.MemberNames())))
		return
	}
}

// rowType returns the type of the objects that a format and a projection apply to, nil for an unknown one, and whether
// a value of the type may be a table.
func rowType(t *schema.Type) (row *schema.Type, isTable bool) {
	switch t = t.Unfolded(); {
	case t.OneOf != nil || t.Kind == schema.Any || t.Kind == schema.Map:
		return nil, true
	case t.Kind == schema.List || t.Kind == schema.Set:
		elem := t.Elem.Unfolded()
		if elem == nil || elem.OneOf != nil || elem.Kind == schema.Any || elem.Kind == schema.Map {
			return nil, true
		}
		return objectOrNil(elem), elem.Kind == schema.Object
	case t.Kind != schema.Object:
		return nil, false
	}
	var lists []*schema.Type
	unknown := false
	for _, m := range t.Members {
		of := m.Type.Unfolded()
		unknown = unknown || of.Kind == schema.Any || of.OneOf != nil
		if of.Kind == schema.List || of.Kind == schema.Set {
			elem := of.Elem.Unfolded()
			unknown = unknown || elem == nil || elem.Kind == schema.Any || elem.OneOf != nil
			if elem != nil && (elem.Kind == schema.Object || elem.Kind == schema.Map) {
				lists = append(lists, elem)
			}
		}
	}
	switch {
	case len(lists) == 1 && !unknown:
		return objectOrNil(lists[0]), true
	case unknown:
		return nil, true
	}
	return objectOrNil(t), false
}

func objectOrNil(t *schema.Type) *schema.Type {
	if t.Kind != schema.Object {
		return nil
	}
	return t
}
