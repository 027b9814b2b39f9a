package limit

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"hatchel/runtime/digest"
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

// Usage is how many calls a limit counts under one key.
type Usage struct {
	Tool    string // empty for all tools
	Caller  string // its owner or network; empty for all callers, or an unknown one
	Running int
	Waiting int
}

// Usage returns what is running or waiting, the most first.
func (l *Limiter) Usage() (all []Usage) {
	l.mu.Lock()
	for key, b := range l.buckets {
		if waiting := b.queued + len(b.waiters); b.running+waiting > 0 {
			all = append(all, Usage{key.tool, strings.TrimPrefix(key.caller, "of "), b.running, waiting})
		}
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b Usage) int {
		more := b.Running + b.Waiting - a.Running - a.Waiting
		return cmp.Or(more, cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Caller, b.Caller))
	})
	return all
}
