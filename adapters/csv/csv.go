// Package csv turns csv blocks into files that spreadsheets and other programs read: rows in the order of their columns, quoted as RFC 4180 says, in
// UTF-8, written whole or not at all. A cell that a spreadsheet would compute is made text unless the author says otherwise.
package csv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
)

// Adapter declares the csv block of tools and steps.
func Adapter() adapters.Adapter {
	return adapters.New("csv", "Writes rows to a CSV file. Gives output.path and output.count, the rows that were written.", (*config).spec, bind)
}

// config is a csv block.
type config struct {
	Directory string
	File      *hcl.StringExpr
	Rows      *hcl.Expr
	Columns   []string
	Header    bool
	Delimiter string
	IfExists  string
	Formulas  string
}

// What is done with a cell that a spreadsheet would compute.
const (
	formulasEscape = "escape"
	formulasRefuse = "refuse"
	formulasKeep   = "keep"
)

func (c *config) spec() hcl.Spec {
	c.Header, c.Delimiter, c.IfExists, c.Formulas = true, ",", string(adapters.ExistsFail), formulasEscape
	return hcl.Spec{
		hcl.Attr(&c.Directory, "directory", "The folder that the files lie in; a relative one is below the folder of the configuration.").Require(),
		hcl.Attr(&c.File, "file", "The name of the file in the folder. It cannot lead out of it.").Require(),
		hcl.Attr(&c.Rows, "rows", "A list of objects, one a line, or of lists where columns are written.").Require(),
		hcl.Attr(&c.Columns, "columns", "The members that are written, in this order.").DefaultDoc("those of the rows' type in its order"),
		hcl.Attr(&c.Header, "header", "Whether the first line names the columns.").DefaultDoc("true"),
		hcl.Attr(&c.Delimiter, "delimiter", "The character between cells.").DefaultDoc(`","`),
		hcl.Attr(&c.IfExists, "if_exists", "What happens to a file of that name: \"fail\" leaves it alone, \"replace\" writes a new one in its place, \"append\" adds the rows to it if its columns are the same.").DefaultDoc(`"fail"`),
		hcl.Attr(&c.Formulas, "formulas", "What happens to text that a spreadsheet would compute, which is text that begins with = + - @, a tab or a return: \"escape\" puts a ' before it, \"refuse\" fails the call, \"keep\" writes it. Numbers are no formulas.").DefaultDoc(`"escape"`),
	}
}

// Describe implements hcl.Described.
func (c *config) Describe(*hcl.Connection) (hcl.Effects, error) {
	replace := c.IfExists == string(adapters.ExistsReplace)
	return hcl.Effects{
		Output: schema.ObjectOf(
			&schema.Member{Name: "path", Type: &schema.Type{Kind: schema.String}},
			&schema.Member{Name: "count", Type: &schema.Type{Kind: schema.Integer}},
		),
		Default:     hcl.DefaultResult{Members: []string{"path", "count"}},
		Writes:      true,
		Destructive: replace,
		Idempotent:  replace,
	}, errors.Join(c.check()...)
}

func (c *config) check() (errs []error) {
	if !slices.Contains([]string{"fail", "replace", "append"}, c.IfExists) {
		errs = append(errs, hcl.Blame(&c.IfExists, "if_exists is \"fail\", \"replace\" or \"append\", and this is %q.", c.IfExists))
	}
	if !slices.Contains([]string{formulasEscape, formulasRefuse, formulasKeep}, c.Formulas) {
		errs = append(errs, hcl.Blame(&c.Formulas, "formulas is %q, %q or %q, and this is %q.", formulasEscape, formulasRefuse, formulasKeep, c.Formulas))
	}
	if utf8.RuneCountInString(c.Delimiter) != 1 || strings.ContainsAny(c.Delimiter, "\"\r\n\x00") {
		errs = append(errs, hcl.Blame(&c.Delimiter, "delimiter is one character such as \",\", \";\" or \"\\t\"."))
	}
	for i, name := range c.Columns {
		if slices.Contains(c.Columns[:i], name) {
			errs = append(errs, hcl.Blame(&c.Columns, "The column %q is written twice.", name))
		}
	}
	return append(errs, c.checkRows()...)
}

func (c *config) checkRows() []error {
	if c.Rows == nil {
		return nil
	}
	t := c.Rows.Type()
	switch t.Kind {
	case schema.Any:
		return nil
	case schema.List, schema.Set:
	default:
		return []error{hcl.Blame(&c.Rows, "rows is a list of objects, and this is %s.", t.Kind)}
	}
	row := t.Elem
	switch {
	case row == nil || row.Kind == schema.Any || row.Kind == schema.Map:
	case row.Kind == schema.List && c.Columns != nil:
	case row.Kind == schema.List:
		return []error{hcl.Blame(&c.Rows, "Rows that are lists have no names for their columns: write columns = [...].")}
	case row.Kind != schema.Object:
		return []error{hcl.Blame(&c.Rows, "rows is a list of objects, and this is a list of %s.", row.Kind)}
	case !row.Open:
		return c.checkColumns(row)
	}
	return nil
}

func (c *config) checkColumns(row *schema.Type) (errs []error) {
	for _, name := range c.Columns {
		if _, ok := row.Lookup(name); !ok {
			detail := fmt.Sprintf("The rows have no member %q.", name)
			if near := spelling.Nearest(name, row.MemberNames()); near != "" {
				detail += fmt.Sprintf(" Did you mean %q?", near)
			} else {
				detail += " They have " + strings.Join(row.MemberNames(), ", ") + "."
			}
			errs = append(errs, hcl.Blame(&c.Columns, "%s", detail))
		}
	}
	return errs
}

func bind(_ context.Context, c *config, env adapters.Env) (adapters.Action, error) {
	delimiter, _ := utf8.DecodeRuneInString(c.Delimiter)
	a := &action{config: c, folder: adapters.NewFolder(env.Dir, c.Directory), delimiter: delimiter, columns: c.Columns}
	if t := c.Rows.Type(); a.columns == nil && t.Elem != nil && t.Elem.Kind == schema.Object && !t.Elem.Open && len(t.Elem.Members) > 0 {
		a.columns = t.Elem.MemberNames()
	}
	return a, nil
}
