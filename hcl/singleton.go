package hcl

// single decodes the one block of a kind, in which nothing of a call can be read; a second one is reported.
func (l *loader) single(kind string, spec Spec) (d *decoder, b block, ok bool) {
	return l.singleIn(kind, l.base, spec)
}

// singleIn is single for a block in which a scope can be read.
func (l *loader) singleIn(kind string, in *scope, spec Spec) (d *decoder, b block, ok bool) {
	for i, b := range l.blocks[kind] {
		if i > 0 {
			first := l.blocks[kind][0]
			l.errorf(b.DefRange(), "Duplicate "+kind, "There is one %s block, and it is at %s:%d.", kind, first.file.name, first.DefRange().Start.Line)
		}
	}
	if len(l.blocks[kind]) == 0 {
		return nil, block{}, false
	}
	b = l.blocks[kind][0]
	d = l.decoder(b.file)
	d.scope = in
	d.body(b.Body, spec, b.DefRange())
	return d, b, true
}
