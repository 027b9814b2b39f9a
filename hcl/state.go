package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// State says where is kept what outlives the process.
type State struct {
	SQLite   string            // a file, relative to the folder of the configuration; empty for a database
	Postgres decode.SecretText // the address of a database; empty for a file
	Range    diag.Range
}

// Same reports whether both keep it in the same place; nil is the place of who says none.
func (s *State) Same(other *State) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.SQLite == other.SQLite && s.Postgres == other.Postgres
}

func (s *State) spec() decode.Spec {
	return decode.ExactlyOneOf("where it is kept",
		decode.Custom("sqlite", "string", "A file, for one process, or several on one machine. Relative to the folder of the configuration; serve --state FILE wins.", s.decodeSQLite),
		decode.Custom("postgres", "string, secret allowed", "The address of a database, postgres://user:password@host:5432/database?sslmode=verify-full, for processes that are one server. Its tables are made when they are missing; their names begin with hatchel_.", s.decodePostgres),
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
		s.SQLite, s.Postgres = "", "" // what names two places says of neither that it is there
	}
	l.config.State = s
}
