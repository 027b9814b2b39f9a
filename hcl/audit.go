package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Audit says where every call is written down.
type Audit struct {
	File     string            // relative to the folder of the configuration; empty for the others
	Postgres decode.SecretText // the address of a database; empty for the others
	Stdout   bool
	Rotate   decode.Size // from which on the next file is begun; 0 for never
	MaxFiles int         // full files that are kept; 0 for all
	Range    diag.Range
}

const (
	defaultRotate = 100 << 20
	minRotate     = 64 << 10
)

func (a *Audit) spec() decode.Spec {
	a.Rotate = defaultRotate
	return decode.Join(
		decode.ExactlyOneOf("where calls are written down",
			decode.Custom("file", "string", "A file for the records, beside which those that are full keep their place: audit.jsonl, audit.jsonl.000001. Relative to the folder of the configuration.", a.decodeFile),
			decode.Custom("postgres", "string, secret allowed", "The address of a database, postgres://user:password@host:5432/database?sslmode=verify-full, for processes that are one server: all write one chain, in its table hatchel_audit, which is made when it is missing.", a.decodePostgres),
			decode.Custom("stdout", "bool", "true writes the records to standard output, for what collects it. Not with serve --stdio; hatchel call, read and prompt write them to standard error.", a.decodeStdout)),
		decode.Spec{
			decode.Custom("rotate", "size", "How large a file may be; then the next is begun.", a.decodeRotate).DefaultDoc("100MiB"),
			decode.PositiveInt(&a.MaxFiles, "max_files", "How many full files are kept; the oldest is removed when there are more. Without it all are kept.").RenamedFrom("keep"),
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
		d.Errorf(e.Range(), "Nothing to audit to", "stdout is true, or it is left out and file says where records are written.")
	}
	a.Stdout = on
}

func (a *Audit) decodeRotate(d *decode.Decoder, e hclsyntax.Expression) {
	before := len(d.Diags)
	a.Rotate = d.Size(e, decode.Field{Name: "rotate"})
	if len(d.Diags) == before && a.Rotate < minRotate {
		d.Errorf(e.Range(), "Invalid size", "A file that is full after %s would be followed by the next all the time. It may have %s at least.", a.Rotate, decode.Size(minRotate))
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
			d.Errorf(attr.NameRange, "Nothing to rotate", "Records that go to standard output have no file that could be full. Leave %s out, or write them to a file.", name)
		case b.Body.Attributes["postgres"] != nil:
			d.Errorf(attr.NameRange, "Nothing to rotate", "Records that go to a database have no file that could be full: whether its table is parted, and what is moved out of it, is for who runs the database. Leave %s out, or write them to a file.", name)
		}
	}
	l.diags = append(l.diags, d.Diags...)
	l.config.Audit = a
}
