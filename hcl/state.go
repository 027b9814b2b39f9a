package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// State says where is kept what outlives the process.
type State struct {
	SQLite   string     // a file, relative to the folder of the configuration; empty for a database
	Postgres SecretText // the address of a database; empty for a file
	Range    Range
}

// Same reports whether both keep it in the same place; nil is the place of who says none.
func (s *State) Same(other *State) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.SQLite == other.SQLite && s.Postgres == other.Postgres
}

func (s *State) spec() Spec {
	return Exactly("where it is kept",
		special("sqlite", "string", "A file, for one process, or several on one machine. Relative to the folder of the configuration; serve --state FILE wins.", s.sqlite),
		special("postgres", "string, secret allowed", "The address of a database, postgres://user:password@host:5432/database?sslmode=verify-full, for processes that are one server. Its tables are made when they are missing; their names begin with hatchel_.", s.postgres),
	)
}

func (s *State) sqlite(d *decoder, e hclsyntax.Expression) {
	name, ok := d.known(e, Field{Name: "sqlite"}, "string").(string)
	switch {
	case !ok:
	case strings.TrimSpace(name) == "" || strings.HasSuffix(name, "/") || strings.ContainsRune(name, 0):
		d.errorf(e.Range(), "Invalid state file", "sqlite names a file, as in \"state.db\", and this is %q.", name)
	case strings.HasSuffix(name, ".hcl"):
		d.errorf(e.Range(), "Invalid state file", "%q would be read as a part of the configuration. Call it \"state.db\".", name)
	default:
		s.SQLite = name
	}
}

func (s *State) postgres(d *decoder, e hclsyntax.Expression) {
	s.Postgres = d.database(e)
}

// state reads the one block that says where the state is kept.
func (l *loader) state() {
	for i, b := range l.blocks["state"] {
		if i > 0 {
			first := l.blocks["state"][0]
			l.errorf(b.DefRange(), "Duplicate state", "There is one state block, and it is at %s:%d.", first.file.name, first.DefRange().Start.Line)
			continue
		}
		s := &State{Range: at(b.DefRange())}
		d := l.decoder(b.file)
		d.body(b.Body, s.spec(), b.DefRange())
		l.diags = append(l.diags, d.diags...)
		l.config.State = s
	}
}
