package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// decodeTools decodes the tool blocks: first the inputs of all, so that each can call the others,
// then the rest.
func (l *loader) decodeTools() {
	blocks := l.blocks["tool"]
	decls := make([]*toolDecoder, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := cachedOperation(blocks[i]); w != nil {
			decls[i] = &toolDecoder{tool: w.result.(*Tool), operationDecoder: w}
			return
		}
		decls[i] = l.declareTool(blocks[i])
	})
	byName := make(map[string]*toolDecoder, len(decls))
	for _, t := range decls {
		if l.declare("tool", t.tool.Name, t.block) {
			byName[t.tool.Name] = t
		}
	}
	l.tools = byName
	l.opts.Parallel(len(decls), func(i int) {
		if t := decls[i]; t.cached == nil {
			t.decode()
			t.dropBody()
		}
	})
	for _, t := range decls {
		l.commit(t.operationDecoder)
	}
	l.checkCycles(decls)
	l.warnConfusableNames(byName)
	for _, name := range diag.SortedNames(byName) {
		if t := byName[name]; t.enabled {
			l.config.Tools = append(l.config.Tools, t.tool)
		}
	}
}

// warnConfusableNames warns about names that models would confuse.
func (l *loader) warnConfusableNames(tools map[string]*toolDecoder) {
	seen := make(map[string]string, len(tools))
	separators := strings.NewReplacer("-", "", "_", "", ".", "")
	for _, name := range diag.SortedNames(tools) {
		plain := separators.Replace(strings.ToLower(name))
		if other, ok := seen[plain]; ok {
			l.diags.Warnf(diag.RangeOf(tools[name].block.LabelRanges[0]), "Easily confused names",
				"The tools %q and %q differ only in case or separators; models will confuse them.", other, name)
			continue
		}
		seen[plain] = name
	}
}

// deriveEffects derives the annotations of the tool from its backends, and rejects contradictions.
func (t *toolDecoder) deriveEffects() {
	derived := Effects{ReadOnly: true, Idempotent: true}
	for _, s := range t.tool.Steps {
		f := s.Backend.Effects
		derived.ReadOnly = derived.ReadOnly && f.ReadOnly
		derived.Writes = derived.Writes || f.Writes
		derived.Destructive = derived.Destructive || f.Destructive
		derived.Idempotent = derived.Idempotent && (f.Idempotent || f.ReadOnly)
		derived.OpenWorld = derived.OpenWorld || f.OpenWorld
	}
	pick := func(said *bool, otherwise bool) bool {
		if said != nil {
			return *said
		}
		return otherwise
	}
	t.tool.ReadOnly = pick(t.readOnly, derived.ReadOnly)
	t.tool.Destructive = pick(t.destructive, derived.Destructive) && !(t.tool.ReadOnly && t.destructive == nil)
	t.tool.Idempotent = pick(t.idempotent, derived.Idempotent)
	t.tool.OpenWorld = pick(t.openWorld, derived.OpenWorld)
	switch {
	case t.readOnly != nil && *t.readOnly && derived.Writes:
		t.dec.Errorf(t.attrRange("read_only"), "Contradictory annotation",
			"read_only = true contradicts the backend of this tool, which changes something.")
	case t.tool.ReadOnly && t.tool.Destructive:
		t.dec.Errorf(t.attrRange("destructive"), "Contradictory annotation",
			"A tool cannot be read_only and destructive at once.")
	}
}

// requireReadOnly reports backends that change something in a read-only operation.
func (w *operationDecoder) requireReadOnly(why string) {
	for _, s := range w.op.Steps {
		if changesData(s.Backend, map[*Tool]bool{}) {
			w.dec.Diags.Errorf(s.Backend.Range, "Effect not allowed",
				"%s, so it must not change anything. This %s block does; use a tool for changes.", why, s.Backend.Kind)
		}
	}
}

// changesData reports whether a backend certainly changes something, directly or through called
// tools. Seen holds the visited tools.
func changesData(b *Backend, seen map[*Tool]bool) bool {
	call, ok := b.Config.(*ToolCall)
	if !ok || seen[call.Tool] {
		return b.Effects.Writes
	}
	seen[call.Tool] = true
	return slices.ContainsFunc(call.Tool.Steps, func(s *Step) bool { return changesData(s.Backend, seen) })
}
