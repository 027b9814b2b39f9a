package hcl

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
)

// A workDecl is the part of a block being decoded that says what a caller gives and what is done.
type workDecl struct {
	noun   string // of the block: "tool", "prompt", …
	work   *Work
	block  block
	dec    *decoder
	inputs *inputs
	input  *root

	calls   []*toolCallBlock
	results map[string]*member // of the steps so far, by name
	later   map[string]string  // steps, and why they cannot be read before they were done
}

func newWorkDecl(l *loader, b block, noun string, work *Work) *workDecl {
	work.Name, work.Timeout, work.MaxText, work.Range = b.label(0), defaultTimeout, defaultMaxText, at(b.DefRange())
	w := &workDecl{noun: noun, work: work, block: b, dec: l.decoder(b.file), results: map[string]*member{}}
	w.dec.uses = &uses{}
	w.inputs = newInputs(w)
	return w
}

// scope is what can be read before anything was done.
func (w *workDecl) scope() *scope {
	w.input = inputRoot(w.work.Input)
	return w.dec.shared.call.with("input", w.input)
}

// digest is of the block and of everything it refers to.
func (w *workDecl) digest() string {
	var connections []string
	for _, s := range w.work.Steps {
		if s.Backend.Connection != nil {
			connections = append(connections, s.Backend.Connection.Digest)
		}
	}
	return digest(w.dec.shared.source(w.block), w.dec.shared.environment(), strings.Join(connections, " "))
}

func (w *workDecl) attrRange(name string) hclv2.Range {
	if a, ok := w.block.Body.Attributes[name]; ok {
		return a.Expr.Range()
	}
	return w.block.DefRange()
}
