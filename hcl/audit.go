package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

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
	Range    diag.Range
}

const (
	defaultRotate = 100 << 20
	minRotate     = 64 << 10
)

func (a *Audit) spec() decode.Spec {
	a.Rotate = defaultRotate
	return decode.Join(
		decode.ExactlyOneOf("the destination of the records",
			decode.Custom("file", "string",
				"The file for the records, relative to the configuration directory. Rotated files are kept "+
					"next to it: audit.jsonl, audit.jsonl.000001.", a.decodeFile),
			decode.Custom("postgres", "string, secret allowed",
				"The URL of a database, postgres://user:password@host:5432/database?sslmode=verify-full, "+
					"for several processes that form one server: all of them write one hash chain in the "+
					"table hatchel_audit, which is created if it does not exist.", a.decodePostgres),
			decode.Custom("stdout", "bool",
				"true writes the records to standard output, for a log collector. Not available with serve "+
					"--stdio; hatchel call, read and prompt write them to standard error.", a.decodeStdout)),
		decode.Spec{
			decode.Custom("rotate", "size", "The size at which a file is rotated.",
				a.decodeRotate).DefaultDoc("100MiB"),
			decode.PositiveInt(&a.MaxFiles, "max_files",
				"The number of rotated files to keep; older ones are deleted. By default all are "+
					"kept.").RenamedFrom("keep"),
		},
	)
}

func (a *Audit) decodeFile(d *decode.Decoder, e hclsyntax.Expression) {
	a.File = decodeFileName(d, e, serverFile{"audit", "file", "audit.jsonl"})
}

func (a *Audit) decodePostgres(d *decode.Decoder, e hclsyntax.Expression) {
	a.Postgres = decodeDatabaseURL(d, e)
}

func (a *Audit) decodeStdout(d *decode.Decoder, e hclsyntax.Expression) {
	on, ok := d.Known(e, decode.Field{Name: "stdout"}, "bool").(bool)
	if ok && !on {
		d.Errorf(e.Range(), "No audit destination",
			"stdout must be true. To write records to a file instead, remove stdout and set file.")
	}
	a.Stdout = on
}

func (a *Audit) decodeRotate(d *decode.Decoder, e hclsyntax.Expression) {
	before := len(d.Diags)
	a.Rotate = d.Size(e, decode.Field{Name: "rotate"})
	if len(d.Diags) == before && a.Rotate < minRotate {
		d.Errorf(e.Range(), "Invalid size", "A file that is rotated every %s is too small. The minimum is %s.",
			a.Rotate, decode.Size(minRotate))
	}
}

// decodeAudit decodes the audit block.
func (l *loader) decodeAudit() {
	a := &Audit{}
	d, b, ok := l.decodeSingleton("audit", a.spec())
	if !ok {
		return
	}
	a.Range = diag.RangeOf(b.DefRange())
	for _, name := range []string{"rotate", "max_files"} {
		switch attr := b.Body.Attributes[name]; {
		case attr == nil:
		case a.Stdout:
			d.Errorf(attr.NameRange, "Nothing to rotate",
				"Records on standard output are not rotated. Remove %s, or write the records to a file.", name)
		case b.Body.Attributes["postgres"] != nil:
			d.Errorf(attr.NameRange, "Nothing to rotate",
				"Records in a database are not rotated; partition or archive the table in the database. "+
					"Remove %s, or write the records to a file.", name)
		}
	}
	l.diags = append(l.diags, d.Diags...)
	l.config.Audit = a
}
