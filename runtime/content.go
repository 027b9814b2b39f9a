package runtime

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// content encodes the content blocks, those whose condition holds, in written order; the text comes first when there is one too.
func (p *Program) content(c *call) error {
	dst := append(c.reply.blocks, '[')
	if p.tool.Text != nil {
		text, err := p.tool.Text.Append(nil, c.frame)
		if err != nil {
			return c.broken(err)
		}
		dst = p.appendTextBlock(dst, text)
	}
	for _, block := range p.tool.Content {
		if block.When != nil {
			ok, err := block.When.Eval(c.frame, c.frame.Output)
			if err != nil {
				return c.broken(err)
			}
			if !ok {
				continue
			}
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = p.appendBlock(dst, block, c.frame); err != nil {
			return c.broken(err)
		}
	}
	c.reply.blocks = p.generation.scrubber.json(append(dst, ']'))
	return nil
}

func (r *routine) appendTextBlock(dst, text []byte) []byte {
	text = cut(r.generation.scrubber.text(text), r.maxText(), r.narrow)
	return append(value.AppendString(append(dst, `{"type":"text","text":`...), string(text)), '}')
}

// appendBlock appends one block. Its kinds are those of the block content of the language.
func (r *routine) appendBlock(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	var text []byte
	if b.Text != nil {
		var err error
		if text, err = b.Text.Append(nil, f); err != nil {
			return dst, err
		}
	}
	uri, err := rendered(b.URI, f)
	if err != nil {
		return dst, err
	}
	name, err := rendered(b.Name, f)
	if err != nil {
		return dst, err
	}
	switch b.Kind {
	case "text":
		dst = r.appendTextBlock(dst, text)
	case "link":
		dst, err = appendLink(dst, b, f, uri, name)
	case "resource":
		dst, err = r.appendEmbedded(dst, b, f, uri, text)
	default:
		var data string
		data, err = encoded(b.Data, f)
		dst = value.AppendString(append(append(append(dst, `{"type":"`...), b.Kind...), `","data":`...), data)
		dst = append(value.AppendString(append(dst, `,"mimeType":`...), b.MimeType), '}')
	}
	if err != nil || b.Annotations == nil {
		return dst, err
	}
	dst, err = appendContentAnnotations(dst[:len(dst)-1], b.Annotations, f)
	return append(dst, '}'), err
}

// appendLink appends a link to a resource.
func appendLink(dst []byte, b *hcl.Content, f *hcl.Frame, uri, name string) ([]byte, error) {
	title, err := rendered(b.Title, f)
	if err != nil {
		return dst, err
	}
	var note []byte
	if b.Note != nil {
		if note, err = b.Note.Append(nil, f); err != nil {
			return dst, err
		}
	}
	dst = value.AppendString(append(dst, `{"type":"resource_link","uri":`...), uri)
	dst = value.AppendString(append(dst, `,"name":`...), name)
	dst = appendMember(appendMember(dst, "title", title), "description", string(note))
	dst = appendMember(dst, "mimeType", b.MimeType)
	if b.Size > 0 {
		dst = strconv.AppendInt(append(dst, `,"size":`...), int64(b.Size), 10)
	}
	return append(dst, '}'), nil
}

// appendEmbedded appends a resource that is sent along: a text, or data.
func (r *routine) appendEmbedded(dst []byte, b *hcl.Content, f *hcl.Frame, uri string, text []byte) ([]byte, error) {
	dst = value.AppendString(append(dst, `{"type":"resource","resource":{"uri":`...), uri)
	dst = appendMember(dst, "mimeType", b.MimeType)
	if b.Data == nil {
		text = cut(r.generation.scrubber.text(text), r.maxText(), r.narrow)
		return append(value.AppendString(append(dst, `,"text":`...), string(text)), "}}"...), nil
	}
	data, err := encoded(b.Data, f)
	return append(value.AppendString(append(dst, `,"blob":`...), data), "}}"...), err
}

// appendContentAnnotations appends for whom something is, as a member; nil says nothing.
func appendContentAnnotations(dst []byte, a *hcl.Annotations, f *hcl.Frame) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	modified, err := rendered(a.LastModified, f)
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

func rendered(t *hcl.Text, f *hcl.Frame) (string, error) {
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

// encoded is data in base64.
func encoded(e *hcl.Expr, f *hcl.Frame) (string, error) {
	v, err := dataOf(e, f)
	if raw, ok := v.(value.Bytes); ok {
		return base64.StdEncoding.EncodeToString(raw), err
	}
	text, _ := v.(string)
	return text, err
}

// dataOf is data: bytes, or a text that is base64.
func dataOf(e *hcl.Expr, f *hcl.Frame) (any, error) {
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
