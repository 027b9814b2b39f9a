package hcl

import "github.com/hashicorp/hcl/v2/hclsyntax"

// A decoded block is what is kept of a tool, a prompt or a resource for the next load: blocks of files in which nothing changed are taken from the load
// before, unless they look at what may have changed elsewhere: tools, or files of the folder.
type decoded struct {
	made    any // *Tool, *Prompt or *Resource
	enabled bool
	spoken  []spoken
	diags   Diagnostics
	uses    *uses
}

// refresh forgets what was decoded under other globals, and reads the syntax again that was dropped then.
func (l *loader) refresh(files []*source) {
	var bare []*source
	for _, f := range files {
		if f.under == l.globals {
			continue
		}
		f.under, f.kept = l.globals, make([]*decoded, f.offers)
		if f.bare {
			bare = append(bare, f)
		}
	}
	whole := make([][]*hclsyntax.Block, len(bare))
	l.opts.Parallel(len(bare), func(i int) { whole[i] = bare[i].whole() })
	again := make(map[*source][]*hclsyntax.Block, len(bare))
	for i, f := range bare {
		again[f] = whole[i]
	}
	for kind, blocks := range l.blocks {
		for i, b := range blocks {
			if topLevel[kind].offered && again[b.file] != nil {
				blocks[i].Block = again[b.file][b.place]
			}
		}
	}
}

// whole reads the syntax of a file again, and returns the blocks that it offers with everything in them.
func (s *source) whole() (offered []*hclsyntax.Block) {
	s.bare = false
	parse(s)
	for _, b := range s.body.Blocks {
		if known, ok := topLevel[b.Type]; ok && known.offered && len(b.Labels) == known.labels {
			offered = append(offered, b)
		}
	}
	return offered
}

// keptWork stands for a block of which the load before has left everything; nil when there is none.
func keptWork(b block) *workDecl {
	if k := b.file.kept[b.place]; k != nil {
		return &workDecl{block: b, spoken: k.spoken, kept: k, enabled: k.enabled}
	}
	return nil
}

// keepable reports whether a decoded block holds for as long as its file and the globals do.
func (w *workDecl) keepable() bool { return len(w.calls) == 0 && !w.dec.uses.files }

// shed drops the syntax of a block that is kept: now, so that memory holds the syntax or the tools of a large folder, and not both.
func (w *workDecl) shed() {
	if w.keepable() {
		w.block.Body = nil
	}
}

// accept takes what a block has found, and keeps it for the next load.
func (l *loader) accept(w *workDecl, made any, tools map[string]*toolDecl) {
	k := w.kept
	if k == nil {
		k = &decoded{made: made, enabled: w.enabled, spoken: w.spoken, diags: w.dec.diags, uses: w.dec.uses}
		if f := w.block.file; w.keepable() {
			f.kept[w.block.place], f.bare = k, true
		}
	}
	l.note(k.uses)
	l.diags = append(l.diags, k.diags...)
	for _, s := range k.spoken {
		if tools[s.name] == nil {
			l.diags = append(l.diags, s.warning)
		}
	}
}
