package dbschema

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// typeOf returns the type of an input for one column. Its description is the role of the input, as in "at least", and
// the comment of the column, or else its name.
func (g *generator) typeOf(c *column, role string) string {
	comment, name := plain(c.comment), plain(c.name)
	var description string
	switch {
	case role == "of the row," || role == "of the new row,": // the key, or a value of a row
		if description = comment; comment == "" {
			description = "The " + name + " " + strings.TrimSuffix(role, ",")
		}
	case comment != "":
		description = strings.ToUpper(role[:1]) + role[1:] + ": " + comment
	case role == "new":
		description = "New value of " + name
	case role == "only rows with":
		description = "Only rows with this " + name
	default:
		description = strings.ToUpper(role[:1]) + role[1:] + " this " + noun(c) + " of " + name
	}
	if c.notation != "" {
		description += " (" + c.notation + ")"
	}
	if importer.Steers(description) { // the name does, with what stands before it
		description = "A value of the column"
	}
	if c.dimensions == 0 {
		return g.scalarType(c, description)
	}
	typ := "nullable(" + g.scalarType(c, "") + ")"
	for range c.dimensions - 1 {
		typ = "list(" + typ + ")"
	}
	return "list(" + typ + describeList(description) + ")"
}

func describeList(description string) string {
	if description == "" {
		return ""
	}
	return ", " + importer.Quote(description)
}

func noun(c *column) string {
	switch c.kind {
	case date:
		return "day"
	case clock, local, instant:
		return "time"
	}
	return "value"
}

// format is how an input has the values of a column, as the database writes and reads them.
type format struct{ pattern, example string }

// Formats of PostgreSQL also have what ISO 8601 cannot say: infinity, and years before Christ and after 9999.
const (
	anyDay     = `[0-9]{4,7}-[0-9]{2}-[0-9]{2}`
	anyClock   = `[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?`
	anyOffset  = `([Zz]|[+-][0-9]{2}(:[0-9]{2}){0,2})`
	orInfinity = `( BC)?|-?infinity)$`
)

var postgresFormats = map[kind]format{
	date:        {"^(" + anyDay + orInfinity, "2026-01-31"},
	clock:       {"^" + anyClock + "$", "13:45:00"},
	offsetClock: {"^" + anyClock + anyOffset + "$", "13:45:00+01:00"},
	local:       {"^(" + anyDay + "[Tt ]" + anyClock + orInfinity, "2026-01-31T13:45:00"},
	instant:     {"^(" + anyDay + "[Tt ]" + anyClock + anyOffset + orInfinity, "2026-01-31T13:45:00Z"},
	decimal:     {`^(-?[0-9]+(\.[0-9]+)?|NaN|-?Infinity)$`, "19.90"},
}

// mysqlFormats also have dates of which a part is zero.
var mysqlFormats = map[kind]format{
	date:    {`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, "2026-01-31"},
	clock:   {`^-?[0-9]{2,3}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`, "13:45:00"},
	local:   {`^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`, "2026-01-31T13:45:00"},
	decimal: {`^-?[0-9]+(\.[0-9]+)?$`, "19.90"},
}

func (g *generator) scalarType(c *column, description string) string {
	if len(c.values) > 0 {
		return enumType(c, description)
	}
	format, formatted := mysqlFormats[c.kind]
	if g.options.Kind == "postgres" {
		format, formatted = postgresFormats[c.kind]
	}
	rules := ""
	switch {
	case g.options.Kind == "sqlite" && slices.Contains(looseKinds, c.kind):
		return alternatives(description, "string", "number")
	case c.kind == integer && c.large && g.options.TextIntegers:
		return alternatives(description, "integer", digits)
	case c.kind == number && g.options.Kind == "sqlite" && g.options.TextIntegers: // it has integers, too
		return alternatives(description, "number", digits, sqliteInfinities)
	case c.kind == number && g.options.Kind == "sqlite":
		return alternatives(description, "number", sqliteInfinities)
	case c.kind == integer && g.options.Kind == "mysql" && strings.EqualFold(c.typ, "tinyint(1)"):
		return call("integer", strings.TrimSpace(description+" (1 is true, 0 is false)"), "")
	case c.kind == integer:
		return call("integer", description, "")
	case c.kind == decimal && g.options.TextDecimals:
	case (c.kind == number || c.kind == decimal) && g.options.Kind == "postgres":
		return alternatives(description, "number", `enum("NaN", "Infinity", "-Infinity")`)
	case c.kind == number || c.kind == decimal:
		return call("number", description, "")
	case c.kind == boolean:
		return call("bool", description, "")
	case c.kind == document:
		return alternatives(description, "map(any)", "list(any)", "string", "number", "bool")
	case c.kind == uuid:
		rules = `format = "uuid"`
	case c.kind == date && !formatted:
		rules = `format = "date"`
	case c.kind == text && c.maxLength > 0:
		rules = fmt.Sprintf("max_length = %d", c.maxLength)
	}
	if formatted {
		rules = "pattern = " + importer.Quote(format.pattern)
		description = strings.TrimSpace(description + " (as in " + format.example + ")")
	}
	return call("string", description, rules)
}

// digits is the type of the text of an integer.
const digits = `string({ pattern = "^-?[0-9]+$" })`

// sqliteInfinities is the type of the numbers of SQLite that JSON does not have.
const sqliteInfinities = `enum("9e999", "-9e999")`

// looseKinds are the kinds whose values SQLite stores as it is given them, so the form that a table has is unknown.
var looseKinds = []kind{loose, date, clock, local, instant}

// alternatives returns a type that has the values of several.
func alternatives(description string, types ...string) string {
	return "one_of(" + strings.Join(types, ", ") + describeList(description) + ")"
}

// enumType returns the type of one of the values of a column.
func enumType(c *column, description string) string {
	var values []string
	for _, v := range c.values {
		if c.kind == text {
			v = importer.Quote(v)
		}
		values = append(values, v)
	}
	list := strings.Join(values, ", ")
	switch {
	case c.kind == integer:
		return call("integer", description, "enum = ["+list+"]")
	case description == "":
		return importer.Enum(values)
	}
	return call("string", description, "enum = ["+list+"]")
}

func call(name, description, rules string) string {
	var args []string
	if description != "" {
		args = append(args, importer.Quote(description))
	}
	if rules != "" {
		args = append(args, "{ "+rules+" }")
	}
	if len(args) == 0 {
		return name
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
