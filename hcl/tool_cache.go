package hcl

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// ResultCache is the cache block of a read-only tool.
type ResultCache struct {
	TTL    time.Duration
	Key    *Expr // the cache key; nil for all inputs
	Public bool  // callers share results
}

func (m *ResultCache) spec() decode.Spec {
	return decode.Spec{
		decode.PositiveDuration(&m.TTL, "ttl", "How long a result is cached.").Require(),
		decode.Attr(&m.Key, "key",
			"The values that the result depends on, as in [input.region, input.day]. By default all inputs."),
		decode.BoolChoice(&m.Public, "scope",
			`"private" caches the results of each caller separately, "public" shares them between callers.`,
			"private", "public").DefaultDoc("private"),
	}
}

// cacheField declares the cache block.
func (t *toolDecoder) cacheField() decode.Field {
	return decode.Field{Name: "cache",
		Doc: "Caches the results of a read-only tool. Concurrent calls with the same key share one " +
			"execution. Failures are not " +
			"cached.", NestedSpec: func() decode.Spec { return (&ResultCache{}).spec() }, DecodeBlock: t.decodeCache}
}

func (t *toolDecoder) decodeCache(d *decode.Decoder, b *hclsyntax.Block) {
	m := &ResultCache{}
	t.tool.Cache = m
	reads := t.deps.callerSpecific()
	d.Deps.Caller = false
	d.Body(b, m.spec())
	behalf := slices.ContainsFunc(t.deps.connections,
		func(c *Connection) bool { return c.onBehalfOf != (Range{}) })
	switch keyed := d.Deps.Caller; {
	case !m.Public:
	case behalf:
		d.Errorf(b.DefRange(), "Contradictory cache scope", "scope = \"public\" shares results between callers, but "+
			"this tool uses a connection on behalf of the caller. Write scope = \"private\".")
	case t.deps.masksByCaller() != "":
		d.Errorf(b.DefRange(), "Contradictory cache scope", "scope = \"public\" shares results between callers, but "+
			"mask %q shows some of them more than others. Write scope = \"private\".", t.deps.masksByCaller())
	case keyed && len(t.calls) == 0:
	case reads && !keyed:
		d.Errorf(b.DefRange(), "Contradictory cache scope", "scope = \"public\" shares results between callers, but "+
			"this tool reads caller. Write scope = \"private\", or a key, as in key = [caller.groups].")
	case len(t.calls) > 0:
		d.Errorf(b.DefRange(), "Contradictory cache scope", "scope = \"public\" shares results between callers, but "+
			"this tool calls other tools, which may read caller. Write scope = \"private\".")
	}
}

// checkCacheable reports tools whose results cannot be cached.
func (t *toolDecoder) checkCacheable() {
	if t.tool.Cache == nil {
		return
	}
	d, at := t.dec, t.blockRange("cache")
	switch {
	case !t.tool.ReadOnly && t.readOnly == nil && slices.ContainsFunc(t.tool.Steps,
		func(s *Step) bool { return s.Backend.Effects.unknown }):
	case !t.tool.ReadOnly:
		d.Diags.Errorf(at, "Results cannot be cached", "This tool may change something, so its results cannot be "+
			"cached. Write read_only = true if it changes nothing.")
	case t.tool.Task != nil:
		d.Diags.Errorf(at, "Results cannot be cached",
			"The calls of this tool become tasks, which are not cached. Remove task or cache.")
	case len(t.askKeys) > 0:
		d.Diags.Errorf(at, "Results cannot be cached",
			"This tool asks the client, so its results cannot be shared between clients.")
	}
}
