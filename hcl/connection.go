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

	// withoutPins is the digest without the file of pins, for the operations that use the connection: each has the
	// digest of the pin that it uses.
	withoutPins    string
	ranges         map[any]Range   // of its arguments, by field
	missing        []*eval.Missing // values that it reads and that are not there
	callerSpecific bool            // its requests depend on the caller
	onBehalfOf     Range           // of the argument that makes it act on behalf of the caller; empty for none
	delegation     *Delegation     // nil if it does not act on behalf of the caller
}

// Incomplete reports whether the connection needs a value that is missing or was not read, so that it cannot be
// opened.
func (c *Connection) Incomplete() bool { return len(c.missing) > 0 }

// Diagnose converts an error of opening the connection into diagnostics, placed at the blamed argument or at the block.
func (c *Connection) Diagnose(err error) Diagnostics {
	return diag.ToDiagnostics(err, invalidConnection, c.Range, c.ranges)
}

const invalidConnection = "Invalid connection"

// DiagnoseCallers converts errors about whom the calls of the connection act as into diagnostics, placed as those of
// Diagnose.
func (c *Connection) DiagnoseCallers(faults, warnings error) Diagnostics {
	const summary = "Callers not kept apart"
	diags := diag.ToDiagnostics(faults, summary, c.Range, c.ranges)
	for _, d := range diag.ToDiagnostics(warnings, summary, c.Range, c.ranges) {
		d.Severity = diag.Warning
		diags = append(diags, d)
	}
	return diags
}

// Instanced is implemented by the Config of a connection that may have instances: several backends, of which each call
// uses one. InstanceKeys returns their keys, in order; none for a connection without instances.
type Instanced interface{ InstanceKeys() []string }

// Instances returns the keys of the instances of the connection, in order; one empty key for a connection without any.
func (c *Connection) Instances() []string {
	if i, ok := c.Config.(Instanced); ok {
		if keys := i.InstanceKeys(); len(keys) > 0 {
			return keys
		}
	}
	return []string{""}
}

// Identified is implemented by the Config of a connection whose calls may act as their caller.
type Identified interface {
	IdentityParts() []IdentityPart
	// DescribeIdentity says as whom a call of the connection acts, whose caller is that of the frame. Its error says
	// what the caller lacks. It contacts nobody.
	DescribeIdentity(conn *Connection, f *Frame) (string, error)
}

// IdentityPart is a value of the caller that each call of a connection needs, and that is neither null nor empty.
type IdentityPart struct {
	Argument string   // that has it, such as "role"
	Name     string   // of the entry of an argument that is a map; empty for others
	Value    *Expr    // what computes it
	Texts    []string // all that calls may have; nil if the author has not written them
}

// Label returns the name of the entry, or else of the argument.
func (p *IdentityPart) Label() string { return cmp.Or(p.Name, p.Argument) }

// IdentityParts returns those of the connection.
func (c *Connection) IdentityParts() []IdentityPart {
	if i, ok := c.Config.(Identified); ok {
		return i.IdentityParts()
	}
	return nil
}

// DescribeIdentity says as whom a call acts, whose caller is that of the frame.
func (c *Connection) DescribeIdentity(f *Frame) (string, error) {
	return c.Config.(Identified).DescribeIdentity(c, f)
}

// InstanceName returns the name of an instance of a connection by its key, such as desk[eu]; that of the connection
// itself for an empty key.
func InstanceName(connection, key string) string {
	if key == "" {
		return connection
	}
	return connection + "[" + key + "]"
}

// decodeConnections decodes the connection blocks.
func (l *loader) decodeConnections() {
	l.eachBlock("connection", func(d *decode.Decoder, b sourceBlock) {
		kind, ok := l.connectionKind(b)
		name := b.Labels[1]
		if !ok || !l.declare("connection", kind.Name+" "+name, b) {
			return
		}
		config, spec := kind.New()
		d.Scope = l.base.DuringCall()
		for _, name := range []string{"input", "output", "step", "each", "error"} {
			d.Scope = d.Scope.Without(name, name+" belongs to a call of one tool, and a connection is shared by all "+
				"tools. It can read caller, local, secret and var.")
		}
		d.Scope = d.Scope.With("caller", callerRoot())
		conn := &Connection{Kind: kind.Name, Name: name, Config: config, Range: headerRange(b.Block)}
		d.Body(b.Block, decode.Join(spec, conn.Limits.spec()))
		conn.callerSpecific, conn.missing = d.Deps.Caller, missingIn(d.Deps.Members)
		conn.ranges = d.Ranges
		if named, ok := config.(OnBehalf); ok {
			if conn.delegation = named.OnBehalf(); conn.delegation != nil {
				conn.callerSpecific, conn.onBehalfOf = true, d.Ranges[conn.delegation.Argument]
			}
		}
		deps := dependencies{Dependencies: *d.Deps}
		conn.Digest = l.blockDigest(b, &deps)
		deps.PinsDigest = ""
		conn.withoutPins = l.blockDigest(b, &deps)
		if checked, ok := config.(ComputedChecker); ok && !d.Diags.HasErrors() {
			d.Diags = append(d.Diags, diag.ToDiagnostics(checked.CheckComputed(), invalidConnection, conn.Range,
				d.Ranges)...)
		}
		if checked, ok := config.(Checker); ok && !d.Diags.HasErrors() && !d.MissingValue && !l.readsTestSecret(d) {
			d.Diags = append(d.Diags, diag.ToDiagnostics(checked.Check(), invalidConnection, conn.Range,
				d.Ranges)...)
		}
		l.globals.connections = append(l.globals.connections, conn)
	})
	slices.SortFunc(l.globals.connections, func(a, b *Connection) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// hasUnreadIssuer reports whether a block that tokens are accepted by was not decoded.
func (l *loader) hasUnreadIssuer() bool {
	declared, read := 0, 0
	for _, b := range l.blocks["auth"] {
		for _, nested := range b.Body.Blocks {
			if nested.Type == "jwt" || nested.Type == "sign_in" {
				declared++
			}
		}
	}
	if a := l.config.Auth; a != nil {
		read = len(a.Issuers)
		if a.SignIn != nil {
			read++
		}
	}
	return declared > read
}

// checkDelegation rejects a connection that exchanges the tokens of certain issuers, if no caller has such a token. It
// reports whether one may.
func (l *loader) checkDelegation(c *Connection, g *Delegation) bool {
	if l.hasUnreadIssuer() {
		return true
	}
	a := l.config.Auth
	var signIn *SignIn
	if a != nil {
		if slices.ContainsFunc(a.Issuers, func(j *JWT) bool { return g.Accepts(j.Issuer) }) {
			return true
		}
		signIn = a.SignIn
	}
	switch {
	case signIn == nil || !g.Accepts(signIn.Provider):
		l.diags.Errorf(c.onBehalfOf, "No token to exchange", "The connection %s exchanges tokens that callers have of "+
			"the tenant, but the server accepts none of it. Declare auth { jwt { issuer = %q … } }, or auth { sign_in "+
			"{ provider = %[2]q … } }.", c.Name, g.Issuer)
	case !g.AcceptsScopes(signIn.Scopes):
		l.diags.Errorf(c.onBehalfOf, "No token to exchange", "The connection %s exchanges a token for its own "+
			"application, and sign_in asks the provider for none. Add a scope that this application exposes to "+
			"scopes of sign_in, such as %q.", c.Name, g.Scope)
		l.diags.Relate(signIn.Range)
	default:
		return true
	}
	return false
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
