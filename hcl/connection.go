package hcl

import (
	"cmp"
	"slices"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// Connection is one decoded connection block.
type Connection struct {
	Kind   string
	Name   string
	Config any
	Limits ConnectionLimits
	Digest string // of the whole block, so that an unchanged connection keeps its pool
	Range  Range

	ranges         map[any]Range   // of its arguments, by field
	missing        []*eval.Missing // values that it reads and that are not there
	callerSpecific bool            // its requests depend on the caller
	onBehalfOf     Range           // of the argument that makes it act on behalf of the caller; empty for none
}

// Incomplete reports whether the connection needs a value that is missing or was not read, so that it cannot be
// opened.
func (c *Connection) Incomplete() bool { return len(c.missing) > 0 }

// decodeConnections decodes the connection blocks.
func (l *loader) decodeConnections() {
	l.eachBlock("connection", func(d *decode.Decoder, b sourceBlock) {
		kind, ok := l.connectionKind(b)
		name := b.Labels[1]
		if !ok || !l.declare("connection", kind.Name+" "+name, b) {
			return
		}
		config, spec := kind.New()
		d.Scope = l.base.DuringCall().With("caller", callerRoot())
		conn := &Connection{Kind: kind.Name, Name: name, Config: config, Range: headerRange(b.Block)}
		d.Body(b.Block, decode.Join(spec, conn.Limits.spec()))
		conn.callerSpecific, conn.missing = d.Deps.Caller, missingIn(d.Deps.Members)
		conn.ranges = d.Ranges
		if named, ok := config.(OnBehalf); ok && named.OnBehalf() != nil {
			conn.callerSpecific, conn.onBehalfOf = true, d.Ranges[named.OnBehalf()]
		}
		conn.Digest = l.blockDigest(b, &dependencies{Dependencies: *d.Deps})
		if checked, ok := config.(Checker); ok && !d.Diags.HasErrors() && !d.MissingValue && !l.readsTestSecret(d) {
			d.Diags = append(d.Diags, diag.ToDiagnostics(checked.Check(), "Invalid connection", conn.Range,
				d.Ranges)...)
		}
		l.globals.connections = append(l.globals.connections, conn)
	})
	slices.SortFunc(l.globals.connections, func(a, b *Connection) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// checkTokenExchange rejects connections that act on behalf of the caller if no caller can have a
// token.
func (l *loader) checkTokenExchange() {
	for _, b := range l.blocks["auth"] {
		if decode.FindBlock(b.Body, "jwt") != nil {
			return
		}
	}
	for _, c := range l.globals.connections {
		if c.onBehalfOf != (Range{}) && !l.partial {
			l.diags.Errorf(c.onBehalfOf, "No token to exchange", "The connection %s exchanges the caller's token, but "+
				"the server accepts no tokens. Declare auth { jwt { … } }, or remove exchange.", c.Name)
		}
	}
}

func (l *loader) connectionKind(b sourceBlock) (ConnectionKind, bool) {
	kind, ok := l.connectionKinds[b.Labels[0]]
	if !ok {
		names := diag.SortedNames(l.connectionKinds)
		l.errorf(b.LabelRanges[0], "Unknown connection kind", "There is no kind of connection %q.%s", b.Labels[0],
			diag.SuggestOr(b.Labels[0], names, diag.ListAre(names)))
	}
	return kind, ok
}

// ConnectionLimits limits the use of a connection.
type ConnectionLimits struct {
	Concurrency int  // concurrent calls; 0 for unlimited
	Rate        Rate // of requests; zero for unlimited
	Breaker     *Breaker
}

// Breaker is a circuit breaker: it suspends a failing connection.
type Breaker struct {
	Failures int           // in a row
	Window   time.Duration // within which the failures occur
	Cooldown time.Duration // during which nothing is sent
}

func (g *ConnectionLimits) spec() decode.Spec {
	return decode.Spec{
		decode.PositiveInt(&g.Concurrency, "concurrency", "The maximum number of blocks, over all tools, that use "+
			"the connection at once. Others wait until their timeout. Unlimited by default."),
		rateField(&g.Rate, "The maximum rate of requests: of an http connection every attempt and every page is one, "+
			"of others every block. A tenth of them may be sent at once; others wait until their timeout. A "+
			"Retry-After of the service is obeyed by all calls"),
		decode.Block(&g.Breaker, "breaker", "Stops sending requests to a failing backend for `cooldown`: calls that "+
			"need it fail at once, and then one call tries again.", (*Breaker).spec),
	}
}

func (b *Breaker) spec() decode.Spec {
	b.Failures, b.Window, b.Cooldown = 5, 30*time.Second, 30*time.Second
	return decode.Spec{
		decode.PositiveInt(&b.Failures, "failures",
			"The number of consecutive failures that opens the circuit: no response, a timeout, or a "+
				"response that reports an outage. A response that rejects a request does not count, nor does the "+
				"timeout of a tool whose earlier steps took most of its time.").DefaultDoc("5"),
		decode.PositiveDuration(&b.Window, "window",
			"The period within which the failures must occur.").DefaultDoc("30s"),
		decode.PositiveDuration(&b.Cooldown, "cooldown",
			"How long the circuit stays open. Then one call tries, and its outcome decides.").DefaultDoc("30s"),
	}
}
