package hcl

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
)

// ResultCache says that answers of a tool that only reads are kept for a while, and given again.
type ResultCache struct {
	TTL    time.Duration
	Key    *hclexpr.Expr // what the answer depends on; nil for all inputs
	Public bool          // the answers of one caller are given to the others
}

func (m *ResultCache) spec() decode.Spec {
	return decode.Spec{
		decode.PositiveDuration(&m.TTL, "ttl", "How long an answer is kept.").Require(),
		decode.Attr(&m.Key, "key", "What the answer depends on, as in [input.region, input.day]. Without it: all inputs."),
		decode.BoolChoice(&m.Public, "scope", `"private" keeps the answers of every caller apart, "public" gives them to everybody.`, "private", "public").DefaultDoc("private"),
	}
}

// cacheField declares that answers are kept.
func (t *toolDecoder) cacheField() decode.Field {
	return decode.Field{Name: "cache", Doc: "Answers of a tool that only reads are kept for a while and given again. Calls that ask the same at once wait for one of them. Failures are not kept.", NestedSpec: func() decode.Spec { return (&ResultCache{}).spec() }, DecodeBlock: t.decodeCache}
}

func (t *toolDecoder) decodeCache(d *decode.Decoder, b *hclsyntax.Block) {
	m := &ResultCache{}
	t.tool.Cache = m
	reads := t.deps.callerSpecific()
	d.Deps.Caller = false
	d.Body(b.Body, m.spec(), b.DefRange())
	behalf := slices.ContainsFunc(t.deps.connections, func(c *Connection) bool { return c.onBehalfOf != (diag.Range{}) })
	switch keyed := d.Deps.Caller; {
	case !m.Public:
	case behalf:
		d.Errorf(b.DefRange(), "Untrue cache scope", "scope = \"public\" gives every caller what one was answered, and this tool works with a connection in the name of who calls: what one may see another may not. Write scope = \"private\".")
	case keyed && len(t.calls) == 0:
	case reads && !keyed:
		d.Errorf(b.DefRange(), "Untrue cache scope", "scope = \"public\" gives every caller what one was answered, and what this tool does reads caller. Write scope = \"private\", or what the answer depends on, as in key = [caller.groups].")
	case len(t.calls) > 0:
		d.Errorf(b.DefRange(), "Untrue cache scope", "scope = \"public\" gives every caller what one was answered, and this tool calls others, which may read caller. Write scope = \"private\".")
	}
}

// checkCacheable reports answers that cannot be kept.
func (t *toolDecoder) checkCacheable() {
	if t.tool.Cache == nil {
		return
	}
	d, at := t.dec, t.blockRange("cache")
	switch {
	case !t.tool.ReadOnly && t.readOnly == nil && slices.ContainsFunc(t.tool.Steps, func(s *Step) bool { return s.Backend.Effects.unknown }):
	case !t.tool.ReadOnly:
		d.Errorf(at, "Answers cannot be kept", "A call that is answered from the cache does nothing, and this tool may change something. Write read_only = true if it does not.")
	case t.tool.Task != nil:
		d.Errorf(at, "Answers cannot be kept", "The calls of this tool become tasks, and what is kept is answered at once. Leave one of task and cache out.")
	case len(t.askKeys) > 0:
		d.Errorf(at, "Answers cannot be kept", "This tool asks the client, and the answer of one is not another's.")
	}
}
