package result

import (
	"bytes"
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/rows"
)

// maxStructuredFactor limits a structured result to a multiple of the maximum text.
const maxStructuredFactor = 4

// Encode encodes the reply to a call within the size limits for a model. A text that is too long is truncated, and a
// list that is too long is cut; any other structured result is sent completely or not at all. Pages, projections and
// formats are steps of it: each result loses its secrets and what its detectors find here, and nowhere else.
func (s *Shaper) Encode(r *Result, input map[string]any) (err error) {
	safe := NewRedactor(s.Scrubber, r.Detect)
	if s.tool.HasTables() {
		r.columns = columnsOf(r.Value)
	}
	if r.Page != nil || r.HasValue && (s.defaults.structured || !r.HasText) {
		if err := s.encodeValue(r, input); err != nil {
			return err
		}
		if err := s.checkDetected(r); err != nil {
			return err
		}
		r.Structured = safe.JSON(r.Structured)
	}
	table := false
	switch text, isText := r.Value.(string); {
	case r.HasBlocks || r.HasText || !r.HasValue:
	case isText && r.Page == nil:
		r.Text = append(r.Text, text...)
	case s.MaxTokens > 0 || s.tool.HasTables() || r.Page != nil:
		if table, err = s.encodeRows(r, input); err != nil {
			return err
		}
	default:
		s.useAsText(r)
	}
	if err := s.checkDetected(r); err != nil {
		return err
	}
	r.Text = s.truncateForModel(safe.Bytes(r.Text))
	s.addNotes(r, table)
	return nil
}

// encodeValue encodes the structured result: the part of it that is on the page, and the members that the call has
// chosen.
func (s *Shaper) encodeValue(r *Result, input map[string]any) (err error) {
	if r.Page == nil {
		if err := s.Project(r, input); err != nil {
			return err
		}
	}
	if r.Structured, err = value.AppendJSON(r.Structured, r.Value); err != nil {
		return failure.AsFault(explainJSON(err))
	}
	if r.Page != nil {
		return s.selectPage(r, input)
	}
	if limit := maxStructuredFactor * s.MaxText; s.defaults.structured && len(r.Structured) > limit {
		size := len(r.Structured)
		if r.Structured = cutList(r.Structured, limit); r.Structured == nil {
			return s.tooLargeError(hcl.Size(size).String(), hcl.Size(limit).String()+", four times max_text")
		}
		r.Cut = &adapters.Cut{Limit: "4 * max_text = " + hcl.Size(limit).String()}
	}
	return nil
}

// checkDetected fails for a result that is too large to be looked through.
func (s *Shaper) checkDetected(r *Result) error {
	if err := r.Detect.CheckSize(r.Size()); err != nil {
		return &adapters.Fault{Message: err.Error(), Change: adapters.ChangeDone}
	}
	return nil
}

// addNotes says how the call goes on, and which limit has cut the result: in the last line of a table, or in a text of
// its own.
func (s *Shaper) addNotes(r *Result, table bool) {
	if table && r.Page != nil && r.Page.cursor != "" {
		noun := "rows"
		if r.Page.Rows == 1 {
			noun = "row"
		}
		r.Text = rows.AppendNotice(r.Text, fmt.Appendf(nil, "%d %s. For the next, call %s with the same arguments "+
			"and cursor = %q", r.Page.Rows, noun, s.tool.Name, r.Page.cursor))
	}
	if r.Cut == nil {
		return
	}
	r.note = fmt.Appendf(r.note, "There is more: %s was reached. %s", r.Cut.Limit, s.Hint)
	if table {
		r.Text = rows.AppendNotice(r.Text, r.note)
		r.noteIsText = true
	}
}

// useAsText makes the structured result the text of the reply.
func (s *Shaper) useAsText(r *Result) {
	if len(r.Structured) <= s.MaxText {
		r.textIsResult = true
		return
	}
	// JSON reads from its beginning
	r.Text = TruncateText(append(r.Text, r.Structured...), s.MaxText, s.Hint)
}

// cutList returns the first elements of an encoded list, as many as fit; nil for any other value, and
// if none fits.
func cutList(list []byte, limit int) []byte {
	s, end := jsonscan.New(list, value.MaxDepth), 0
	if s.Peek() != '[' || s.EnterArray() != nil {
		return nil
	}
	for {
		more, err := s.NextElement()
		if err == nil && more {
			_, err = s.Value()
		}
		switch {
		case err != nil:
			return nil
		case !more || s.Pos() >= limit:
			if end == 0 {
				return nil
			}
			return append(list[:end], ']')
		}
		end = s.Pos()
	}
}

// tooLargeError returns the failure of a result that cannot be cut: its size, and the limit in words.
func (s *Shaper) tooLargeError(size, limit string) error {
	if s.tool.ReadOnly {
		const text = "the result of %s is too large to send: at most %s of the tool. %s"
		return &adapters.Fault{Message: fmt.Sprintf(text, size, limit, s.Hint)}
	}
	const text = "the tool did its work, but the result of %s is too large to send: at most %s " +
		"of the tool. Do not call it again for the same work"
	return &adapters.Fault{Message: fmt.Sprintf(text, size, limit)}
}

// Outcome hands an encoded result to the protocol, which releases its buffers. Apps says that the client shows apps:
// that of a tool with a view needs the structured result whatever the format of the text is.
func (s *Shaper) Outcome(r *Result, revision mcp.Revision, apps bool) mcp.Outcome {
	r.pending = 1
	out := mcp.Outcome{Content: (*contentPart)(r.Buffers)}
	out.Meta = s.EncodeMeta(r)
	if r.Cut != nil {
		out.Truncated = string(r.note)
	}
	structured := s.defaults.structured || apps && s.tool.View != nil && len(r.Structured) > 0
	if r.HasValue && structured && revision >= mcp.Revision20250618 {
		r.pending = 2
		out.Structured = (*structuredPart)(r.Buffers)
		if out.Wrap = !bytes.HasPrefix(r.Structured, []byte{'{'}); s.OutputType() != nil {
			out.Wrap = !IsObject(s.OutputType())
		}
	}
	return out
}

// EncodeMeta returns what programs, which do not read the text, are told of a result: the limit that has cut it, the
// failures after which the call went on, and what the author declares. It is nil for nothing.
func (w *Writer) EncodeMeta(r *Result) mcp.Appender {
	if r.Cut == nil && r.Failures.Failed == 0 && w.Source == "" && len(r.Meta) <= len("{}") {
		return nil
	}
	b := appendMembers(w.appendSource([]byte{'{'}, r.Received), NewRedactor(w.Scrubber, r.Detect).JSON(r.Meta))
	if r.Cut != nil {
		b = append(value.AppendString(append(b, `"truncated":`...), r.Cut.Limit), ',')
	}
	if f := r.Failures; f.Failed > 0 {
		b = fmt.Appendf(b, `"outcome":"partial","failed":%d,"of":%d,`, f.Failed, f.Of)
		for _, m := range [...]struct{ name, text string }{
			{"failedStep", f.Step}, {"failedKey", f.Key}, {"error", f.Error},
		} {
			if m.text != "" {
				b = append(append(append(b, '"'), m.name...), `":`...)
				b = append(value.AppendString(b, w.Message(m.text, r.Detect)), ',')
			}
		}
	}
	b[len(b)-1] = '}'
	return mcp.Raw(b)
}

// Meta is what a reader of an encoded result needs of its metadata.
type Meta struct {
	Outcome string // "partial", or nothing
	Failed  int
	Of      int

	FailedStep, FailedKey, Error string // of the first failure
}

// String says in words which part of a call has failed; nothing for another call.
func (m Meta) String() string {
	if m.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d failed: %s", m.Failed, m.Of, m.Error)
}

// IsObject reports whether every value of a type is an object, as revisions up to 2025-11-25
// require of structured results.
func IsObject(t *schema.Type) bool {
	return (t.Kind == schema.Object || t.Kind == schema.Map) && !t.Nullable
}

// AsText returns the result as one text, for a tool that called this one.
func (r *Result) AsText() (string, error) {
	if r.HasText || !r.HasValue {
		return string(r.Text), nil
	}
	b, err := AppendText(nil, r.Value)
	if err != nil {
		return "", failure.AsFault(err)
	}
	return string(b), nil
}

// CountedRows returns how many rows the result is, if it is a list whose length is known without decoding it; else 0.
func (r *Result) CountedRows() int { return CountRows(r.Value) }

// CountRows is Result.CountedRows of a value.
func CountRows(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case interface{ Rows() int }: // of a query
		return v.Rows()
	}
	return 0
}

// Rows returns how many rows the result is, if it is a list; else 0.
func (r *Result) Rows() int {
	if lazy, ok := r.Value.(value.LazyJSON); ok && r.CountedRows() == 0 {
		v, _ := lazy.Value()
		rows, _ := v.([]any)
		return len(rows)
	}
	return r.CountedRows()
}

// Buffers is the memory of one reply. It is reused once the protocol has taken all of its parts.
type Buffers struct {
	Structured []byte // the structured result, encoded
	Text       []byte // of the one text block
	Blocks     []byte // the content blocks, or the members of a document, encoded

	note         []byte // a text block after the text, without its brackets; empty for none
	noteIsText   bool   // the note is the last line of the text
	textIsResult bool   // the text block is the structured result
	pending      int    // parts that the protocol has not taken
}

var buffersPool = sync.Pool{New: func() any { return new(Buffers) }}

// BorrowBuffers returns empty buffers. The caller hands them to the protocol, or calls Release.
func BorrowBuffers() *Buffers { return buffersPool.Get().(*Buffers) }

// Release lets another call use the buffers.
func (b *Buffers) Release() {
	const maxPooled = 1 << 20 // larger ones are left to the garbage collector
	if cap(b.Structured)+cap(b.Text)+cap(b.Blocks) > maxPooled {
		return
	}
	*b = Buffers{Structured: b.Structured[:0], Text: b.Text[:0], Blocks: b.Blocks[:0], note: b.note[:0]}
	buffersPool.Put(b)
}

// Size returns how many bytes the reply has.
func (b *Buffers) Size() int { return len(b.Structured) + len(b.Text) + len(b.Blocks) }

func (b *Buffers) partTaken() {
	if b.pending--; b.pending == 0 {
		b.Release()
	}
}

// DocumentMembers hands the blocks to the protocol as the members of a result.
func (b *Buffers) DocumentMembers() mcp.Appender {
	b.pending = 1
	return (*documentMembers)(b)
}

// The parts of a reply as the protocol takes them.
type (
	contentPart     Buffers
	structuredPart  Buffers
	documentMembers Buffers
)

// AppendJSON implements mcp.Appender.
func (p *contentPart) AppendJSON(dst []byte) []byte {
	switch {
	case len(p.Blocks) > 0:
		dst = p.appendNote(append(dst, p.Blocks[:len(p.Blocks)-1]...), len(p.Blocks) > len("[]"))
	case p.textIsResult:
		dst = p.appendTexts(dst, p.Structured)
	default:
		dst = p.appendTexts(dst, p.Text)
	}
	(*Buffers)(p).partTaken()
	return dst
}

func (p *contentPart) appendTexts(dst, text []byte) []byte {
	dst = jsonscan.AppendString(append(dst, `[{"type":"text","text":`...), text)
	return p.appendNote(append(dst, '}'), true)
}

// appendNote appends the note, after a comma if something precedes it, and ends the array.
func (p *contentPart) appendNote(dst []byte, follows bool) []byte {
	if len(p.note) > 0 && !p.noteIsText {
		if follows {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendStringContent(append(dst, `{"type":"text","text":"[`...), p.note)
		dst = append(dst, `]"}`...)
	}
	return append(dst, ']')
}

// AppendJSON implements mcp.Appender.
func (p *structuredPart) AppendJSON(dst []byte) []byte {
	dst = append(dst, p.Structured...)
	(*Buffers)(p).partTaken()
	return dst
}

// AppendJSON implements mcp.Appender.
func (p *documentMembers) AppendJSON(dst []byte) []byte {
	dst = append(dst, p.Blocks...)
	(*Buffers)(p).partTaken()
	return dst
}
