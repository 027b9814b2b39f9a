package hcl

import (
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Connection is one decoded connection block.
type Connection struct {
	Kind   string
	Name   string
	Config any
	Guard  Guard
	Digest string // of everything the block says, so that an unchanged one keeps its pool
	Range  Range

	personal bool  // what it does depends on who calls
	behalf   Range // where it says that it works in the name of who calls; empty when it does not
}

// connections decodes the connection blocks.
func (l *loader) connections() {
	for _, b := range l.blocks["connection"] {
		kind, ok := l.connectionKind(b)
		name := b.label(1)
		if !ok {
			continue
		}
		if !l.claim("connection", kind.Name+" "+name, b) {
			continue
		}
		config, spec := kind.New()
		d := l.decoder(b.file)
		d.scope, d.uses = callerScope(l.base), &uses{}
		conn := &Connection{Kind: kind.Name, Name: name, Config: config, Range: at(b.DefRange())}
		d.body(b.Body, Join(spec, conn.Guard.spec()), b.DefRange())
		conn.personal = d.uses.caller
		if named, ok := config.(OnBehalf); ok && named.OnBehalf() != nil {
			conn.personal, conn.behalf = true, d.places[named.OnBehalf()]
		}
		conn.Digest = l.digest(b, d.uses)
		l.note(d.uses)
		l.files.read = digest(l.files.read, d.uses.read)
		if checked, ok := config.(Checked); ok && !d.diags.HasErrors() && !d.blind {
			d.diags = append(d.diags, blames(checked.Check(), "Invalid connection", conn.Range, d.places)...)
		}
		l.diags = append(l.diags, d.diags...)
		if l.linked[kind.Name] == nil {
			l.linked[kind.Name] = map[string]*Connection{}
		}
		l.linked[kind.Name][name] = conn
		l.globals.connections = append(l.globals.connections, conn)
	}
	sort.Slice(l.globals.connections, func(i, j int) bool {
		a, b := l.globals.connections[i], l.globals.connections[j]
		return a.Kind < b.Kind || a.Kind == b.Kind && a.Name < b.Name
	})
}

// signedIn refuses connections that work in the name of who calls, where no caller has a token.
func (l *loader) signedIn() {
	for _, b := range l.blocks["auth"] {
		if slices.ContainsFunc(b.Body.Blocks, func(in *hclsyntax.Block) bool { return in.Type == "jwt" }) {
			return
		}
	}
	for _, c := range l.globals.connections {
		if c.behalf != (Range{}) && !l.partial {
			l.diags = append(l.diags, &Diagnostic{Summary: "No token to exchange", Detail: "The connection " + c.Name + " works with a token that is made from the caller's own, and no caller has one: tokens are taken where they are declared. Write auth { jwt { … } }, or leave exchange out.", Subject: c.behalf})
		}
	}
}

func (l *loader) connectionKind(b block) (ConnectionKind, bool) {
	var names []string
	for _, k := range l.kinds.Connections {
		if k.Name == b.label(0) {
			return k, true
		}
		names = append(names, k.Name)
	}
	sort.Strings(names)
	l.errorf(b.LabelRanges[0], "Unknown connection kind", "There is no kind of connection %q.%s", b.label(0), suggestOr(b.label(0), names, thereAre(names)))
	return ConnectionKind{}, false
}

// callerScope is what a connection's headers may read of a call: who calls, and nothing else.
func callerScope(base *scope) *scope {
	return base.during().with("caller", callerRoot())
}
