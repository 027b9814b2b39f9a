package http

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"
	"unicode"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

func (b *body) encodeMultipart(f *hcl.Frame, r *compiledRequest) (contentType string, err error) {
	entries, err := b.Multipart.Eval(f)
	if err != nil {
		return "", err
	}
	w := &multipartWriter{dryRun: r.dryRun}
	w.parts = multipart.NewWriter(&w.text)
	for _, e := range entries {
		v, err := resolveUnlessFile(e.Value)
		if err != nil {
			return "", err
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, v := range list {
			p, err := newPart(e.Name, v)
			if err == nil && b.Multipart.Secret(e.Name) {
				r.secrets = append(r.secrets, string(p.content))
				if r.dryRun {
					p.content = []byte(hcl.Hidden)
				}
			}
			if err == nil {
				err = w.write(p)
			}
			if err != nil {
				return "", fmt.Errorf("the part %s %w", e.Name, err)
			}
		}
	}
	_ = w.parts.Close() // a buffer accepts every write
	if r.body = w.text.Bytes(); w.stream.pieces != nil {
		w.stream.addText(w.text.String())
		r.body, r.stream = nil, &w.stream
	}
	return w.parts.FormDataContentType(), nil
}

// part is one part of a multipart body.
type part struct {
	name, filename, contentType string

	isFile  bool
	content []byte
	upload  value.File // replaces content
}

func newPart(name string, v any) (part, error) {
	p := part{name: name, filename: name, contentType: "application/octet-stream"}
	v, err := resolveUnlessFile(v)
	if err != nil {
		return p, err
	}
	switch v := v.(type) {
	case value.File:
		p.setUpload(v)
		return p, nil
	case value.Bytes:
		p.isFile, p.content = true, v
		return p, nil
	case map[string]any:
		p.isFile = true
		return p, p.setMembers(v)
	}
	text, err := adapters.TextOf(v)
	p.content = []byte(text)
	return p, err
}

func (p *part) setUpload(f value.File) {
	info := f.Info()
	p.isFile, p.upload, p.filename, p.contentType = true, f, info.Name, info.Type
}

// setMembers reads { content, filename, type }.
func (p *part) setMembers(m map[string]any) error {
	for _, key := range value.Keys(m) {
		v, err := resolveUnlessFile(m[key])
		if err != nil {
			return err
		}
		text, isText := v.(string)
		raw, isBytes := v.(value.Bytes)
		file, isFile := v.(value.File)
		switch {
		case v == nil:
		case key == "content" && isFile:
			p.setUpload(file)
		case key == "content" && isBytes:
			p.content = raw
		case key == "content" && isText:
			p.content = []byte(text)
			p.contentType = "text/plain; charset=utf-8"
		case key == "filename" && isText:
			p.filename = text
		case key == "type" && isText:
		default:
			return fmt.Errorf("is a file: { content, filename, type } with text or bytes as content and strings as "+
				"the other members; %q is %s", key, value.Kind(v))
		}
	}
	if contentType, ok := m["type"].(string); ok {
		p.contentType = contentType
	}
	if p.content == nil && p.upload == nil {
		return errors.New("is a file without content: write { content = …, filename = … }")
	}
	if strings.ContainsFunc(p.filename+p.contentType, unicode.IsControl) {
		return errors.New("has a control character in its filename or type")
	}
	return nil
}

// multipartWriter collects text, and moves it to stream before each uploaded file.
type multipartWriter struct {
	text   bytes.Buffer
	parts  *multipart.Writer // writes to text
	stream bodyStream
	dryRun bool
}

func (w *multipartWriter) write(p part) error {
	if strings.ContainsFunc(p.name, unicode.IsControl) {
		return errors.New("has a control character in its name")
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"`, quoteEscaper.Replace(p.name)))
	if p.isFile {
		h.Set("Content-Disposition", multipart.FileContentDisposition(p.name, p.filename))
		h.Set("Content-Type", p.contentType)
	}
	out, _ := w.parts.CreatePart(h)
	switch {
	case w.dryRun && p.upload != nil:
		info := p.upload.Info()
		p.content = []byte(info.Summary())
	case w.dryRun && p.isFile:
		p.content = fmt.Appendf(nil, "(%d bytes)", len(p.content))
	case p.upload != nil:
		w.stream.addText(w.text.String())
		w.stream.addFile(p.upload)
		w.text.Reset()
		return nil
	}
	_, err := out.Write(p.content)
	return err
}

var quoteEscaper = strings.NewReplacer("\\", "\\\\", `"`, "\\\"")
