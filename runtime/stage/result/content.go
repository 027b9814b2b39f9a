package result

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/internal/tokens"
	"hatchel/runtime/edge/mcp"
)

// AppendBlock appends one content block of the protocol.
func (w *Writer) AppendBlock(dst []byte, b *hcl.Content, f *hcl.Frame) ([]byte, error) {
	r := renderer{frame: f, safe: NewRedactor(w.Scrubber, f.Detect), scrubber: w.Scrubber}
	switch b.Kind {
	case "text":
		dst = w.appendTextBlock(dst, r.text(b.Text), f)
	case "link":
		dst = value.AppendString(append(dst, `{"type":"resource_link","uri":`...), r.expr(b.URI))
		dst = value.AppendString(append(dst, `,"name":`...), r.expr(b.Name))
		dst = mcp.AppendMember(dst, "title", r.expr(b.Title))
		dst = mcp.AppendMember(dst, "description", r.safe.Text(string(r.text(b.Description))))
		dst = mcp.AppendMember(dst, "mimeType", b.MimeType)
		if b.Size > 0 {
			dst = strconv.AppendInt(append(dst, `,"size":`...), int64(b.Size), 10)
		}
		dst = append(dst, '}')
	case "resource":
		dst = value.AppendString(append(dst, `{"type":"resource","resource":{"uri":`...), r.expr(b.URI))
		dst = mcp.AppendMember(dst, "mimeType", b.MimeType)
		if b.Data == nil {
			dst = value.AppendString(append(dst, `,"text":`...), w.modelText(r.text(b.Text), f))
		} else {
			dst = value.AppendString(append(dst, `,"blob":`...), r.base64(b.Data))
		}
		dst = append(dst, "}}"...)
	default: // an image or audio
		dst = append(append(append(dst, `{"type":"`...), b.Kind...), `","data":`...)
		dst = append(value.AppendString(dst, r.base64(b.Data)), `,"mimeType":`...)
		dst = value.AppendString(dst, b.MimeType)
		dst = append(dst, '}')
	}
	if b.Annotations == nil || r.err != nil {
		return dst, r.err
	}
	dst, err := AppendAnnotations(dst[:len(dst)-1], b.Annotations, w.Scrubber, f)
	return append(dst, '}'), err
}

func (w *Writer) appendTextBlock(dst, text []byte, f *hcl.Frame) []byte {
	return append(value.AppendString(append(dst, `{"type":"text","text":`...), w.modelText(text, f)), '}')
}

// AppendAnnotations appends the annotations of a content block as a member; nil appends nothing. The frame is nil for
// what is in a list.
func AppendAnnotations(dst []byte, a *hcl.Annotations, s *scrub.Scrubber, f *hcl.Frame) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	var members []byte
	if len(a.Audience) > 0 {
		members = mcp.AppendStrings([]byte(`,"audience":`), a.Audience)
	}
	if a.Priority != nil {
		members = strconv.AppendFloat(append(members, `,"priority":`...), *a.Priority, 'f', -1, 64)
	}
	r := renderer{frame: f, safe: NewRedactor(s, nil), scrubber: s}
	if f != nil {
		r.safe = NewRedactor(s, f.Detect)
	}
	members = mcp.AppendMember(members, "lastModified", r.expr(a.LastModified))
	members = bytes.TrimPrefix(members, []byte{','})
	return append(append(append(dst, `,"annotations":{`...), members...), '}'), r.err
}

// renderer renders parts of a content block until one fails. What is not declared is empty.
type renderer struct {
	frame    *hcl.Frame
	safe     Redactor
	scrubber *scrub.Scrubber // of data, in which nothing is detected
	err      error           // of the part that failed
}

func (r *renderer) text(t *hcl.TextTemplate) (text []byte) {
	if t != nil && r.err == nil {
		text, r.err = t.Append(nil, r.frame)
	}
	return text
}

// expr returns a text without secrets.
func (r *renderer) expr(e *hcl.StringExpr) (text string) {
	if e != nil && r.err == nil {
		text, r.err = e.Render(r.frame)
	}
	return r.safe.Text(text)
}

// base64 returns data as it is sent, without secrets: they are removed before the data is encoded. What it looks like
// afterwards is no secret.
func (r *renderer) base64(e *hcl.Expr) string {
	if r.err != nil {
		return ""
	}
	var v any
	v, r.err = EvalData(e, r.frame)
	raw, _ := v.(value.Bytes)
	text, ok := v.(string)
	if ok {
		raw, _ = base64.StdEncoding.DecodeString(text) // EvalData has checked it
	}
	hidden := r.scrubber.Bytes(raw)
	if ok && bytes.Equal(hidden, raw) {
		return text
	}
	return base64.StdEncoding.EncodeToString(hidden)
}

// Writer writes the texts and content blocks of one operation: without secrets, and truncated.
type Writer struct {
	Scrubber  *scrub.Scrubber
	MaxText   int    // maximum bytes of a text for a model
	MaxTokens int    // maximum tokens of a text for a model, estimated; 0 for none
	Hint      string // a sentence that explains how to get a smaller result
	KeepEnd   bool   // texts may be logs, so truncation keeps the end, too
	Source    string // the connections to other MCP servers whose answers the result is made of; empty for none
}

// NewWriter returns the Writer of an operation. Kind is "tool", "prompt", ….
func NewWriter(kind string, op *hcl.Operation, scrubber *scrub.Scrubber) *Writer {
	return &Writer{
		Scrubber: scrubber, MaxText: int(op.MaxText), Hint: Hint(kind, op), Source: strings.Join(op.Upstreams(), ", "),
	}
}

// Truncate shortens a text to the maximum for a model. It keeps the end of a log, because errors
// are there.
func (w *Writer) Truncate(text []byte, hint string) []byte {
	if w.KeepEnd {
		return truncateMiddle(text, w.MaxText, hint)
	}
	return TruncateText(text, w.MaxText, hint)
}

// Message returns a message as it leaves the process: without secrets and what d detects, and truncated without a hint.
func (w *Writer) Message(text string, d *eval.Detector) string {
	return string(w.Truncate(NewRedactor(w.Scrubber, d).Bytes([]byte(text)), ""))
}

// modelText returns a text as the model of a caller receives it.
func (w *Writer) modelText(text []byte, f *hcl.Frame) string {
	return string(w.truncateForModel(NewRedactor(w.Scrubber, f.Detect).Bytes(text)))
}

// truncateForModel shortens a text of a result, which is no message, to the maximum of bytes and of tokens.
func (w *Writer) truncateForModel(text []byte) []byte {
	text = w.Truncate(text, w.Hint)
	if w.MaxTokens == 0 || w.fits(text, len(text)) {
		return text
	}
	limit := sort.Search(len(text), func(n int) bool { return !w.fits(text[:n], n) })
	return TruncateText(text, max(limit-1, 0), w.Hint)
}

// fits reports whether a text has at most limit bytes, and the maximum of tokens. A byte is at most one token.
func (w *Writer) fits(text []byte, limit int) bool {
	if len(text) > limit {
		return false
	}
	return w.MaxTokens == 0 || len(text) <= w.MaxTokens || tokens.Estimate(string(text)) <= w.MaxTokens
}

// AppendMessages appends an array of those messages whose condition is true: one message of the
// protocol for every content block.
func (w *Writer) AppendMessages(dst []byte, list []*hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	dst = append(dst, '[')
	first := len(dst)
	for _, m := range list {
		inner, elements := *f, []hcl.Each{{}}
		if m.Each != nil {
			var err error
			if elements, _, err = EvalElements(m.Each, f); err != nil {
				return dst, err
			}
		}
		for i := range elements {
			if m.Each != nil {
				inner.Each = &elements[i]
			}
			ok, err := EvalCondition(m.When, &inner)
			if ok && err == nil {
				dst, err = w.appendBlocks(dst, m.Role, m.Content, &inner)
			}
			if err == nil {
				err = CheckDocumentSize(len(dst) - first)
			}
			if err != nil {
				return dst, err
			}
		}
	}
	return append(dst, ']'), nil
}

// appendBlocks appends the content blocks whose condition is true to an array: each as a message of
// the role, if there is one.
func (w *Writer) appendBlocks(dst []byte, role string, blocks []*hcl.Content, f *hcl.Frame) ([]byte, error) {
	for _, block := range blocks {
		if ok, err := EvalCondition(block.When, f); err != nil {
			return dst, err
		} else if !ok {
			continue
		}
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		if role != "" {
			dst = append(value.AppendString(append(dst, `{"role":`...), role), `,"content":`...)
		}
		var err error
		if dst, err = w.AppendBlock(dst, block, f); err != nil {
			return dst, err
		}
		if role != "" {
			dst = append(dst, '}')
		}
	}
	return dst, nil
}

// maxDocumentSize is the maximum size of a prompt or a resource in bytes. They are sent completely
// or not at all.
const maxDocumentSize = 16 << 20

// CheckDocumentSize fails for a document that is too large to send.
func CheckDocumentSize(size int) error {
	if size <= maxDocumentSize {
		return nil
	}
	const text = "it holds %s, and no more than %s can be sent"
	return &adapters.Fault{Message: fmt.Sprintf(text, hcl.Size(size), hcl.Size(maxDocumentSize))}
}
