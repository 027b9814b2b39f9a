package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
)

// decodeSingleton decodes the one block of a kind, in which nothing of a call can be read; a second one is reported.
func (l *loader) decodeSingleton(kind string, spec decode.Spec) (d *decode.Decoder, b sourceBlock, ok bool) {
	return l.decodeSingletonIn(kind, l.base, spec)
}

// decodeSingletonIn is single for a block in which a scope can be read.
func (l *loader) decodeSingletonIn(kind string, in *eval.Scope, spec decode.Spec) (d *decode.Decoder, b sourceBlock, ok bool) {
	for i, b := range l.blocks[kind] {
		if i > 0 {
			first := l.blocks[kind][0]
			l.errorf(b.DefRange(), "Duplicate "+kind, "There is one %s block, and it is at %s:%d.", kind, first.file.name, first.DefRange().Start.Line)
		}
	}
	if len(l.blocks[kind]) == 0 {
		return nil, sourceBlock{}, false
	}
	b = l.blocks[kind][0]
	d = l.newDecoder(b.file)
	d.Scope = in
	d.Body(b.Body, spec, b.DefRange())
	return d, b, true
}
