package runtime

import (
	"fmt"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
)

// replyBuffers is the memory of one answer. It is reused when the protocol has taken everything it was told to take.
type replyBuffers struct {
	result       []byte // the structured result, encoded
	text         []byte // of the one text block
	blocks       []byte // the content blocks, encoded, when the tool writes them
	note         []byte // a text block behind the text, or empty
	textIsResult bool   // the text is the result
	pendingParts int    // parts that the protocol has still to take
}

var replyPool = sync.Pool{New: func() any { return new(replyBuffers) }}

func borrowReply() *replyBuffers { return replyPool.Get().(*replyBuffers) }

func (r *replyBuffers) release() {
	const most = 1 << 20 // a huge one is left to the collector
	if cap(r.result)+cap(r.text)+cap(r.blocks) > most {
		return
	}
	*r = replyBuffers{result: r.result[:0], text: r.text[:0], blocks: r.blocks[:0], note: r.note[:0]}
	replyPool.Put(r)
}

func (r *replyBuffers) partTaken() {
	if r.pendingParts--; r.pendingParts == 0 {
		r.release()
	}
}

// contentOf and structuredOf are the parts of a reply as the protocol takes them.
type (
	contentOf    replyBuffers
	structuredOf replyBuffers
)

func (r *contentOf) AppendJSON(dst []byte) []byte {
	switch {
	case len(r.blocks) > 0:
		dst = append(dst, r.blocks...)
	case r.textIsResult:
		dst = r.appendTexts(dst, r.result)
	default:
		dst = r.appendTexts(dst, r.text)
	}
	(*replyBuffers)(r).partTaken()
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
	(*replyBuffers)(r).partTaken()
	return dst
}

// maxStructuredFactor is how much larger than the text a structured result may be: it is read by programs, and cannot be cut without becoming
// something else.
const maxStructuredFactor = 4

// encode makes the bytes of the answer: within the limits of what a model receives, and without secrets. A text that is too long is cut, and
// says so. A structured result is sent whole or not at all.
func (p *Program) encode(c *call) (err error) {
	r := c.reply
	limit := p.maxText()
	if c.result.hasValue && (p.defaults.structured || !c.result.hasText) {
		if r.result, err = value.AppendJSON(r.result, c.result.value); err != nil {
			_, err = appendText(nil, c.result.value)
			return c.evalError(err)
		}
		if p.defaults.structured && len(r.result) > maxStructuredFactor*limit {
			return p.tooLargeError(len(r.result))
		}
		r.result = p.generation.scrubber.json(r.result)
	}
	switch s, isText := c.result.value.(string); {
	case c.result.hasBlocks || c.result.hasText || !c.result.hasValue:
	case isText:
		r.text = append(r.text, s...)
	case len(r.result) <= limit:
		r.textIsResult = true
	default:
		r.text = truncateText(append(r.text, r.result...), limit, p.truncationHint) // JSON, which reads from its beginning
	}
	if c.result.partial {
		r.note = append(append(r.note, "[There is more: as many rows or pages were read as are read at most. "...), p.truncationHint+"]"...)
	}
	r.text = p.truncate(p.generation.scrubber.text(r.text), p.truncationHint)
	return nil
}

func (p *Program) tooLargeError(size int) error {
	if p.tool.ReadOnly {
		return &adapters.Fault{Message: fmt.Sprintf("the result of %s is too large to send. %s", hcl.Size(size), p.truncationHint)}
	}
	return &adapters.Fault{Message: fmt.Sprintf("the tool did its work, but the result of %s is too large to send. Do not call it again for the same work", hcl.Size(size))}
}

// outcome is what the protocol sends.
func (p *Program) outcome(c *call, failed *failure.Failure, revision mcp.Revision) mcp.Outcome {
	if failed != nil {
		defer c.reply.release()
		return mcp.Outcome{Content: mcp.Text(c.publicMessage(failed)), IsError: true, Meta: failed.Meta()}
	}
	r := c.reply
	r.pendingParts = 1
	out := mcp.Outcome{Content: (*contentOf)(r)}
	if c.result.hasValue && p.defaults.structured && revision >= mcp.Revision20250618 {
		r.pendingParts = 2
		out.Structured = (*structuredOf)(r)
		if t := p.outputType(); t != nil {
			out.Wrap = !isObject(t)
		} else {
			out.Wrap = len(r.result) == 0 || r.result[0] != '{'
		}
	}
	return out
}
