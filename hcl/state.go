package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// State is the state block: the location of the state store.
type State struct {
	SQLite   string            // a file, relative to the folder of the configuration; empty for a database
	Postgres decode.SecretText // the address of a database; empty for a file
	Range    diag.Range
}

// Same reports whether both have the same location; nil is the default location.
func (s *State) Same(other *State) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.SQLite == other.SQLite && s.Postgres == other.Postgres
}

func (s *State) spec() decode.Spec {
	return decode.ExactlyOneOf("the location of the state",
		decode.Custom("sqlite", "string",
			"A file, for one process or several on one machine, relative to the configuration directory. "+
				"serve --state FILE overrides it.", s.decodeSQLite),
		decode.Custom("postgres", "string, secret allowed",
			"The URL of a database, postgres://user:password@host:5432/database?sslmode=verify-full, for "+
				"several processes that form one server. Its tables are created if they do not exist; their "+
				"names begin with hatchel_.", s.decodePostgres),
	)
}

func (s *State) decodeSQLite(d *decode.Decoder, e hclsyntax.Expression) {
	s.SQLite = decodeFileName(d, e, serverFile{"state", "sqlite", "state.db"})
}

func (s *State) decodePostgres(d *decode.Decoder, e hclsyntax.Expression) {
	s.Postgres = decodeDatabaseURL(d, e)
}

// decodeState decodes the state block.
func (l *loader) decodeState() {
	s := &State{}
	d, b, ok := l.decodeSingleton("state", s.spec())
	if !ok {
		return
	}
	s.Range = diag.RangeOf(b.DefRange())
	l.diags = append(l.diags, d.Diags...)
	if len(l.blocks["state"]) > 1 || s.SQLite != "" && s.Postgres != "" {
		s.SQLite, s.Postgres = "", "" // the location is ambiguous, so neither is used
	}
	l.config.State = s
}

// serverFile describes an argument that names a file written by the server.
type serverFile struct {
	purpose  string // its content: audit, state
	argument string
	example  string // an example of a name
}

// decodeFileName returns the name of such a file, known at load; empty if invalid.
func decodeFileName(d *decode.Decoder, e hclsyntax.Expression, f serverFile) string {
	name, ok := d.Known(e, decode.Field{Name: f.argument}, "string").(string)
	switch {
	case !ok:
	case strings.TrimSpace(name) == "" || strings.HasSuffix(name, "/") || strings.ContainsRune(name, 0):
		d.Errorf(e.Range(), "Invalid "+f.purpose+" file", "%s names a file, as in %q, not %q.", f.argument, f.example,
			name)
	case strings.HasSuffix(name, ".hcl"):
		d.Errorf(e.Range(), "Invalid "+f.purpose+" file",
			"%q would be loaded as part of the configuration. Rename it to %q.", name, f.example)
	default:
		return name
	}
	return ""
}

// decodeDatabaseURL returns the URL of a PostgreSQL database, known at load; empty if invalid.
func decodeDatabaseURL(d *decode.Decoder, e hclsyntax.Expression) decode.SecretText {
	n := d.CompileKnown(e, decode.Field{Name: "postgres", Secret: true})
	address, _ := n.Value.(string)
	switch {
	case !n.Known:
	case n.Value == nil:
		d.Errorf(e.Range(), "Invalid database URL", "The URL is null. A secret that is used here must not be optional.")
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return decode.SecretText(address)
	default:
		d.Errorf(e.Range(), "Invalid database URL",
			"The URL of a PostgreSQL database begins with postgres://, as in "+
				"postgres://user:password@host:5432/database?sslmode=verify-full.")
	}
	return ""
}
