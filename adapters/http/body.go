package http

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
	"unicode"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// A body is what a request carries; at most one of its members is written.
type body struct {
	JSON      *hcl.Expr
	Form      *hcl.KeyValues
	Multipart *hcl.KeyValues
	Raw       *hcl.Expr
}

func (b *body) spec() hcl.Spec {
	return hcl.AtMostOneOf("the body",
		hcl.Attr(&b.JSON, "json", "A value that is sent as JSON.").AllowSecret(),
		hcl.Attr(&b.Form, "form", "Fields that are sent as a form. A list repeats its name.").AllowSecret(),
		hcl.Attr(&b.Multipart, "multipart", "Parts that are sent as multipart/form-data: a string or number is a field, bytes and uploaded files are files, and { content, filename, type } says how a file is called.").AllowSecret().AllowFile(),
		hcl.Attr(&b.Raw, "body", "A text, bytes or an uploaded file, sent as they are. Say what they are in a Content-Type header; a file brings its own.").AllowSecret().AllowFile(),
	)
}

func (b *body) written() bool {
	return b.JSON != nil || b.Form != nil || b.Multipart != nil || b.Raw != nil
}

// fill writes the body of a call into a draft; alter may change the value of a JSON body.
func (b *body) fill(f *hcl.Frame, d *draft, alter func(any) (any, error)) (err error) {
	kind := ""
	switch {
	case b.JSON != nil:
		kind = "application/json"
		d.body, err = b.document(f, alter)
	case b.Form != nil:
		kind = "application/x-www-form-urlencoded"
		d.body, err = b.fields(f, d)
	case b.Multipart != nil:
		kind, err = b.parts(f, d)
	case b.Raw != nil:
		kind, err = b.raw(f, d)
	default:
		return nil
	}
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	if d.header["Content-Type"] == nil || b.Multipart != nil {
		d.header["Content-Type"] = []string{kind}
	}
	return nil
}

func (b *body) document(f *hcl.Frame, alter func(any) (any, error)) ([]byte, error) {
	v, err := b.JSON.Eval(f)
	if err == nil && alter != nil {
		v, err = alter(v)
	}
	if err != nil {
		return nil, err
	}
	out, err := value.AppendJSON(make([]byte, 0, 256), v)
	if err != nil {
		return nil, fmt.Errorf("the body cannot be sent as JSON: %w", err)
	}
	return out, nil
}

func (b *body) fields(f *hcl.Frame, d *draft) ([]byte, error) {
	entries, err := b.Form.Eval(f)
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for _, e := range entries {
		texts, err := scalars(e.Value)
		if err != nil {
			return nil, fmt.Errorf("the form field %s %w", e.Name, err)
		}
		for _, text := range texts {
			if len(out) > 0 {
				out = append(out, '&')
			}
			out = append(append(out, url.QueryEscape(e.Name)...), '=')
			if b.Form.Secret(e.Name) {
				d.secrets = append(d.secrets, text, url.QueryEscape(text))
				if d.shown {
					out = append(out, hcl.Hidden...)
					continue
				}
			}
			out = append(out, url.QueryEscape(text)...)
		}
	}
	return out, nil
}

func (b *body) raw(f *hcl.Frame, d *draft) (kind string, err error) {
	v, err := b.Raw.Eval(f)
	if file, ok := v.(value.File); ok && err == nil {
		return d.send(file), nil
	}
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case value.Bytes:
		d.body = v
		return "application/octet-stream", nil
	case []any, map[string]any, nil:
		return "", fmt.Errorf("the body must be text or bytes, and it is %s", value.Kind(v))
	}
	s, err := value.Text(v)
	d.body = []byte(s)
	return "text/plain; charset=utf-8", err
}

// send makes a file the whole body, and returns what it is.
func (d *draft) send(f value.File) (kind string) {
	facts := f.Facts()
	if d.shown {
		d.body = []byte(facts.Summary())
	} else {
		d.stream = new(stream)
		d.stream.addFile(f)
	}
	return facts.Type
}

func (b *body) parts(f *hcl.Frame, d *draft) (kind string, err error) {
	entries, err := b.Multipart.Eval(f)
	if err != nil {
		return "", err
	}
	var buf bytes.Buffer
	streamed := new(stream)
	w := multipart.NewWriter(&buf)
	for _, e := range entries {
		v, err := resolved(e.Value)
		if err != nil {
			return "", err
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, v := range list {
			p, err := partOf(e.Name, v)
			if err == nil && b.Multipart.Secret(e.Name) {
				d.secrets = append(d.secrets, string(p.content))
				if d.shown {
					p.content = []byte(hcl.Hidden)
				}
			}
			if err == nil {
				err = p.write(w, d.shown)
			}
			if err == nil && p.attached != nil && !d.shown {
				streamed.addText(buf.Bytes())
				streamed.addFile(p.attached)
				buf.Reset()
			}
			if err != nil {
				return "", fmt.Errorf("the part %s %w", e.Name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	if d.body = buf.Bytes(); streamed.pieces != nil {
		streamed.addText(d.body)
		d.body, d.stream = nil, streamed
	}
	return w.FormDataContentType(), nil
}

// part is one part of a multipart body.
type part struct {
	name, filename, kind string
	file                 bool
	content              []byte
	attached             value.File // in the place of content
}

// resolved is a value with what is deferred decoded, but for uploaded files, which are read while they are sent.
func resolved(v any) (any, error) {
	if _, ok := v.(value.File); ok {
		return v, nil
	}
	return value.Resolve(v)
}

// attach makes the part an uploaded file.
func (p *part) attach(f value.File) {
	facts := f.Facts()
	p.file, p.attached, p.filename, p.kind = true, f, facts.Name, facts.Type
}

func partOf(name string, v any) (part, error) {
	p := part{name: name, filename: name, kind: "application/octet-stream"}
	v, err := resolved(v)
	if err != nil {
		return p, err
	}
	switch v := v.(type) {
	case value.File:
		p.attach(v)
		return p, nil
	case value.Bytes:
		p.file, p.content = true, v
		return p, nil
	case map[string]any:
		p.file = true
		return p, p.describe(v)
	}
	text, err := scalar(v)
	p.content = []byte(text)
	return p, err
}

// describe reads { content, filename, type }.
func (p *part) describe(m map[string]any) error {
	for _, key := range value.Keys(m) {
		v, err := resolved(m[key])
		if err != nil {
			return err
		}
		text, isText := v.(string)
		raw, isRaw := v.(value.Bytes)
		file, isFile := v.(value.File)
		switch {
		case v == nil:
		case key == "content" && isFile:
			p.attach(file)
		case key == "content" && isRaw:
			p.content = raw
		case key == "content" && isText:
			p.content = []byte(text)
			p.kind = "text/plain; charset=utf-8"
		case key == "filename" && isText:
			p.filename = text
		case key == "type" && isText:
		default:
			return fmt.Errorf("is a file, which is { content, filename, type } with text or bytes as its content and text in the others; %q is %s", key, value.Kind(v))
		}
	}
	if kind, ok := m["type"].(string); ok {
		p.kind = kind
	}
	if p.content == nil && p.attached == nil {
		return fmt.Errorf("is a file without content: write { content = …, filename = … }")
	}
	if strings.ContainsFunc(p.name+p.filename+p.kind, unicode.IsControl) {
		return fmt.Errorf("has a control character in its name, filename or type")
	}
	return nil
}

func (p part) write(w *multipart.Writer, shown bool) error {
	if strings.ContainsFunc(p.name, unicode.IsControl) {
		return fmt.Errorf("has a control character in its name")
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"`, quoteEscaper.Replace(p.name)))
	if p.file {
		h.Set("Content-Disposition", multipart.FileContentDisposition(p.name, p.filename))
		h.Set("Content-Type", p.kind)
	}
	out, err := w.CreatePart(h)
	if err != nil {
		return err
	}
	if shown && p.file {
		p.content = fmt.Appendf(nil, "(%d bytes)", len(p.content))
		if p.attached != nil {
			facts := p.attached.Facts()
			p.content = []byte(facts.Summary())
		}
	}
	_, err = out.Write(p.content)
	return err
}

var quoteEscaper = strings.NewReplacer("\\", "\\\\", `"`, "\\\"")
