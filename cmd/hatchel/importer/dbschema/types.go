package dbschema

import (
	"fmt"
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
	if importer.Steers(description) { // the name does, with what stands before it
		description = "A value of the column"
	}
	typ := g.scalarType(c, description)
	if !c.list {
		return typ
	}
	return "list(" + g.scalarType(c, "") + describeList(description) + ")"
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
	case instant:
		return "time"
	}
	return "value"
}

// mysqlInstant is a date and time as MySQL reads it; it does not read RFC 3339.
const mysqlInstant = `^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`

func (g *generator) scalarType(c *column, description string) string {
	if len(c.values) > 0 {
		return enumType(c, description)
	}
	name, rules := "string", ""
	switch c.kind {
	case integer:
		name = "integer"
	case number:
		name = "number"
	case boolean:
		name = "bool"
	case document:
		name = "any"
	case uuid:
		rules = `format = "uuid"`
	case date:
		rules = `format = "date"`
	case instant:
		rules = `format = "date-time"`
	case text:
		if c.maxLength > 0 {
			rules = fmt.Sprintf("max_length = %d", c.maxLength)
		}
	}
	switch {
	case g.options.Kind == "mysql" && c.kind == instant:
		rules = "pattern = " + importer.Quote(mysqlInstant)
		description = strings.TrimSpace(description + " (as in 2026-01-31 13:45:00)")
	case g.options.Kind == "sqlite" && (c.kind == date || c.kind == instant):
		rules = "" // SQLite stores what it is given, so the format of this table is unknown
	}
	return call(name, description, rules)
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
