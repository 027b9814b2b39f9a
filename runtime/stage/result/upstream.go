package result

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// shapeContent makes the content of another MCP server that of the result. The text is for a tool that called this one.
func (s *Shaper) shapeContent(r *Result, f *hcl.Frame) error {
	m, err := Members(f.Output)
	if err != nil {
		return err
	}
	content, ok := m[s.defaults.content].(*adapters.Content)
	if !ok {
		return errors.New("the content of another server is not content")
	}
	r.HasBlocks, r.HasText = true, true
	if r.Text, err = AppendText(r.Text, m[s.defaults.text]); err != nil {
		return err
	}
	var leftOut int
	r.Blocks, leftOut = s.appendUpstream(r.Blocks, content, f)
	r.Received.LeftOut += leftOut
	return nil
}

const wrongForm = "the call succeeded, but its result has the wrong form: "

// formError returns why a value has another form than its type says. It reports false for one that has not.
func formError(v any) (*value.FormError, bool) {
	lazy, ok := v.(value.LazyJSON)
	if !ok {
		return nil, false
	}
	_, err := lazy.Value()
	return errors.AsType[*value.FormError](err)
}

// joinViolations returns the first violations as one line.
func joinViolations(violations []schema.Violation) string {
	const most = 5
	var all []string
	for _, v := range violations[:min(len(violations), most)] {
		all = append(all, v.String())
	}
	return strings.Join(all, "; ")
}

// appendUpstream appends the blocks of another server as an array. All texts together are truncated as one text is, and
// the texts after the limit are left out. Data with a secret is left out and counted: without the secret it is no data.
func (w *Writer) appendUpstream(dst []byte, c *adapters.Content, f *hcl.Frame) (out []byte, leftOut int) {
	safe := NewRedactor(w.Scrubber, f.Detect)
	texts, size := make([][]byte, len(c.Blocks)), 0
	hasSecret := make([]bool, len(c.Blocks))
	for i := range c.Blocks {
		if b := &c.Blocks[i]; b.IsText() {
			texts[i] = safe.Bytes([]byte(b.Text))
			size += len(texts[i])
		} else if hasSecret[i] = w.Scrubber.Text(b.Data) != b.Data; hasSecret[i] {
			leftOut++
		}
	}
	dst, left, first := append(dst, '['), w.MaxText, true
	begin := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	notices := c.Notices[:len(c.Notices):len(c.Notices)]
	if leftOut > 0 {
		notices = append(notices, fmt.Sprintf("Left out of the answer: %d × data with a secret.", leftOut))
	}
	if size > w.MaxText {
		notices = append(notices, fmt.Sprintf("Truncated: %s of %s of text are shown. %s", hcl.Size(w.MaxText),
			hcl.Size(size), w.Hint))
	}
	for i := range c.Blocks {
		b, text := &c.Blocks[i], texts[i]
		if hasSecret[i] {
			continue
		}
		if b.IsText() && len(text) > left {
			if left <= 0 {
				continue
			}
			text = text[:CutBefore(text, left)]
			left = len(text) // what comes after a text that is cut is left out
		}
		left -= len(text)
		begin()
		dst = b.AppendJSON(dst, enclose(text, c.Delimiter), safe.Text)
	}
	if len(notices) > 0 {
		begin()
		notice := adapters.ContentBlock{Kind: adapters.ContentText}
		dst = notice.AppendJSON(dst, []byte("["+strings.Join(notices, " ")+"]"), w.Scrubber.Text)
	}
	return append(dst, ']'), leftOut
}

// enclose returns a text between two lines with a delimiter; the text itself without a delimiter.
func enclose(text []byte, delimiter string) []byte {
	if delimiter == "" {
		return text
	}
	return fmt.Appendf(nil, "[begin of an answer of %s]\n%s\n[end of the answer of %[1]s]", delimiter, text)
}

// appendSource appends the members of the metadata of a result that say which servers it is from, and what was taken
// out of their answers. Each ends with a comma.
func (w *Writer) appendSource(dst []byte, r adapters.Received) []byte {
	if w.Source == "" {
		return dst
	}
	dst = append(value.AppendString(append(dst, `"hatchel/source":`...), w.Source), ',')
	for _, m := range [...]struct {
		name string
		n    int
	}{{"hidden", r.Hidden}, {"leftOut", r.LeftOut}} {
		if m.n > 0 {
			dst = append(append(append(dst, `"hatchel/`...), m.name...), `":`...)
			dst = append(strconv.AppendInt(dst, int64(m.n), 10), ',')
		}
	}
	return dst
}
