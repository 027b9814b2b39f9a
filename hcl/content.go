package hcl

import (
	"sort"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func contentSpec(c *Content) Spec {
	return Join(
		Spec{Attr(&c.When, "when", "The piece is left out when this is false.")},
		AtMost("what the piece holds",
			Attr(&c.Text, "text", "A text."),
			Attr(&c.Data, "data", "Bytes: output.content of as = \"bytes\", filebase64(…), or a text in base64.")),
		Spec{
			Attr(&c.MimeType, "mime_type", "The media type of the data."),
			Attr(&c.URI, "uri", "What the resource is called, for resource and link."),
			Attr(&c.Name, "name", "The name of a link."),
		},
	)
}

// contentNeeds says which arguments each kind of content must have.
var contentNeeds = map[string][]string{
	"text": {"text"}, "image": {"data", "mime_type"}, "audio": {"data", "mime_type"}, "resource": {"uri"}, "link": {"uri", "name"},
}

func (d *decoder) content(b *hclsyntax.Block) *Content {
	if len(b.Labels) != 1 {
		d.errorf(b.TypeRange, "Wrong number of labels", "A content block is written `content \"text\" {`.")
		return nil
	}
	c := &Content{Kind: b.Labels[0], Range: at(b.DefRange())}
	needs, ok := contentNeeds[c.Kind]
	if !ok {
		kinds := sortedNames(contentNeeds)
		sort.Strings(kinds)
		d.errorf(b.LabelRanges[0], "Unknown kind of content", "There is no content %q.%s", c.Kind, suggestOr(c.Kind, kinds, thereAre(kinds)))
		return nil
	}
	spec, known := contentSpec(c), d.facts
	d.unknown(b.Body, spec)
	d.fields(b.Body, spec[:1], b.DefRange())
	d.facts = known.and(c.When)
	d.fields(b.Body, spec[1:], b.DefRange())
	d.facts = known
	for _, name := range needs {
		if _, written := b.Body.Attributes[name]; !written {
			d.errorf(b.DefRange(), "Missing argument", "%q is needed in content %q.", name, c.Kind)
		}
	}
	return c
}
