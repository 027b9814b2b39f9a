// Package csv implements the csv block, which writes rows to a CSV file: the cells in the order of the
// columns, quoted as RFC 4180 defines, in UTF-8, written atomically. By default, text that a spreadsheet
// would interpret as a formula is escaped.
package csv

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

const blockDoc = "Writes rows to a CSV file. Returns output.path, and output.count, the number of rows written."

// Adapter returns the csv block of tools and steps.
func Adapter() adapters.Adapter {
	a := adapters.New("csv", blockDoc, (*block).spec, bind)
	a.Kind.Files = true
	return a
}

// block is a csv block.
type block struct {
	Directory string
	File      *hcl.StringExpr
	Rows      *hcl.Expr
	Columns   []string
	Header    bool
	Delimiter string
	IfExists  string
	Formulas  string
}

// Values of the argument formulas.
const (
	formulasEscape = "escape"
	formulasRefuse = "refuse"
	formulasKeep   = "keep"
)

func (b *block) spec() hcl.Spec {
	b.Header, b.Delimiter, b.IfExists, b.Formulas = true, ",", string(adapters.ExistsFail), formulasEscape
	return hcl.Spec{
		hcl.Attr(&b.Directory, "directory", "The directory that contains the files. A relative path starts at the "+
			"configuration directory.").Require(),
		hcl.Attr(&b.File, "file", "The name of the file. It cannot lead out of the directory.").Require(),
		hcl.Attr(&b.Rows, "rows", "A list of objects, one for each row, or of lists if columns is set.").Require(),
		hcl.Attr(&b.Columns, "columns",
			"The members to write, in this order.").DefaultDoc("the members of the type of rows, in its order"),
		hcl.Attr(&b.Header, "header", "Whether the first line contains the names of the columns.").DefaultDoc("true"),
		hcl.Attr(&b.Delimiter, "delimiter", "The character between cells.").DefaultDoc(`","`),
		adapters.IfExistsAttr(&b.IfExists, "adds the rows to it if it has the same columns"),
		hcl.Choice(&b.Formulas, "formulas", "What happens to text that a spreadsheet would interpret as a formula, "+
			"because it begins with =, +, -, @ or a full-width form of these, a tab or a line break: "+
			`"escape" writes a ' before it, "refuse" fails the call, "keep" writes it unchanged. `+
			"Numbers are not formulas.",
			formulasEscape, formulasRefuse, formulasKeep).DefaultDoc(`"escape"`),
	}
}

// StreamedRows returns the rows, which may be written as they arrive.
func (b *block) StreamedRows() *hcl.Expr { return b.Rows }

// Describe implements hcl.Describer.
func (b *block) Describe(*hcl.Connection) (hcl.Effects, error) {
	var checks adapters.Checks
	b.check(&checks)
	return adapters.IfExists(b.IfExists).WriteEffects("count"), checks.Err()
}

// Effects implements hcl.EffectLister.
func (b *block) Effects(*hcl.Connection) []hcl.Effect {
	return []hcl.Effect{{Verb: "WRITE", Source: []any{&b.Directory, &b.File}, What: b.IfExists}}
}

func (b *block) check(checks *adapters.Checks) {
	oneCharacter := utf8.RuneCountInString(b.Delimiter) == 1 && !strings.ContainsAny(b.Delimiter, "\"\r\n\x00")
	checks.Refuse(!oneCharacter, &b.Delimiter, `delimiter must be one character such as ",", ";" or "\t".`)
	for i, name := range b.Columns {
		checks.Refuse(slices.Contains(b.Columns[:i], name), &b.Columns, "The column %q is listed twice.", name)
	}
	if b.Rows != nil {
		b.checkRows(checks, b.Rows.Type())
	}
}

func (b *block) checkRows(checks *adapters.Checks, t *schema.Type) {
	if t.Kind == schema.Any {
		return
	}
	if t.Kind != schema.List && t.Kind != schema.Set {
		checks.Refuse(true, &b.Rows, "rows must be a list of objects, not %s.", t.Kind)
		return
	}
	row := t.Elem
	switch {
	case row == nil || row.Kind == schema.Any || row.Kind == schema.Map:
	case row.Kind == schema.List:
		checks.Refuse(b.Columns == nil, &b.Rows,
			"Rows that are lists need the names of the columns: write columns = [...].")
	case row.Kind != schema.Object:
		checks.Refuse(true, &b.Rows, "rows must be a list of objects, not a list of %s.", row.Kind)
	case !row.Open:
		b.checkColumns(checks, row)
	}
}

func (b *block) checkColumns(checks *adapters.Checks, row *schema.Type) {
	for _, name := range b.Columns {
		_, ok := row.Lookup(name)
		hint := diag.SuggestOr(name, row.MemberNames(), " They have "+strings.Join(row.MemberNames(), ", ")+".")
		checks.Refuse(!ok, &b.Columns, "The rows have no member %q.%s", name, hint)
	}
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	env.WarnIfMissing(&b.Directory, b.Directory)
	delimiter, _ := utf8.DecodeRuneInString(b.Delimiter)
	a := &action{block: b, dir: adapters.NewDirectory(env, b.Directory), delimiter: delimiter, columns: b.Columns}
	row := b.Rows.Type().Elem
	if a.columns == nil && row != nil && row.Kind == schema.Object && !row.Open && len(row.Members) > 0 {
		a.columns = row.MemberNames()
	}
	return a, nil
}
