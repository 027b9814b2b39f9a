package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// State is the state block: the location of the state store.
type State struct {
	SQLite   string            // a file, relative to the folder of the configuration; empty for a database
	Postgres decode.SecretText // the address of a database; empty for a file
	Listen   decode.SecretText // another address of the database, without the pooler that Postgres leads through
	// Key seals what the store keeps of sign-in, together with a secret of the store; empty for none, and where secrets
	// are not read
	Key         decode.SecretText
	PreviousKey decode.SecretText // opens what was sealed before Key was changed; empty for none
	HasKey      bool              // Key is written
	InDatabase  bool              // Postgres is written, and empty where secrets are not read
	InDefault   bool              // only keys are written, also wrong ones: the location is the default file
	Range       Range
}

// Location returns the block without what may change while the store is open; nil is the default location.
func (s *State) Location() State {
	if s == nil {
		return State{}
	}
	return State{SQLite: s.SQLite, Postgres: s.Postgres, Listen: s.Listen}
}

func (s *State) spec() decode.Spec {
	return decode.Join(
		decode.AtMostOneOf("the location of the state",
			fileField(&s.SQLite, "sqlite", "state", "state.db", "A file, for one process or several on one machine, "+
				"relative to the configuration directory. serve --state FILE overrides it."),
			databaseField(&s.Postgres, "postgres", "The URL of a database, "+
				"postgres://user:password@host:5432/database?sslmode=verify-full, for several processes that form "+
				"one server. Its tables are created if they do not exist; their names begin with hatchel_."),
		),
		decode.Spec{
			databaseField(&s.Listen, "listen", "The URL of the same database without a pooler, if postgres leads "+
				"through one that assigns connections per transaction. Each process has one connection there, for "+
				"notifications. Statements then use no setting and no prepared statement of a connection."),
			decode.Attr(&s.Key, "key", "A key from outside of the store, of 32 bytes or more, as in secret.state_key. "+
				"It seals what the store keeps of sign-in, so that a copy of the store is not enough to read it. "+
				"Tokens of the provider are kept only with it.").Check(checkStateKey(&s.Key)),
			decode.Attr(&s.PreviousKey, "previous_key", "The key before key was changed. It opens what was sealed "+
				"with it, until that has expired: for the longest session of sign_in.").
				Check(checkStateKey(&s.PreviousKey)),
		},
	)
}

// decodeState decodes the state block.
func (l *loader) decodeState() {
	l.onlyBlock("state", func(d *decode.Decoder, b sourceBlock) {
		s := &State{Range: headerRange(b.Block)}
		l.config.State = s
		d.Body(b.Block, s.spec())
		if len(l.blocks["state"]) > 1 || s.SQLite != "" && s.Postgres != "" {
			s.SQLite, s.Postgres = "", "" // the location is ambiguous, so neither is used
		}
		attributes := b.Block.Body.Attributes
		s.HasKey, s.InDatabase = attributes["key"] != nil, attributes["postgres"] != nil
		s.InDefault = len(l.blocks["state"]) == 1 && hasOnlyKeys(b.Block)
		s.checkKeys(d, b.Block)
		if listen := attributes["listen"]; listen != nil && attributes["postgres"] == nil {
			d.Errorf(listen.NameRange, "Listen without database", "listen is another address of the database that "+
				"postgres names, and there is no postgres. Remove listen, or write postgres = secret.NAME.")
		}
	})
}

// hasOnlyKeys reports whether a state block has a key, and nothing that may be meant as a location.
func hasOnlyKeys(b *hclsyntax.Block) bool {
	for name := range b.Body.Attributes {
		if name != "key" && name != "previous_key" {
			return false
		}
	}
	return b.Body.Attributes["key"] != nil && len(b.Body.Blocks) == 0 && len(b.Labels) == 0
}

// minStateKey is the minimum length of a key in bytes.
const minStateKey = 32

// checkStateKey returns the check of a key, which does not show it.
func checkStateKey(key *decode.SecretText) func(*decode.Decoder, Range) {
	const generate = "Generate one with: openssl rand -base64 32."
	return func(d *decode.Decoder, r Range) {
		text := key.Reveal()
		distinct := map[rune]bool{}
		for _, c := range text {
			distinct[c] = true
		}
		switch {
		case len(text) < minStateKey:
			d.Diags.Errorf(r, "Weak key", "A key has %d bytes or more, and this one has %d. %s", minStateKey, len(text),
				generate)
		case len(distinct) < minDistinct:
			d.Diags.Errorf(r, "Weak key", "The key has %d different characters, so it can be guessed. %s",
				len(distinct), generate)
		case strings.TrimSpace(text) != text:
			d.Diags.Errorf(r, "Blanks around the key", "The key has blanks or line breaks around it, which another "+
				"process may not have. Remove them, also from the secret that it comes from.")
		}
	}
}

// minDistinct is how many different characters a key has at least: 16 random bytes in hexadecimal have fewer in one of
// a million cases.
const minDistinct = 8

// checkKeys checks the arguments of the block together.
func (s *State) checkKeys(d *decode.Decoder, b *hclsyntax.Block) {
	attributes := b.Body.Attributes
	key, previous := attributes["key"], attributes["previous_key"]
	s.HasKey = key != nil
	switch {
	case key == nil && attributes["sqlite"] == nil && attributes["postgres"] == nil && len(d.Typos) == 0:
		d.Errorf(b.DefRange(), "Missing argument", "Write sqlite or postgres, the location of the state, or key "+
			"alone for the default file.")
	case key == nil && previous != nil:
		d.Errorf(previous.NameRange, "Previous key without key", "previous_key opens what was sealed before key was "+
			"changed, and there is no key. Write key = secret.NAME.")
	case previous != nil && s.Key == s.PreviousKey && s.Key != "":
		d.Errorf(previous.Expr.Range(), "Same key", "Both keys are the same. Write the key before the change, or "+
			"remove previous_key.")
	}
}

// fileField declares the name of a file that the server writes, known at load; purpose is its content.
func fileField(dst *string, name, purpose, example, doc string) decode.Field {
	return decode.Attr(dst, name, doc).Check(func(d *decode.Decoder, r Range) {
		switch file := *dst; {
		case strings.TrimSpace(file) == "" || strings.HasSuffix(file, "/") || strings.ContainsRune(file, 0):
			d.Diags.Errorf(r, "Invalid "+purpose+" file", "%s names a file, as in %q, not %q.", name, example, file)
		case strings.HasSuffix(file, ".hcl"):
			d.Diags.Errorf(r, "Invalid "+purpose+" file",
				"%q would be loaded as part of the configuration. Rename it to %q.", file, example)
		}
	})
}

// databaseField declares the URL of a PostgreSQL database, known at load; it stays empty if invalid.
func databaseField(dst *decode.SecretText, name, doc string) decode.Field {
	return decode.Custom(name, "string, secret allowed", doc, func(d *decode.Decoder, e hclsyntax.Expression) {
		n := d.CompileKnown(e, decode.Field{Name: name, Secret: true})
		address, _ := n.Value.(string)
		switch {
		case !n.Known:
		case n.Value == nil:
			d.Errorf(e.Range(), "Invalid database URL",
				"The URL is null. A secret that is used here must not be optional.")
		case strings.TrimSpace(address) != address:
			d.Errorf(e.Range(), "Invalid database URL",
				"The URL has blanks or line breaks around it. Remove them, also from the secret that it comes from.")
		case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
			*dst = decode.SecretText(address)
		default:
			d.Errorf(e.Range(), "Invalid database URL", "The URL of a PostgreSQL database begins with postgres://, "+
				"as in postgres://user:password@host:5432/database?sslmode=verify-full.")
		}
	})
}
