package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

// ListFilter removes from a list what a caller may not call, as far as that can be decided before
// there is a call. It is safe for concurrent use.
type ListFilter struct {
	rules     map[string]*Rules // of the entries that may be hidden, by name
	perCaller bool
	digest    string
	onError   func(context.Context, Decision)

	mu       sync.Mutex
	source   *mcp.List            // what the filtered lists are made of; guarded by mu
	filtered map[string]*mcp.List // by what is hidden, one bit for each entry; guarded by mu
}

// maxFilteredLists is how many filtered lists are kept. Each takes some bytes for every entry.
const maxFilteredLists = 256

// NewListFilter returns the filter of a list whose entries these rules are about, by name; nil when
// it hides nothing from anybody. OnError is called once for each rule that could not be evaluated.
func NewListFilter(rules map[string]*Rules, onError func(context.Context, Decision)) *ListFilter {
	f := &ListFilter{rules: map[string]*Rules{}, onError: onError}
	var digests []string
	for name, rs := range rules {
		if !rs.DecidesBeforeInputs() {
			continue
		}
		f.rules[name] = rs
		readsCaller := func(r *Rule) bool { return r.Condition.Reads("caller") && !r.readsInputs }
		f.perCaller = f.perCaller || slices.ContainsFunc(rs.All(), readsCaller)
		digests = append(digests, name+" "+rs.digest)
	}
	if len(f.rules) == 0 {
		return nil
	}
	slices.Sort(digests)
	sum := sha256.New()
	for _, d := range digests {
		sum.Write([]byte(d + "\n"))
	}
	f.digest = hex.EncodeToString(sum.Sum(nil)[:16])
	return f
}

// PerCaller reports whether what is hidden depends on the caller.
func (f *ListFilter) PerCaller() bool { return f.perCaller }

// Digest is equal for filters that hide the same.
func (f *ListFilter) Digest() string { return f.digest }

// Filter returns what the caller of the frame sees of a list.
func (f *ListFilter) Filter(ctx context.Context, frame *hcl.Frame, all *mcp.List) *mcp.List {
	e := NewListEvaluation(frame)
	names, some := all.Names(), false
	hidden := make([]byte, (len(names)+7)/8)
	for i, name := range names {
		if rs := f.rules[name]; rs != nil && f.isHidden(ctx, rs, e) {
			hidden[i/8] |= 1 << (i % 8)
			some = true
		}
	}
	if !some {
		return all
	}
	return f.without(all, hidden)
}

func (f *ListFilter) isHidden(ctx context.Context, rs *Rules, e *Evaluation) bool {
	d := rs.Decide(e)
	if d.Cause != nil && ctx.Err() == nil && !d.rules[0].logged.Swap(true) {
		f.onError(ctx, d)
	}
	return d.Verdict == Denied
}

// without returns a list without the hidden entries. It makes each list once.
func (f *ListFilter) without(all *mcp.List, hidden []byte) *mcp.List {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.source != all || len(f.filtered) >= maxFilteredLists {
		f.source, f.filtered = all, map[string]*mcp.List{}
	}
	list := f.filtered[string(hidden)]
	if list == nil {
		list = all.Only(func(i int) bool { return hidden[i/8]&(1<<(i%8)) == 0 })
		f.filtered[string(hidden)] = list
	}
	return list
}
