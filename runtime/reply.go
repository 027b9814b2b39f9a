package runtime

import (
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// reply is the memory of one answer. It is reused when the protocol has taken everything it was told to take.
type reply struct {
	result []byte // the structured result, encoded
	text   []byte // of the one text block
	blocks []byte // the content blocks, encoded, when the tool writes them
	note   []byte // a text block behind the text, or empty
	shared bool   // the text is the result
	due    int    // parts that the protocol has still to take
}

var replies = sync.Pool{New: func() any { return new(reply) }}

func borrowReply() *reply { return replies.Get().(*reply) }

func (r *reply) release() {
	const most = 1 << 20 // a huge one is left to the collector
	if cap(r.result)+cap(r.text)+cap(r.blocks) > most {
		return
	}
	*r = reply{result: r.result[:0], text: r.text[:0], blocks: r.blocks[:0], note: r.note[:0]}
	replies.Put(r)
}

func (r *reply) taken() {
	if r.due--; r.due == 0 {
		r.release()
	}
}

// contentOf and structuredOf are the parts of a reply as the protocol takes them.
type (
	contentOf    reply
	structuredOf reply
)

func (r *contentOf) AppendJSON(dst []byte) []byte {
	switch {
	case len(r.blocks) > 0:
		dst = append(dst, r.blocks...)
	case r.shared:
		dst = r.appendTexts(dst, r.result)
	default:
		dst = r.appendTexts(dst, r.text)
	}
	(*reply)(r).taken()
	return dst
}

func (r *contentOf) appendTexts(dst, text []byte) []byte {
	dst = jsonscan.AppendString(append(dst, `[{"type":"text","text":`...), text)
	if len(r.note) > 0 {
		dst = jsonscan.AppendString(append(dst, `},{"type":"text","text":`...), r.note)
	}
	return append(dst, "}]"...)
}

func (r *structuredOf) AppendJSON(dst []byte) []byte {
	dst = append(dst, r.result...)
	(*reply)(r).taken()
	return dst
}

// largestResult is how much larger than the text a structured result may be: it is read by programs, and cannot be cut without becoming
// something else.
const largestResult = 4

// encode makes the bytes of the answer: within the limits of what a model receives, and without secrets. A text that is too long is cut, and
// says so. A structured result is sent whole or not at all.
func (p *Program) encode(c *call) (err error) {
	r := c.reply
	limit := p.maxText()
	if c.answer.valued && (p.defaults.structured || !c.answer.worded) {
		if r.result, err = value.AppendJSON(r.result, c.answer.value); err != nil {
			_, err = appendText(nil, c.answer.value)
			return c.broken(err)
		}
		if p.defaults.structured && len(r.result) > largestResult*limit {
			return p.tooLarge(len(r.result))
		}
		r.result = p.generation.scrubber.json(r.result)
	}
	switch s, isText := c.answer.value.(string); {
	case c.answer.blocks || c.answer.worded || !c.answer.valued:
	case isText:
		r.text = append(r.text, s...)
	case len(r.result) <= limit:
		r.shared = true
	default:
		r.text = cut(append(r.text, r.result...), limit, p.narrow) // JSON, which reads from its beginning
	}
	if c.answer.part {
		r.note = append(append(r.note, "[There is more: as many rows or pages were read as are read at most. "...), p.narrow+"]"...)
	}
	r.text = p.shortened(p.generation.scrubber.text(r.text), p.narrow)
	return nil
}

func (p *Program) tooLarge(size int) error {
	if p.tool.ReadOnly {
		return &adapters.Fault{Message: fmt.Sprintf("the result of %s is too large to send. %s", hcl.Size(size), p.narrow)}
	}
	return &adapters.Fault{Message: fmt.Sprintf("the tool did its work, but the result of %s is too large to send. Do not call it again for the same work", hcl.Size(size))}
}

// outcome is what the protocol sends.
func (p *Program) outcome(c *call, failed *failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.reply.release()
		return mcp.Outcome{Content: mcp.Text(c.told(failed)), IsError: true, Meta: failed.meta()}
	}
	r := c.reply
	r.due = 1
	out := mcp.Outcome{Content: (*contentOf)(r)}
	if c.answer.valued && p.defaults.structured && revision >= mcp.Revision20250618 {
		r.due = 2
		out.Structured = (*structuredOf)(r)
		if t := p.outputType(); t != nil {
			out.Wrap = !isObject(t)
		} else {
			out.Wrap = len(r.result) == 0 || r.result[0] != '{'
		}
	}
	return out
}
