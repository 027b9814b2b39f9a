package hcl

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Content is one content block of a result.
type Content struct {
	Kind        string // "text", "image", "audio", "resource" or "link"
	When        *Condition
	Text        *TextTemplate
	Data        *Expr // bytes, or a base64 string
	MimeType    string
	URI         *StringExpr
	Name        *StringExpr
	Title       *StringExpr
	Description *TextTemplate // the description of a link
	Size        int           // of the target of a link in bytes; 0 if unknown

	Annotations *Annotations
	Range       Range
}

func contentSpec(c *Content) decode.Spec {
	return decode.Join(
		decode.Spec{decode.Guard(&c.When, "when", "The content is omitted when this is false.")},
		decode.AtMostOneOf("the content",
			decode.Attr(&c.Text, "text", "A text."),
			decode.Attr(&c.Data, "data",
				"Bytes: output.content with as = \"bytes\", filebase64(…), or a base64 string.")),
		decode.Spec{
			decode.Attr(&c.MimeType, "mime_type", "The media type of the data."),
			decode.Attr(&c.URI, "uri", "The URI, for resource and link."),
			decode.Attr(&c.Name, "name", "The name of a link."),
			decode.Attr(&c.Title, "title", "The display name of a link."),
			decode.Attr(&c.Description, "description", "The description of a link's target."),
			decode.Attr(&c.Size, "size", "The size of a link's target in bytes.").Check(c.checkSize),
			annotationsField(&c.Annotations),
		},
	)
}

func (c *Content) checkSize(d *decode.Decoder, r Range) {
	if c.Size < 0 {
		d.Diags.Errorf(r, "Number out of range", "size is a number of bytes, not %d.", c.Size)
	}
}

// contentBlocks declares content blocks.
func contentBlocks(dst *[]*Content, doc string) decode.Field {
	return decode.Blocks("content", "kind", doc, func() decode.Spec { return contentSpec(&Content{}) },
		func(d *decode.Decoder, b *hclsyntax.Block) {
			if c := decodeContent(d, b); c != nil {
				*dst = append(*dst, c)
			}
		})
}

// contentKind lists the arguments of one kind of content, besides when and annotations.
type contentKind struct {
	needs  []string
	either []string // one of these is required too
	takes  []string
}

// arguments returns the names of all arguments.
func (k contentKind) arguments() []string { return slices.Concat(k.needs, k.either, k.takes) }

var contentKinds = map[string]contentKind{
	"text":     {needs: []string{"text"}},
	"image":    {needs: []string{"data", "mime_type"}},
	"audio":    {needs: []string{"data", "mime_type"}},
	"resource": {needs: []string{"uri"}, either: []string{"text", "data"}, takes: []string{"mime_type"}},
	"link":     {needs: []string{"uri", "name"}, takes: []string{"title", "description", "size", "mime_type"}},
}

// decodeContent decodes a content block.
func decodeContent(d *decode.Decoder, b *hclsyntax.Block) *Content {
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A content block is written `content \"text\" {`.")
		return nil
	}
	c := &Content{Kind: b.Labels[0], Range: headerRange(b)}
	kind, ok := contentKinds[c.Kind]
	if !ok {
		kinds := diag.SortedNames(contentKinds)
		d.Errorf(b.LabelRanges[0], "Unknown content type", "There is no content %q.%s", c.Kind,
			diag.SuggestOr(c.Kind, kinds, diag.ListAre(kinds)))
		return nil
	}
	d.Body(b, contentSpec(c))
	kind.checkArguments(d, b)
	return c
}

// checkArguments reports missing and unknown arguments of a kind of content.
func (k contentKind) checkArguments(d *decode.Decoder, b *hclsyntax.Block) {
	own, name := k.arguments(), b.Labels[0]
	either := len(k.either) == 0
	for _, a := range sortedAttributes(b.Body.Attributes) {
		either = either || slices.Contains(k.either, a.Name)
		elsewhere := false
		for _, other := range contentKinds {
			elsewhere = elsewhere || slices.Contains(other.arguments(), a.Name)
		}
		if elsewhere && !slices.Contains(own, a.Name) {
			d.Errorf(a.NameRange, "Does not apply here", "content %q does not take %s.%s", name, a.Name,
				diag.ListNames(" It takes ", own))
		}
	}
	for _, needed := range k.needs {
		if b.Body.Attributes[needed] == nil {
			d.Errorf(b.DefRange(), "Missing argument", "content %q needs %q.", name, needed)
		}
	}
	if !either {
		d.Errorf(b.DefRange(), "Missing argument", "content %q is empty: write %s.", name,
			diag.JoinOr(k.either))
	}
}

// Annotations are the audience, priority and modification time of a content item.
type Annotations struct {
	Audience     []string    // "user", "assistant"
	Priority     *float64    // from 0 to 1
	LastModified *StringExpr // a time as in RFC 3339
}

func annotationsField(dst **Annotations) decode.Field {
	return decode.Block(dst, "annotations", "The intended audience and the importance.", (*Annotations).spec)
}

func (a *Annotations) spec() decode.Spec {
	return decode.Spec{
		decode.StringSet(&a.Audience, "audience", "list of strings",
			`The intended audience: "user", "assistant" or both.`, checkAudience),
		decode.RangedFloat(&a.Priority, "priority", "The importance: 1 is required, 0 is entirely optional.", 1),
		decode.Attr(&a.LastModified, "last_modified",
			`When the content last changed, as in "2026-01-31T15:04:05Z".`).Check(a.checkLastModified),
	}
}

var roles = []string{"user", "assistant"}

func checkAudience(d *decode.Decoder, r Range, role string) string {
	if !slices.Contains(roles, role) {
		d.Diags.Errorf(r, "Unknown choice", "audience lists \"user\" and \"assistant\", not %q.", role)
	}
	return role
}

func (a *Annotations) checkLastModified(d *decode.Decoder, r Range) {
	text, known := a.LastModified.Known()
	if _, err := time.Parse(time.RFC3339, text); known && err != nil {
		d.Diags.Errorf(r, "Invalid time",
			"last_modified is a date and time with an offset like \"2026-01-31T15:04:05Z\", not %q.", text)
	}
}
