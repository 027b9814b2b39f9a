package hcl

import (
	"cmp"
	"encoding/base64"
	"mime"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// held finds what the resource holds, what kind of media that is, and, where it is constant, how much.
func (r *resourceDecl) held() {
	res, d := r.resource, r.dec
	kind := ""
	switch {
	case res.Text != nil:
		kind = "text/plain"
		if text, known := res.Text.known(); known {
			r.holds(len(text))
		}
	case res.Data != nil:
		r.sized()
	case len(res.Steps) == 1 && !res.Named():
		res.Body, kind = r.body(res.Steps[0].Backend)
	case d.diags.HasErrors(): // what is wrong may be what it holds
	case len(res.Steps) > 0:
		d.errorf(r.block.DefRange(), "Resource holds nothing", "A resource with steps says what it holds: text = \"${step.<name>…}\", or data.")
	default:
		d.errorf(r.block.DefRange(), "Resource holds nothing", "A resource has a text, data, a backend (%s), or steps.", strings.Join(d.shared.backendNames(), ", "))
	}
	if res.MimeType == "" {
		res.MimeType = kind
	} else if _, _, err := mime.ParseMediaType(res.MimeType); err != nil || !strings.Contains(res.MimeType, "/") {
		d.errorf(r.attrRange("mime_type"), "Invalid media type", "A media type is two words and a slash, as in \"text/markdown\" or \"image/png\", and this is %q.", res.MimeType)
	}
}

// body is what a backend gives as a document, and its media type where that is known.
func (r *resourceDecl) body(b *Backend) (*Expr, string) {
	d := b.Facts.Default
	name := cmp.Or(d.Document, d.Text, d.Member)
	if name == "" && len(d.Members) == 0 {
		r.dec.errorf(r.block.DefRange(), "No result", "The answer of this backend has no form of its own. Write text or data.")
		return nil, ""
	}
	n := node{typ: anyType, eval: func(f *Frame) (any, error) {
		if name != "" {
			return lookup(f, f.Output, name, "output", true)
		}
		out := make(map[string]any, len(d.Members))
		for _, name := range d.Members {
			v, err := lookup(f, f.Output, name, "output", true)
			if err != nil {
				return nil, err
			}
			out[name] = v
		}
		return out, nil
	}}
	if m, ok := b.Facts.Output.Lookup(name); ok {
		n.typ = m.Type
	}
	kind := media(n.typ)
	if d.Document != "" {
		kind = b.Facts.MimeType
	}
	return &Expr{n, b.Range}, kind
}

// sized checks constant data, and says how much it is.
func (r *resourceDecl) sized() {
	res, d := r.resource, r.dec
	e := res.Data
	if t := e.Type(); t.Kind != schema.Bytes && t.Kind != schema.String && t.Kind != schema.Any {
		d.errorf(r.attrRange("data"), "Wrong type", "data takes bytes or a text in base64, and this is %s.", describe(t))
		return
	}
	if !e.Constant() {
		return
	}
	size := 0
	switch v := e.node.value.(type) {
	case value.Bytes:
		size = len(v)
	case string:
		content, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			d.errorf(r.attrRange("data"), "Invalid base64", "data is bytes or a text in base64, and this text is not. A text as it is stands in `text`; filebase64(\"logo.png\") reads a file.")
			return
		}
		size = len(content)
	}
	r.holds(size)
}

// holds notes what a constant says of itself.
func (r *resourceDecl) holds(size int) {
	r.constant = true
	if r.resource.Size == 0 {
		r.resource.Size = size
	}
}
