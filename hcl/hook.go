package hcl

import (
	"slices"
	"strings"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eventkind"
	"hatchel/hcl/schema"
)

// Hook is one on block: the webhooks that events of a type are sent to.
type Hook struct {
	ID     string // digest of the block; the same in all processes with this hook
	Event  eventkind.Kind
	Tools  []string   // names or patterns of the tools; empty for all events of the type
	When   *Condition // over event; nil for all
	Notify []string   // the webhooks
	Limit  Rate       // of deliveries to each webhook
	Range  Range
}

// AppliesToTool reports whether the hook is about events of the tool.
func (h *Hook) AppliesToTool(name string) bool { return len(h.Tools) == 0 || matchesAny(h.Tools, name) }

// decodeHooks decodes the on blocks, after the tools that they can name.
func (l *loader) decodeHooks() {
	known := l.collectExposedNames()
	seen := map[string]Range{}
	l.eachBlock("on", func(d *decode.Decoder, b sourceBlock) {
		h := &Hook{Event: eventkind.Parse(b.Labels[0]), Range: headerRange(b.Block)}
		names := hookEvents()
		if !slices.Contains(names, b.Labels[0]) {
			d.Errorf(b.LabelRanges[0], "Unknown event", "There is no event %q.%s", b.Labels[0],
				diag.SuggestOr(b.Labels[0], names, diag.ListAre(names)))
		}
		d.Scope = l.base.DuringCall().With("event", eventRoot(h.Event))
		d.Body(b.Block, h.spec(known))
		_, hasTool := h.Event.Declare().Find("tool")
		if tools, ok := b.Body.Attributes["tools"]; ok && !hasTool && h.Event != eventkind.None {
			d.Errorf(tools.NameRange, "Does not apply here", "tools selects events by their tool, and an event %q has "+
				"none.", h.Event)
		}
		h.ID = h.digest()
		if first, twice := seen[h.ID]; twice && !d.Diags.HasErrors() {
			d.Errorf(b.DefRange(), "Duplicate hook", "The same block is at %s:%d already.", first.File,
				first.Start.Line)
			d.Diags.Relate(first)
		}
		seen[h.ID] = h.Range
		l.warnOfPartial(d, h)
		l.config.Hooks = append(l.config.Hooks, h)
	})
}

func (h *Hook) spec(known exposedNames) decode.Spec {
	h.Limit = Rate{1, time.Minute}
	return decode.Spec{
		known.namesField(&h.Tools, "tools", "The tools whose events are sent: names, or patterns with * for any "+
			"characters. By default those of all tools.").Check(h.checkTools),
		decode.Attr(&h.When, "when", "Which events are sent: an expression over event, as in \"event.outcome in "+
			"['failed', 'partial']\". By default all events are sent. An event for which the expression fails is not "+
			"sent; the first failure is logged."),
		webhooksField(&h.Notify, "notify", "The webhooks to which the events are sent.").Require().
			Check(h.checkNotify),
		decode.Custom("limit", "rate", "How often each webhook is notified at most, as in \"10/m\", per second (s), "+
			"minute (m), hour (h) or day (d). With \"10/m\" there is one delivery in each 6 seconds. The events "+
			"between two deliveries are sent as one: the body has the first event, and its member count has their "+
			"number. Processes that share a state store share the limit.", h.Limit.decode).DefaultDoc(`"1/m"`),
	}
}

func (h *Hook) checkTools(d *decode.Decoder, r Range) {
	if len(h.Tools) == 0 {
		d.Diags.Errorf(r, "Empty list", "The hook is about no tool. Remove tools for the events of all tools.")
	}
}

func (h *Hook) checkNotify(d *decode.Decoder, r Range) {
	if len(h.Notify) == 0 {
		d.Diags.Errorf(r, "Empty list", "The hook notifies nobody. Name a webhook, as in notify = [\"ops\"].")
	}
}

// digest returns the digest of the block: two hooks with one digest do the same.
func (h *Hook) digest() string {
	when := ""
	if h.When != nil && h.When.Type() != nil {
		when = h.When.Digest()
	}
	return eval.HashParts(h.Event.String(), strings.Join(h.Tools, " "), when, strings.Join(h.Notify, " "),
		h.Limit.String())
}

// hookEvents returns the names of the events that hooks can be about.
func hookEvents() []string {
	return slices.DeleteFunc(eventkind.Names(), func(name string) bool { return name == eventkind.Gap.String() })
}

// eventRoot returns the root event for events of a kind. Nothing is known of the members of None.
func eventRoot(k eventkind.Kind) *eval.Root {
	of := func(f *eval.Frame) any { return f.Event }
	if k == eventkind.None {
		return callRoot("event", eval.AnyType, of)
	}
	var members []*schema.Member
	for _, field := range slices.Concat(k.Declare().Fields, eventkind.Common) {
		m := &schema.Member{Name: field.Name, Type: eventFieldType(field), Optional: field.Optional}
		members = append(members, m)
	}
	return callRoot("event", schema.ObjectOf(members...), of)
}

// eventFieldType returns the type of a member of an event.
func eventFieldType(field eventkind.Field) *schema.Type {
	if field.Name == "outcome" {
		return enumOf(eventkind.Outcomes...)
	}
	switch field.Type {
	case "string":
		return eval.StringType
	case "integer":
		return eval.IntegerType
	case "number":
		return eval.NumberType
	case "boolean":
		return eval.BoolType
	case "list":
		return schema.ListOf(eval.AnyType)
	case "object":
		return &schema.Type{Kind: schema.Map, Elem: eval.AnyType}
	}
	return eval.AnyType
}
