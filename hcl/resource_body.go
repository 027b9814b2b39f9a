package hcl

import (
	"cmp"
	"encoding/base64"
	"mime"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/media"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// decodeBody decodes the content of the resource, its media type, and the size of constant content.
func (r *resourceDecoder) decodeBody() {
	res, d := r.resource, r.dec
	kind := ""
	switch {
	case len(r.formats) > 0:
		kind = r.checkFormat()
	case res.Text != nil:
		kind = "text/plain"
		if text, known := res.Text.Known(); known {
			r.setSize(len(text))
		}
	case res.Data != nil:
		r.checkData()
	case len(res.Steps) == 1 && !res.HasNamedSteps():
		res.Body, kind = r.backendBody(res.Steps[0].Backend)
	case d.Diags.HasErrors(): // the invalid part may be the content
	case len(res.Steps) > 0:
		d.Errorf(r.block.DefRange(), "Empty resource",
			"A resource with steps needs text = \"${step.<name>…}\", or data.")
	default:
		d.Errorf(r.block.DefRange(), "Empty resource", "A resource needs a text, data, a backend (%s), or steps.",
			strings.Join(diag.SortedNames(r.loader.backendKinds), ", "))
	}
	if res.MimeType == "" {
		res.MimeType = kind
	} else if _, _, err := mime.ParseMediaType(res.MimeType); err != nil || !strings.Contains(res.MimeType, "/") {
		d.Diags.Errorf(r.attrRange("mime_type"), "Invalid media type",
			"A media type is two names separated by a slash, as in \"text/markdown\" or \"image/png\", not %q.",
			res.MimeType)
	}
}

// checkFormat decodes the content of a resource with a format, and returns its media type.
func (r *resourceDecoder) checkFormat() (kind string) {
	res, d := r.resource, r.dec
	if len(res.Steps) != 1 || res.HasNamedSteps() {
		d.Diags.Errorf(r.attrRange("format"), "No list of objects",
			"format writes the output of the backend of a resource, and this one has no single backend. Write text.")
		return ""
	}
	res.Body, kind = r.backendBody(res.Steps[0].Backend)
	if r.formats[0] == jsonFormat || res.Body == nil {
		return kind
	}
	if _, isTable := rowType(res.Body.Type()); !isTable {
		d.Diags.Errorf(r.attrRange("format"), "No list of objects", "csv and markdown are for a list of "+
			"objects, or for an object with one such list, and the output of this backend is %s.",
			eval.TypePhrase(res.Body.Type()))
	}
	res.Format = r.formats[0]
	return "text/" + res.Format
}

// backendBody returns the output of a backend that is the document, and its media type if known.
func (r *resourceDecoder) backendBody(b *Backend) (*Expr, string) {
	d := b.Effects.Default
	name := cmp.Or(d.Document, d.Text, d.Member)
	if name == "" && len(d.Members) == 0 {
		r.dec.Errorf(r.block.DefRange(), "No result",
			"The output of this backend has no default content. Set text or data.")
		return nil, ""
	}
	access := eval.Access{What: "output", Optional: true}
	n := eval.Computed(eval.AnyType, func(f *eval.Frame) (any, error) {
		if name != "" {
			return access.Member(f, f.Output, name)
		}
		out := make(map[string]any, len(d.Members))
		for _, name := range d.Members {
			v, err := access.Member(f, f.Output, name)
			if err != nil {
				return nil, err
			}
			out[name] = v
		}
		return out, nil
	})
	if m, ok := b.Effects.Output.Lookup(name); ok {
		n.Type = m.Type
		output := eval.TypedExpr{Type: b.Effects.Output, Facts: b.Effects.Facts}
		r.dec.Deps.RequireWhole(output.MemberFacts(name).HeldCuts(), b.Range)
	}
	kind := "application/json"
	switch {
	case d.Document != "":
		kind = b.Effects.MimeType
	case n.Type.Kind == schema.String:
		kind = "text/plain"
	}
	return &Expr{Typed: n, Range: b.Range}, kind
}

// checkData checks constant data and sets its size.
func (r *resourceDecoder) checkData() {
	res, d := r.resource, r.dec
	e := res.Data
	if t := e.Type(); t.Kind != schema.Bytes && t.Kind != schema.String && t.Kind != schema.Any {
		d.Diags.Errorf(r.attrRange("data"), "Wrong type", "data takes bytes or a base64 string, not %s.",
			eval.TypePhrase(t))
		return
	}
	if !e.Constant() {
		return
	}
	size := 0
	switch v := e.Typed.Value.(type) {
	case value.Bytes:
		size = len(v)
	case string:
		content, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			d.Diags.Errorf(r.attrRange("data"), "Invalid base64", "data takes bytes or a base64 string, and this "+
				"string is not base64. For plain text use `text`; to read a file, filebase64(\"logo.png\").")
			return
		}
		size = len(content)
	}
	r.setSize(size)
}

// setSize sets the size of constant content.
func (r *resourceDecoder) setSize(size int) {
	r.constant = true
	if r.resource.Size == 0 {
		r.resource.Size = size
	}
}

// MediaType returns the media type of the resource read at a URI, derived from the URI or the
// content if it is not declared.
func (r *Resource) MediaType(uri string, body any) string {
	if r.MimeType != "" {
		return r.MimeType
	}
	path, _, _ := strings.Cut(uri, "?")
	if known := media.TypeByExtension(path); known != "" {
		return known
	}
	switch body.(type) {
	case value.Bytes:
		return "application/octet-stream"
	case string:
		return "text/plain"
	}
	return "application/json"
}
