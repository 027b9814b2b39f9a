package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// listFilter makes of a list what each caller sees of it: what they may not call, as far as that can be told before there is a call, is not in it. A nil guard hides nothing.
type listFilter struct {
	generation *Generation
	rules      map[string]*rules // of the entries that may be hidden, by name
	perCaller  bool              // what is hidden depends on who asks
	identity   string            // differs when something else decides

	mu       sync.Mutex
	source   *mcp.List            // what the lists are made of; guarded by mu
	filtered map[string]*mcp.List // by what is hidden, a bit for each entry; guarded by mu
}

// maxFilteredLists is how many ways to hide something of one list are remembered. Each takes some bytes for every entry.
const maxFilteredLists = 256

// newListFilter is nil when nothing is hidden from anybody.
func newListFilter(g *Generation, routines []*operation) *listFilter {
	out := &listFilter{generation: g, rules: map[string]*rules{}}
	var identities []string
	for _, r := range routines {
		if !r.rules.hidesFromLists() {
			continue
		}
		out.rules[r.decl.Name] = r.rules
		out.perCaller = out.perCaller || slices.ContainsFunc(r.rules.all(), func(r *rule) bool { return r.condition.Reads("caller") && !r.readsInputs })
		identities = append(identities, r.decl.Name+" "+r.rules.digest)
	}
	if len(out.rules) == 0 {
		return nil
	}
	slices.Sort(identities)
	sum := sha256.New()
	for _, i := range identities {
		sum.Write([]byte(i + "\n"))
	}
	out.identity = hex.EncodeToString(sum.Sum(nil)[:16])
	return out
}

// listFor is what the caller sees of the list all.
func (d *listFilter) listFor(ctx context.Context, caller *mcp.Caller, all *mcp.List) *mcp.List {
	frame := hcl.NewFrame(ctx, d.generation.build.Dir, d.generation.build.Now)
	frame.Caller = callerRoot(caller)
	a := &evaluation{frame: frame, beforeInputs: true, sharedResults: map[*rule]bool{}}
	names, some := all.Names(), false
	hidden := make([]byte, (len(names)+7)/8)
	for i, name := range names {
		if rs := d.rules[name]; rs != nil && d.isHidden(ctx, rs, a) {
			hidden[i/8] |= 1 << (i % 8)
			some = true
		}
	}
	if !some {
		return all
	}
	return d.withoutHidden(all, hidden)
}

func (d *listFilter) isHidden(ctx context.Context, rs *rules, a *evaluation) bool {
	said := rs.decide(a)
	if said.cause != nil && ctx.Err() == nil && !said.rules[0].reported.Swap(true) {
		g := d.generation
		g.log().LogAttrs(ctx, slog.LevelWarn, "a rule cannot be computed, so it hides what it is about", slog.String("rule", said.rule), slog.String("cause", g.scrubber.Text(said.cause.Error())))
	}
	return said.verdict == denied
}

// withoutHidden is the list all without what is hidden, made once.
func (d *listFilter) withoutHidden(all *mcp.List, hidden []byte) *mcp.List {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.source != all || len(d.filtered) >= maxFilteredLists {
		d.source, d.filtered = all, map[string]*mcp.List{}
	}
	list := d.filtered[string(hidden)]
	if list == nil {
		list = all.Only(func(i int) bool { return hidden[i/8]&(1<<(i%8)) == 0 })
		d.filtered[string(hidden)] = list
	}
	return list
}
