//go:build linux && cgo

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// assembler writes a filter from its end to its beginning, because jumps only lead forward.
// Verdicts and rules that occur several times are written once.
type assembler struct {
	reversed filter
	verdicts map[verdict]label
	rules    map[string]label
}

// label is the position of an instruction, counted from the end of the filter.
type label int

func (a *assembler) emit(instruction unix.SockFilter) label {
	a.reversed = append(a.reversed, instruction)
	return label(len(a.reversed) - 1)
}

// distance is how many instructions a jump passes over that is emitted next.
func (a *assembler) distance(to label) int { return len(a.reversed) - int(to) - 1 }

// branch emits a conditional jump.
func (a *assembler) branch(test uint16, value uint32, holds, fails label) label {
	holds, fails = a.near(holds), a.near(fails)
	return a.emit(unix.SockFilter{
		Code: unix.BPF_JMP | test | unix.BPF_K, K: value,
		Jt: uint8(a.distance(holds)), Jf: uint8(a.distance(fails)),
	})
}

// near returns a label that the two jumps of a branch can reach, which have eight bits for the
// distance.
func (a *assembler) near(to label) label {
	const reach = 254 // one less than the largest distance: the other jump may need an instruction between
	if a.distance(to) <= reach {
		return to
	}
	return a.emit(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(a.distance(to))})
}

func (a *assembler) verdict(v verdict) label {
	at, ok := a.verdicts[v]
	if !ok {
		at = a.emit(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: uint32(v)})
		a.verdicts[v] = at
	}
	return at
}

func (a *assembler) rule(r rule) label {
	if len(r.clauses) == 0 {
		return a.verdict(r.fallback)
	}
	key := r.key()
	at, ok := a.rules[key]
	if !ok {
		for _, c := range r.clauses { // first, so that no verdict lies within the rule
			a.verdict(c.then)
		}
		at = a.verdict(r.fallback)
		for i, c := range slices.Backward(r.clauses) {
			var before []condition
			if i > 0 {
				before = r.clauses[i-1].when
			}
			at = a.clause(c, before, at)
		}
		a.rules[key] = at
	}
	return at
}

// clause emits a clause that another one follows. It loads nothing that the previous clause has
// loaded.
func (a *assembler) clause(c clause, before []condition, next label) label {
	holds := a.verdict(c.then)
	for i, cond := range slices.Backward(c.when) {
		previous := before
		if i > 0 {
			previous = c.when[i-1 : i]
		}
		yes, no := holds, next
		if cond.not {
			yes, no = no, yes
		}
		holds = a.branch(cond.test, cond.value, yes, no)
		if len(previous) == 0 || slices.ContainsFunc(previous, func(p condition) bool {
			return p.offset != cond.offset || p.mask != cond.mask
		}) {
			if cond.mask != 0 {
				a.emit(unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: cond.mask})
			}
			holds = a.emit(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: cond.offset})
		}
	}
	return holds
}

// maxChain is how many ranges are compared one after the other at the leaves of the decision tree.
const maxChain = 3

// tree finds the rule of the number that is loaded, by halving the ranges.
func (a *assembler) tree(ranges []numberRange) label {
	if len(ranges) <= maxChain {
		at := a.verdict(allow)
		for _, r := range slices.Backward(ranges) {
			at = a.match(r, at)
		}
		return at
	}
	middle := len(ranges) / 2
	upper := a.tree(ranges[middle:])
	lower := a.tree(ranges[:middle])
	return a.branch(unix.BPF_JGE, ranges[middle].first, upper, lower)
}

// match emits the comparison of the number with one range.
func (a *assembler) match(r numberRange, next label) label {
	rule := a.rule(r.rule)
	switch {
	case r.first == r.last:
		return a.branch(unix.BPF_JEQ, r.first, rule, next)
	case r.last == ^uint32(0):
		return a.branch(unix.BPF_JGE, r.first, rule, next)
	}
	above := a.branch(unix.BPF_JGE, r.first, rule, a.verdict(allow))
	return a.branch(unix.BPF_JGT, r.last, next, above)
}
