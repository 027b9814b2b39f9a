package limit

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/internal/digest"
)

// Key is what calls are counted under: a tool, or all tools where tool is empty; one caller, or all
// callers where caller is empty.
type Key struct{ tool, caller string }

// String returns the name of the key in the state store. It does not contain the caller's name.
func (k Key) String() string { return digest.Of("pace", k.tool, k.caller).String() }

// Key returns the key under which calls of this caller are counted. The caller is the owner of what
// the call makes or, where nobody is authenticated, its Network.
func (l Limit) Key(caller string) Key {
	if l.rule.Shared {
		return Key{tool: l.tool}
	}
	return Key{l.tool, "of " + caller} // an unknown caller is one caller, too
}

// Network returns what one client has of a network address with or without a port: the IPv4 address,
// or the first 64 bits of the IPv6 address. It is empty for what is no address.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if withPort, notPort := netip.ParseAddrPort(address); notPort == nil {
		ip, err = withPort.Addr(), nil
	}
	if err != nil {
		return ""
	}
	if ip = ip.Unmap(); ip.Is6() {
		prefix, _ := ip.Prefix(64)
		return prefix.String()
	}
	return ip.String()
}

// Usage is what a limit counts under one key.
type Usage struct {
	Tool    string // empty for all tools
	Caller  string // its owner or network; empty for all callers, or an unknown one
	Running int
	Waiting int
	Rule    *hcl.Limit // nil for one that is not declared any more
	// Left is how many calls may begin at once under the rate of Rule; -1 if it has none or cannot be read.
	Left int

	key Key
}

// maxUsage is how much Usage returns.
const maxUsage = 100

// Usage returns what the limits of a configuration count, the most used first, up to 100 of total. It has the keys with
// calls that run or wait and, of the limits with a rate, those that callers share and those that were used in the last
// minute. The rates are read from the state store.
func (l *Limiter) Usage(ctx context.Context, cfg *hcl.Config) (all []Usage, total int) {
	limits, counted := map[string]Limit{}, map[Key]bucket{}
	for _, t := range cfg.Tools {
		for _, limit := range Of(cfg, t) {
			if limits[limit.tool] = limit; limit.rule.Shared && limit.HasRate() {
				counted[limit.Key("")] = bucket{}
			}
		}
	}
	l.mu.Lock()
	for key, b := range l.buckets {
		if b.isBusy() || limits[key.tool].rule != nil && limits[key.tool].HasRate() {
			counted[key] = *b
		}
	}
	l.mu.Unlock()
	for key, b := range counted {
		all = append(all, Usage{
			Tool: strings.TrimPrefix(key.tool, "tool "), Caller: strings.TrimPrefix(key.caller, "of "),
			Running: b.running, Waiting: b.queued + len(b.waiters), Rule: limits[key.tool].rule, Left: -1, key: key,
		})
	}
	slices.SortFunc(all, func(a, b Usage) int {
		more := b.Running + b.Waiting - a.Running - a.Waiting
		return cmp.Or(more, cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Caller, b.Caller))
	})
	total = len(all)
	all = all[:min(total, maxUsage)]
	l.readRates(ctx, all, limits)
	return all, total
}

// readRates sets what is left of the rates, until the first error.
func (l *Limiter) readRates(ctx context.Context, all []Usage, limits map[string]Limit) {
	for i := range all {
		limit := limits[all[i].key.tool]
		if limit.rule == nil || !limit.HasRate() {
			continue
		}
		store, err := l.open(ctx)
		if err != nil {
			return
		}
		left, err := store.Available(ctx, all[i].key.String(), limit.rate())
		if err != nil {
			return
		}
		all[i].Left = left
	}
}
