package hcl

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// globals are the declarations that every tool can see: values known at load, types and
// connections. If a reload does not change them, it keeps the previous globals, so that tools of
// unchanged files can be reused.
type globals struct {
	sources      string // digest of all their sources
	partial      bool   // a file could not be read
	variables    map[string]*eval.Member
	secrets      map[string]*eval.Member
	local        map[string]*eval.Member
	types        *lazyTypes
	connections  []*Connection
	masks        []*Mask
	server       Server
	secretValues []string    // the values of all secrets
	secretNames  []string    // of these, such as "secret.token"
	inputsDigest string      // digest of variables, secrets and the environment
	base         *eval.Scope // the scope at load
	call         *eval.Scope // the scope of a call before its first step
	patterns     *functions.Patterns
}

// reuseGlobals takes over the globals of the previous load, or of the last one that could read all files, if they are
// unchanged.
func (l *loader) reuseGlobals() {
	l.inputsDigest = l.environmentDigest()
	parts := []string{l.inputsDigest, l.filesDigest}
	for _, kind := range diag.SortedNames(l.blocks) {
		if _, exposed, _ := findBlockType(kind); exposed {
			continue
		}
		for _, b := range l.blocks[kind] {
			r := b.Range()
			parts = append(parts, r.Filename, fmt.Sprint(r.Start),
				string(b.file.src[r.Start.Byte:b.CloseBraceRange.End.Byte]))
		}
	}
	l.sources, l.globals.partial = eval.HashParts(parts...), l.partial
	l.call = l.base.DuringCall().With("caller", callerRoot()).
		Without("output", "output is the result of the backend, which is not available here. It can be read "+
			"in result, text, content and expect.").
		Without("step", "There are no steps before this one. A later step can read this one as step.<name>.").
		Without("each", "each is the current element of a step or statement with `each = …`, and there is none "+
			"here.").
		Without("error", "error describes a failure and can be read only in the tool's `error` text.")
	for _, before := range []*globals{l.opts.Cache.globals, l.opts.Cache.complete} {
		if before != nil && before.sources == l.sources && before.partial == l.partial {
			l.globals.copyUsage(before)
			l.globals = before
			break
		}
	}
	for _, name := range l.call.Readable() {
		r, _ := l.call.Find(name)
		r.ProgramType() // computed now, because tools are decoded concurrently
	}
}

// members returns the values known at load, by the roots that they belong to.
func (g *globals) members() map[string]map[string]*eval.Member {
	return map[string]map[string]*eval.Member{"var": g.variables, "secret": g.secrets, "local": g.local}
}

// copyUsage copies which declarations this load has used so far.
func (g *globals) copyUsage(to *globals) {
	for root, set := range to.members() {
		for name, m := range g.members()[root] {
			set[name].Used = m.Used
		}
	}
}

// digestValues computes the digest of every value known at load, for the digests of its readers.
func (l *loader) digestValues() {
	for root, set := range l.members() {
		for name, m := range set {
			text, err := value.AppendJSON(nil, m.Value)
			if err != nil { // it holds bytes
				text = fmt.Append(nil, m.Value)
			}
			m.Digest = eval.HashParts(root, name, string(text))
		}
	}
}

// recordBlock records what a block other than a tool, prompt or resource reads, and its digest for
// the report of a load. Values and types count where they are read.
func (l *loader) recordBlock(b sourceBlock, read *eval.Dependencies) {
	if l.again {
		return
	}
	deps := &dependencies{Dependencies: *read}
	l.markUsed(deps)
	l.filesDigest = eval.HashParts(l.filesDigest, read.FilesDigest, read.PinsDigest)
	reads := read.ReadsOf(b.file.name)
	if slices.Contains([]string{"variable", "secret", "locals"}, b.Type) {
		l.config.ValueReads = append(l.config.ValueReads, reads)
	} else if b.Type != "type" {
		name := strings.Join(append([]string{b.Type}, b.Labels...), " ")
		l.addSetting(name, l.blockDigest(b, deps), reads)
		if b.Type != "connection" {
			l.requireValues(name, deps.Members)
		}
	}
}

// addSetting adds a block. Blocks with the same first line, which only on blocks may have, are one setting.
func (l *loader) addSetting(name, digest string, reads *eval.Reads) {
	for i := range l.config.Settings {
		if s := &l.config.Settings[i]; s.Name == name {
			s.Digest, s.Reads = eval.HashParts(s.Digest, digest), append(s.Reads, reads)
			return
		}
	}
	l.config.Settings = append(l.config.Settings, Setting{name, digest, []*eval.Reads{reads}})
}

// valueBlocks returns the blocks that declare values.
func (l *loader) valueBlocks() (blocks []*hclsyntax.Block) {
	for _, kind := range []string{"locals", "variable", "secret"} {
		for _, b := range l.blocks[kind] {
			blocks = append(blocks, b.Block)
		}
	}
	return blocks
}

// blockDigest returns the digest of a block and everything it refers to: values known at load,
// types, files and connections.
func (l *loader) blockDigest(b sourceBlock, u *dependencies) string {
	parts := make([]string, 0, len(u.Members)+len(u.connections)+len(u.Types)+len(u.pins)+3)
	for _, m := range u.Members {
		parts = append(parts, m.Digest)
	}
	for _, c := range u.connections {
		parts = append(parts, c.Kind+" "+c.Name+" "+c.withoutPins)
	}
	for _, m := range u.masks {
		parts = append(parts, "mask "+m.Name+" "+m.Digest)
	}
	for _, p := range u.pins {
		parts = append(parts, "pin "+p.Name+" "+p.Digest)
	}
	for _, name := range u.Types {
		parts = append(parts, l.types.digest(name))
	}
	slices.Sort(parts) // expressions record their reads in any order
	parts = append(slices.Compact(parts), string(b.file.src[b.Range().Start.Byte:b.CloseBraceRange.End.Byte]),
		u.FilesDigest)
	if u.PinsDigest != "" {
		parts = append(parts, u.PinsDigest)
	}
	return eval.HashParts(parts...)
}

// dependencies are the globals that a block reads and the connections that it uses.
type dependencies struct {
	eval.Dependencies
	connections []*Connection
	pins        []*PinnedTool // of these that it calls
	masks       []*Mask       // of outputs of its backends
}

// callerSpecific reports whether the block's behaviour depends on the caller.
func (u *dependencies) callerSpecific() bool {
	return u.Caller || u.masksByCaller() != "" ||
		slices.ContainsFunc(u.connections, func(c *Connection) bool { return c.callerSpecific })
}

// markUsed marks the dependencies of a tool as used.
func (l *loader) markUsed(u *dependencies) {
	for _, m := range u.Members {
		m.Used = true
	}
	for _, c := range u.connections {
		l.used[c] = true
	}
	for _, name := range u.Webhooks {
		l.notified[name] = true
	}
}

// environmentDigest returns the digest of variables, secrets and the environment.
func (g *globals) environmentDigest() string {
	var parts []string
	for _, set := range []map[string]*eval.Member{g.variables, g.secrets} {
		for _, name := range diag.SortedNames(set) {
			parts = append(parts, name, fmt.Sprint(set[name].Value), fmt.Sprint(set[name].Supplied))
		}
	}
	return eval.HashParts(parts...)
}

// variableTypes returns the types that variables declare.
func (g *globals) variableTypes() map[string]*schema.Type {
	types := map[string]*schema.Type{}
	for name, m := range g.variables {
		if m.Type != eval.AnyType {
			types[name] = m.Type
		}
	}
	return types
}

// functionContext returns the context of functions that are computed at load. The files that they
// read become dependencies of deps, or of the globals if deps is nil.
func (l *loader) functionContext(deps *eval.Dependencies) functions.Context {
	fsys := l.fsys
	return functions.Context{Memory: functions.DefaultMemory, Patterns: l.patterns,
		ReadFile: func(name string) ([]byte, error) {
			clean := path.Clean(name)
			if !fs.ValidPath(clean) {
				return nil, fs.ErrInvalid
			}
			b, err := fs.ReadFile(fsys, clean)
			if err == nil {
				l.fileDigests.Store(clean, eval.ContentDigest(b))
			}
			if deps != nil {
				deps.ReadsFiles, deps.FilesDigest = true, eval.HashParts(deps.FilesDigest, clean, string(b))
			} else {
				l.filesDigest = eval.HashParts(l.filesDigest, clean, string(b))
			}
			return b, err
		}}
}

// newGlobals returns empty globals.
func newGlobals() *globals {
	base := &eval.Scope{}
	for _, name := range []string{"input", "output", "step", "each", "caller", "error"} {
		base = base.Without(name, name+" is known only during a call, but this value is needed at load.")
	}
	for _, name := range []string{"var", "secret", "local"} {
		base = base.Without(name, name+" cannot be used here: this value is needed before any other is "+
			"known. Write a constant.")
	}
	return &globals{
		base:      base,
		variables: map[string]*eval.Member{},
		secrets:   map[string]*eval.Member{},
		local:     map[string]*eval.Member{},
		patterns:  new(functions.Patterns),
	}
}

// knownRoot returns a root whose members are all known at load.
func (l *loader) knownRoot(noun string, members map[string]*eval.Member) *eval.Root {
	return &eval.Root{Noun: noun, Members: members, Type: eval.AnyType, Partial: l.partial,
		Value: func(*eval.Frame) (any, error) {
			all := make(map[string]any, len(members))
			for name, m := range members {
				all[name] = m.Value
			}
			return all, nil
		}}
}

// warnUnused warns about unused declarations. It does nothing if there are errors, because an
// invalid block may use them.
func (l *loader) warnUnused() {
	if l.partial || l.diags.HasErrors() {
		return
	}
	for noun, members := range map[string]map[string]*eval.Member{"variable": l.variables, "secret": l.secrets} {
		for _, b := range l.blocks[noun] {
			if m := members[b.Labels[0]]; m != nil && !m.Used {
				l.diags.Warnf(labelRange(b.Block), "Unused "+noun, "The %s %q is never used.", noun, b.Labels[0])
				l.diags.Mark(diag.Unused)
			}
		}
	}
	for _, c := range l.connections {
		if !l.used[c] {
			l.diags.Warnf(c.Range, "Unused connection", "The connection %q is never used.", c.Name)
			l.diags.Mark(diag.Unused)
		}
	}
	for _, w := range l.config.Webhooks {
		if !l.notified[w.Name] {
			l.diags.Warnf(w.Range, "Unused webhook",
				"The webhook %q is never notified. Name it in notify of a task, an approval or an on block.", w.Name)
			l.diags.Mark(diag.Unused)
		}
	}
}

// warnUnusedInputs warns about inputs that are never read.
func (w *operationDecoder) warnUnusedInputs() {
	if w.dec.Diags.HasErrors() {
		return // the invalid part may read them
	}
	for _, m := range w.op.Input.Members {
		r, declared := w.inputs.labelRanges[m.Name]
		if declared && !w.input.Members[m.Name].Used {
			w.dec.Diags.Warnf(r, "Unused "+w.inputs.noun, "The %s %q is never used in this %s.", w.inputs.noun,
				m.Name, w.noun)
			w.dec.Diags.Mark(diag.Unused)
		}
	}
}
