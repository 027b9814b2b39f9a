package result

import (
	"encoding/base64"
	"strconv"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

// AppendBlock appends one content block of the protocol.
func (w *Writer) AppendBlock(dst []byte, b *hcl.Content, f *hcl.Frame) (_ []byte, err error) {
	switch b.Kind {
	case "text":
		var text []byte
		text, err = renderTemplate(b.Text, f)
		dst = w.appendTextBlock(dst, text)
	case "link":
		dst, err = appendLink(dst, b, f)
	case "resource":
		dst, err = w.appendEmbedded(dst, b, f)
	default:
		dst, err = appendMedia(dst, b, f)
	}
	if err != nil || b.Annotations == nil {
		return dst, err
	}
	dst, err = AppendAnnotations(dst[:len(dst)-1], b.Annotations, f)
	return append(dst, '}'), err
}

func (w *Writer) appendTextBlock(dst, text []byte) []byte {
	return append(value.AppendString(append(dst, `{"type":"text","text":`...), w.modelText(text)), '}')
}

// appendMedia appends an image or audio.
func appendMedia(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	data, err := evalBase64(b.Data, f)
	dst = value.AppendString(append(append(append(dst, `{"type":"`...), b.Kind...), `","data":`...), data)
	return append(value.AppendString(append(dst, `,"mimeType":`...), b.MimeType), '}'), err
}

// appendLink appends a link to a resource.
func appendLink(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	uri, err := renderExpr(b.URI, f)
	if err != nil {
		return dst, err
	}
	name, err := renderExpr(b.Name, f)
	if err != nil {
		return dst, err
	}
	title, err := renderExpr(b.Title, f)
	if err != nil {
		return dst, err
	}
	dst = value.AppendString(append(dst, `{"type":"resource_link","uri":`...), uri)
	dst = value.AppendString(append(dst, `,"name":`...), name)
	dst = AppendMember(dst, "title", title)
	note, err := renderTemplate(b.Description, f)
	dst = AppendMember(dst, "description", string(note))
	dst = AppendMember(dst, "mimeType", b.MimeType)
	if b.Size > 0 {
		dst = strconv.AppendInt(append(dst, `,"size":`...), int64(b.Size), 10)
	}
	return append(dst, '}'), err
}

// appendEmbedded appends an embedded resource: text or data.
func (w *Writer) appendEmbedded(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	uri, err := renderExpr(b.URI, f)
	if err != nil {
		return dst, err
	}
	dst = value.AppendString(append(dst, `{"type":"resource","resource":{"uri":`...), uri)
	dst = AppendMember(dst, "mimeType", b.MimeType)
	if b.Data == nil {
		text, err := renderTemplate(b.Text, f)
		return append(value.AppendString(append(dst, `,"text":`...), w.modelText(text)), "}}"...), err
	}
	data, err := evalBase64(b.Data, f)
	return append(value.AppendString(append(dst, `,"blob":`...), data), "}}"...), err
}

// AppendAnnotations appends the annotations of a content block as a member; nil appends nothing.
func AppendAnnotations(dst []byte, a *hcl.Annotations, f *hcl.Frame) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	modified, err := renderExpr(a.LastModified, f)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"annotations":{`...)
	start := len(dst)
	for i, role := range a.Audience {
		if i == 0 {
			dst = append(dst, `,"audience":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, role)
	}
	if len(a.Audience) > 0 {
		dst = append(dst, ']')
	}
	if a.Priority != nil {
		dst = strconv.AppendFloat(append(dst, `,"priority":`...), *a.Priority, 'f', -1, 64)
	}
	dst = AppendMember(dst, "lastModified", modified)
	if len(dst) > start {
		dst = append(dst[:start], dst[start+1:]...) // the first comma
	}
	return append(dst, '}'), nil
}

// renderTemplate returns the text of a template; nil is empty.
func renderTemplate(m *hcl.TextTemplate, f *hcl.Frame) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return m.Append(nil, f)
}

// renderExpr returns the text of an expression; nil is empty.
func renderExpr(t *hcl.StringExpr, f *hcl.Frame) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.Render(f)
}

// AppendMember appends a comma and a member of an object; an empty text appends nothing.
func AppendMember(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return value.AppendString(append(append(append(dst, ",\""...), key...), "\":"...), text)
}

func evalBase64(e *hcl.Expr, f *hcl.Frame) (string, error) {
	v, err := EvalData(e, f)
	if raw, ok := v.(value.Bytes); ok {
		return base64.StdEncoding.EncodeToString(raw), err
	}
	text, _ := v.(string)
	return text, err
}
