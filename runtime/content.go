package runtime

import (
	"encoding/base64"
	"fmt"

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
		return r.appendTextBlock(dst, text), nil
	case "link":
		dst = value.AppendString(append(dst, `{"type":"resource_link","uri":`...), uri)
		dst = value.AppendString(append(dst, `,"name":`...), name)
		return append(appendMember(dst, "mimeType", b.MimeType), '}'), nil
	case "resource":
		dst = value.AppendString(append(dst, `{"type":"resource","resource":{"uri":`...), uri)
		dst = appendMember(dst, "mimeType", b.MimeType)
		if b.Data == nil {
			text = cut(r.generation.scrubber.text(text), r.maxText(), r.narrow)
			return append(value.AppendString(append(dst, `,"text":`...), string(text)), "}}"...), nil
		}
		data, err := encoded(b.Data, f)
		return append(value.AppendString(append(dst, `,"blob":`...), data), "}}"...), err
	}
	data, err := encoded(b.Data, f)
	dst = value.AppendString(append(append(append(dst, `{"type":"`...), b.Kind...), `","data":`...), data)
	return append(value.AppendString(append(dst, `,"mimeType":`...), b.MimeType), '}'), err
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

// encoded is data in base64: bytes are encoded, a text must be base64 already.
func encoded(e *hcl.Expr, f *hcl.Frame) (string, error) {
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case value.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case string:
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			return "", &adapters.Fault{Message: "the data of a content block is neither bytes nor base64"}
		}
		return v, nil
	}
	return "", fmt.Errorf("the data of a content block must be bytes or base64, and it is a %s", value.Kind(v))
}
