package hcl

import "slices"

// deriveEffects derives what the tool says of its effects from its backends, and refuses what contradicts them.
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
		t.dec.Errorf(t.attrRange("read_only"), "Untrue annotation", "read_only = true says that nothing changes, and the backend of this tool changes something.")
	case t.tool.ReadOnly && t.tool.Destructive:
		t.dec.Errorf(t.attrRange("destructive"), "Untrue annotation", "A tool cannot be read_only and destructive at once.")
	}
}

// requireReadOnly reports backends that change something where nothing may be changed.
func (w *operationDecoder) requireReadOnly(why string) {
	for _, s := range w.op.Steps {
		if changesData(s.Backend, map[*Tool]bool{}) {
			w.dec.Diags.Errorf(s.Backend.Range, "Effect not allowed", "%s, and it may change nothing. This %s block does: what changes something is a tool.", why, s.Backend.Kind)
		}
	}
}

// changesData reports whether a backend certainly changes something, through the tools that it calls, too. Seen are those that were looked at.
func changesData(b *Backend, seen map[*Tool]bool) bool {
	call, ok := b.Config.(*ToolCall)
	if !ok || seen[call.Tool] {
		return b.Effects.Writes
	}
	seen[call.Tool] = true
	return slices.ContainsFunc(call.Tool.Steps, func(s *Step) bool { return changesData(s.Backend, seen) })
}
