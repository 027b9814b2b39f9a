package runtime

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// shapeContent encodes the content blocks, those whose condition holds, in written order; the text comes first when there is one too.
func (p *Program) shapeContent(c *call) error {
	dst := append(c.reply.blocks, '[')
	if p.tool.Text != nil {
		text, err := p.tool.Text.Append(nil, c.frame)
		if err != nil {
			return c.evalError(err)
		}
		dst = p.appendTextBlock(dst, text)
	}
	for _, block := range p.tool.Content {
		if ok, err := evalCondition(block.When, c.frame); err != nil {
			return c.evalError(err)
		} else if !ok {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = p.appendBlock(dst, block, c.frame); err != nil {
			return c.evalError(err)
		}
	}
	c.reply.blocks = p.generation.scrubber.json(append(dst, ']'))
	return nil
}

func (r *operation) appendTextBlock(dst, text []byte) []byte {
	return append(value.AppendString(append(dst, `{"type":"text","text":`...), r.showText(text)), '}')
}

// showText is a text as a model receives it: without secrets, and not too much of it.
func (r *operation) showText(text []byte) string {
	return string(r.truncate(r.generation.scrubber.text(text), r.truncationHint))
}

// appendBlock appends one block. Its kinds are those of the block content of the language.
func (r *operation) appendBlock(dst []byte, b *hcl.Content, f *hcl.Frame) (_ []byte, err error) {
	switch b.Kind {
	case "text":
		var text []byte
		text, err = appendTemplate(b.Text, f)
		dst = r.appendTextBlock(dst, text)
	case "link":
		dst, err = appendLink(dst, b, f)
	case "resource":
		dst, err = r.appendEmbedded(dst, b, f)
	default:
		dst, err = appendMedia(dst, b, f)
	}
	if err != nil || b.Annotations == nil {
		return dst, err
	}
	dst, err = appendContentAnnotations(dst[:len(dst)-1], b.Annotations, f)
	return append(dst, '}'), err
}

// appendMedia appends an image or a sound.
func appendMedia(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	data, err := evalBase64(b.Data, f)
	dst = value.AppendString(append(append(append(dst, `{"type":"`...), b.Kind...), `","data":`...), data)
	return append(value.AppendString(append(dst, `,"mimeType":`...), b.MimeType), '}'), err
}

// appendLink appends a link to a resource.
func appendLink(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	uri, err := renderText(b.URI, f)
	if err != nil {
		return dst, err
	}
	name, err := renderText(b.Name, f)
	if err != nil {
		return dst, err
	}
	title, err := renderText(b.Title, f)
	if err != nil {
		return dst, err
	}
	dst = value.AppendString(append(dst, `{"type":"resource_link","uri":`...), uri)
	dst = value.AppendString(append(dst, `,"name":`...), name)
	dst = appendMember(dst, "title", title)
	note, err := appendTemplate(b.Description, f)
	dst = appendMember(dst, "description", string(note))
	dst = appendMember(dst, "mimeType", b.MimeType)
	if b.Size > 0 {
		dst = strconv.AppendInt(append(dst, `,"size":`...), int64(b.Size), 10)
	}
	return append(dst, '}'), err
}

// appendEmbedded appends a resource that is sent along: a text, or data.
func (r *operation) appendEmbedded(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	uri, err := renderText(b.URI, f)
	if err != nil {
		return dst, err
	}
	dst = value.AppendString(append(dst, `{"type":"resource","resource":{"uri":`...), uri)
	dst = appendMember(dst, "mimeType", b.MimeType)
	if b.Data == nil {
		text, err := appendTemplate(b.Text, f)
		return append(value.AppendString(append(dst, `,"text":`...), r.showText(text)), "}}"...), err
	}
	data, err := evalBase64(b.Data, f)
	return append(value.AppendString(append(dst, `,"blob":`...), data), "}}"...), err
}

// appendContentAnnotations appends for whom something is, as a member; nil says nothing.
func appendContentAnnotations(dst []byte, a *hcl.Annotations, f *hcl.Frame) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	modified, err := renderText(a.LastModified, f)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"annotations":{`...)
	from := len(dst)
	for i, who := range a.Audience {
		if i == 0 {
			dst = append(dst, `,"audience":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, who)
	}
	if len(a.Audience) > 0 {
		dst = append(dst, ']')
	}
	if a.Priority != nil {
		dst = strconv.AppendFloat(append(dst, `,"priority":`...), *a.Priority, 'f', -1, 64)
	}
	dst = appendMember(dst, "lastModified", modified)
	if len(dst) > from {
		dst = append(dst[:from], dst[from+1:]...) // the first comma
	}
	return append(dst, '}'), nil
}

// appendTemplate and rendered are what the author has written with its values in place; empty for nothing.
func appendTemplate(m *hcl.TextTemplate, f *hcl.Frame) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return m.Append(nil, f)
}

func renderText(t *hcl.StringExpr, f *hcl.Frame) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.Render(f)
}

func appendMember(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return value.AppendString(append(append(append(dst, ",\""...), key...), "\":"...), text)
}

// evalBase64 is data in base64.
func evalBase64(e *hcl.Expr, f *hcl.Frame) (string, error) {
	v, err := evalData(e, f)
	if raw, ok := v.(value.Bytes); ok {
		return base64.StdEncoding.EncodeToString(raw), err
	}
	text, _ := v.(string)
	return text, err
}

// evalData is data: bytes, or a text that is base64.
func evalData(e *hcl.Expr, f *hcl.Frame) (any, error) {
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case value.Bytes:
		return v, nil
	case string:
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			return nil, &adapters.Fault{Message: "the data is neither bytes nor base64"}
		}
		return v, nil
	}
	return nil, fmt.Errorf("the data must be bytes or base64, and it is a %s", value.Kind(v))
}
