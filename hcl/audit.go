package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Audit is the audit block: the destination of the audit log.
type Audit struct {
	File     string            // relative to the folder of the configuration; empty for the others
	Postgres decode.SecretText // the address of a database; empty for the others
	Stdout   bool
	Rotate   decode.Size // the size at which a file is rotated; 0 for never
	MaxFiles int         // rotated files to keep; 0 for all
	Omit     []string    // values of identities that are not recorded
	Range    Range
}

const (
	defaultRotate = 100 << 20
	minRotate     = 64 << 10
)

func (a *Audit) spec() decode.Spec {
	a.Rotate = defaultRotate
	return decode.Join(
		decode.ExactlyOneOf("the destination of the records",
			fileField(&a.File, "file", "audit", "audit.jsonl", "The file for the records, relative to the "+
				"configuration directory. Rotated files are kept next to it: audit.jsonl, audit.jsonl.000001."),
			databaseField(&a.Postgres, "postgres",
				"The URL of a database, postgres://user:password@host:5432/database?sslmode=verify-full, "+
					"for several processes that form one server: all of them write one hash chain in the "+
					"table hatchel_audit, which is created if it does not exist."),
			decode.Attr(&a.Stdout, "stdout",
				"true writes the records to standard output, for a log collector. Not available with serve "+
					"--stdio; hatchel call, read and prompt write them to standard error.").Check(a.checkStdout)),
		decode.Spec{
			decode.Attr(&a.Rotate, "rotate",
				"The size at which a file is rotated.").DefaultDoc("100MiB").Check(a.checkRotate),
			decode.PositiveInt(&a.MaxFiles, "max_files", "The number of rotated files to keep; older ones are "+
				"deleted. By default all are kept.").RenamedFrom("keep"),
			decode.Attr(&a.Omit, "omit", "What is left out of the records of calls that a connection carries out as "+
				"their callers: names in session, and role and instance. By default nothing."),
		},
	)
}

func (a *Audit) checkStdout(d *decode.Decoder, r Range) {
	if !a.Stdout {
		d.Diags.Errorf(r, "No audit destination",
			"stdout must be true. To write records to a file instead, remove stdout and set file.")
	}
}

func (a *Audit) checkRotate(d *decode.Decoder, r Range) {
	if a.Rotate < minRotate {
		d.Diags.Errorf(r, "Invalid size", "A file that is rotated every %s is too small. The minimum is %s.",
			a.Rotate, decode.Size(minRotate))
	}
}

// checkOmitted reports names in omit that no connection sends: such a value would be recorded.
func (l *loader) checkOmitted(d *decode.Decoder, b sourceBlock, a *Audit) {
	if l.partial {
		return // they may be in an unreadable file
	}
	known := map[string]bool{}
	for _, c := range l.globals.connections {
		for _, part := range c.IdentityParts() {
			known[part.Label()] = true
		}
	}
	names := diag.SortedNames(known)
	for i, name := range a.Omit {
		if !known[name] {
			d.Errorf(decode.ElementRange(b.Body.Attributes["omit"].Expr, i), "Nothing to omit",
				"No connection sends %q for its callers.%s", name, diag.SuggestOr(name, names, diag.ListAre(names)))
		}
	}
}

// decodeAudit decodes the audit block.
func (l *loader) decodeAudit() {
	l.onlyBlock("audit", func(d *decode.Decoder, b sourceBlock) {
		a := &Audit{Range: headerRange(b.Block)}
		l.config.Audit = a
		d.Body(b.Block, a.spec())
		for _, name := range []string{"rotate", "max_files"} {
			switch attr := b.Body.Attributes[name]; {
			case attr == nil:
			case a.Stdout:
				d.Errorf(attr.NameRange, "Nothing to rotate",
					"Records on standard output are not rotated. Remove %s, or write the records to a file.", name)
			case b.Body.Attributes["postgres"] != nil:
				d.Errorf(attr.NameRange, "Nothing to rotate", "Records in a database are not rotated; partition or "+
					"archive the table in the database. Remove %s, or write the records to a file.", name)
			}
		}
		l.checkOmitted(d, b, a)
	})
}
