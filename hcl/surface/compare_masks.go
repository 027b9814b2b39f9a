package surface

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// masks compares the masks. What shows a caller more than before is a widening, and what shows less breaks those who
// read it.
func (c *comparison) masks() {
	for _, name := range diag.SortedNames(c.old.Masks) {
		if c.new.Masks[name] == nil {
			c.object = "mask " + name
			c.add(Widening, "mask", c.object, "mask removed: callers see %s",
				c.old.Masks[name].what())
		}
	}
	for _, name := range diag.SortedNames(c.new.Masks) {
		c.object = "mask " + name
		b := c.new.Masks[name]
		if a := c.old.Masks[name]; a != nil {
			c.mask(a, b)
		} else {
			c.restrict("mask", c.object, "mask added: %s", b.what())
		}
	}
}

func (c *comparison) mask(a, b *Mask) {
	for _, list := range []struct {
		name     string
		old, new []string
	}{{"members", a.Members, b.Members}, {"detect", a.Detect, b.Detect},
		{"connections", a.Connections, b.Connections}, {"tools", a.Tools, b.Tools},
		{"prompts", a.Prompts, b.Prompts}, {"resources", a.Resources, b.Resources}} {
		at := c.object + "." + list.name
		isTarget := list.name == "tools" || list.name == "prompts" || list.name == "resources"
		narrowsAll := list.name == "connections" && len(list.old) == 0 && len(list.new) > 0 ||
			isTarget && a.appliesToAll() && !b.appliesToAll()
		widensToAll := list.name == "connections" && len(list.old) > 0 && len(list.new) == 0 ||
			isTarget && !a.appliesToAll() && b.appliesToAll()
		switch {
		case slices.Equal(list.old, list.new):
		case narrowsAll:
			c.add(Widening, "mask", at, "masks only %s now: %s", list.name, strings.Join(list.new, ", "))
		case widensToAll:
			c.restrict("mask", at, "masks all %s now", list.name)
		default:
			for _, name := range missing(list.old, list.new) {
				c.add(Widening, "mask", at, "no longer masked: %s", name)
			}
			for _, name := range missing(list.new, list.old) {
				c.restrict("mask", at, "masked now: %s", name)
			}
		}
	}
	c.maskRule(a.Unless, b.Unless)
	if a.With != b.With && a.With != "" && b.With != "" {
		class := Widening
		if eval.MaskWith(b.With).IsStricter(eval.MaskWith(a.With)) {
			class = Breaking
		}
		c.add(class, "mask", c.object+".with", "with %s → %s", a.With, b.With)
	}
	if a.Key != b.Key {
		c.add(Behaviour, "mask", c.object+".key", "key %s → %s: the same value has another hash", a.Key, b.Key)
	}
	for _, name := range missing(b.RevealTo, a.RevealTo) {
		c.add(Widening, "mask", c.object+".reveal_to", "tools may send unmasked values to %s", name)
	}
	for _, name := range missing(a.RevealTo, b.RevealTo) {
		c.add(Compatible, "mask", c.object+".reveal_to", "tools may no longer send unmasked values to %s", name)
	}
}

// maskedMembers compares the masked members of the answer of a tool. One that is masked no more, or is gone, may be
// shown under another name.
func (c *comparison) maskedMembers(at string, old, new []string) {
	for _, member := range missing(old, new) {
		c.add(Widening, "mask", at, "no longer a masked member: %s", member)
	}
	for _, member := range missing(new, old) {
		c.add(Behaviour, "mask", at, "masked member: %s", member)
	}
}

// maskRule compares who sees the values. Without a rule nobody does.
func (c *comparison) maskRule(old, new *eval.Formula) {
	if old.Equal(new) {
		return
	}
	stricter, weaker := compareConditions(old, new, true)
	if old == nil || new == nil {
		stricter, weaker = new == nil, old == nil
	}
	at := c.object + ".unless"
	if stricter {
		c.restrict("mask", at, "unless %s → %s", orNothing(old), orNothing(new))
	}
	if weaker {
		c.add(Widening, "mask", at, "unless %s → %s", orNothing(old), orNothing(new))
	}
}

// what names what the mask masks.
func (m *Mask) what() string { return strings.Join(append(slices.Clone(m.Members), m.Detect...), ", ") }

func (m *Mask) appliesToAll() bool { return len(m.Tools)+len(m.Prompts)+len(m.Resources) == 0 }
