package result

import (
	"sync"

	"hatchel/hcl/jsonscan"
	"hatchel/runtime/mcp"
)

// Buffers is the memory of one reply. It is reused once the protocol has taken all of its parts.
type Buffers struct {
	Structured []byte // the structured result, encoded
	Text       []byte // of the one text block
	Blocks     []byte // the content blocks, or the members of a document, encoded

	note         []byte // a text block after the text; empty for none
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
		dst = append(dst, p.Blocks...)
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
	if len(p.note) > 0 {
		dst = jsonscan.AppendString(append(dst, `},{"type":"text","text":`...), p.note)
	}
	return append(dst, "}]"...)
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
