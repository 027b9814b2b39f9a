package view

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/lazyregexp"
)

// declaration is what the script of an app reads of a view. The types of the script have the same members.
type declaration struct {
	Kind    string   `json:"kind"`
	Title   string   `json:"title"`
	Tool    string   `json:"tool"`
	Path    string   `json:"path,omitempty"`
	Object  bool     `json:"object,omitempty"` // the result is an object, which no revision of the protocol wraps
	Columns []column `json:"columns,omitempty"`
	Sort    string   `json:"sort,omitempty"`
	Filter  bool     `json:"filter,omitempty"`
	Open    *opens   `json:"open,omitempty"`
	Chart   string   `json:"chart,omitempty"`
	X       string   `json:"x,omitempty"`
	Y       []string `json:"y,omitempty"`
	Time    bool     `json:"time,omitempty"` // x may be dates or times
	Calls   string   `json:"calls,omitempty"`
	Submit  string   `json:"submit,omitempty"`
	About   string   `json:"about,omitempty"`
	Fields  []*field `json:"fields,omitempty"`
}

// column is a member of the result.
type column struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Type  string `json:"type"` // id, integer, number, bool, date, time, enum, string or any
	Link  bool   `json:"link,omitempty"`

	Parts []column `json:"parts,omitempty"` // of an object, or of the objects in a list, in the order of the type
}

// opens is the tool that a row opens.
type opens struct {
	Tool      string       `json:"tool"`
	Title     string       `json:"title"`
	Arguments []string     `json:"arguments"` // members of the row
	View      *declaration `json:"view"`
}

// declare returns the declaration of the view of a tool. A tool that a view names and that does not exist, because
// it is disabled, is left out.
func declare(t *hcl.Tool, tools func(string) *hcl.Tool) *declaration {
	v := t.View
	d := &declaration{Kind: v.Kind, Title: cmp.Or(v.Title, titleOf(t)), Tool: t.Name, Path: v.Path, Sort: v.Sort,
		Filter: v.Filter, X: v.X, Y: v.Y}
	d.Object = v.Result != nil && v.Result.Unfolded().Kind == schema.Object && !v.Result.Nullable
	for _, name := range v.Shown() {
		if m, ok := v.Row.Lookup(name); ok {
			d.Columns = append(d.Columns, columnOf(m, v.ColumnOf(name)))
		}
	}
	if v.Kind == "chart" {
		d.Chart = v.Draw
		if m, ok := v.Row.Lookup(v.X); ok {
			x := m.Type.Unfolded()
			d.Time = x.Kind == schema.String && len(x.Enum) == 0
		}
	}
	if target := tools(v.Open); target != nil {
		d.Open = &opens{Tool: target.Name, Title: titleOf(target), Arguments: []string{}}
		for _, m := range target.Input.Members {
			if !m.Optional {
				d.Open.Arguments = append(d.Open.Arguments, m.Name)
			}
		}
		d.Open.View = &declaration{Kind: "text", Title: titleOf(target), Tool: target.Name}
		if target.View != nil && target.View.Kind != "form" {
			d.Open.View = declare(target, func(string) *hcl.Tool { return nil })
		}
	}
	if target := tools(v.Calls); target != nil {
		d.Calls, d.Submit = target.Name, cmp.Or(v.Submit, titleOf(target))
		d.About, _, _ = strings.Cut(target.Description, "\n")
		d.Fields = fieldsOf(target.Input, target.Idempotency != nil)
	}
	return d
}

// titleOf returns what people read as the name of a tool.
func titleOf(t *hcl.Tool) string { return cmp.Or(t.Title, labelOf(t.Name)) }

// labelOf returns a name in words: "opened_at" becomes "Opened at".
func labelOf(name string) string {
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), " ")
	if words == "id" || words == "url" {
		return strings.ToUpper(words)
	}
	if words == "" {
		return name
	}
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

func columnOf(m *schema.Member, said *hcl.ViewColumn) column {
	return columnAt(m, said, 0)
}

// maxPartDepth is the depth of the parts that are declared. A type may contain itself.
const maxPartDepth = 3

func columnAt(m *schema.Member, said *hcl.ViewColumn, depth int) column {
	t := m.Type.Unfolded()
	c := column{Name: m.Name, Label: cmp.Or(m.Type.Title, labelOf(m.Name)), Type: typeOf(m.Name, t)}
	if t.Kind == schema.List && t.Elem != nil {
		t = t.Elem.Unfolded()
	}
	if t.Kind == schema.Object && t.OneOf == nil && depth < maxPartDepth {
		for _, part := range t.Members {
			c.Parts = append(c.Parts, columnAt(part, nil, depth+1))
		}
	}
	if said != nil {
		c.Label, c.Link = cmp.Or(said.Title, c.Label), said.Link
	}
	return c
}

// isID matches the names of numbers that count nothing.
var isID = lazyregexp.New(`^(?:id|year|zip)$|_(?:id|year)$`)

func typeOf(name string, t *schema.Type) string {
	switch {
	case t.OneOf != nil:
		return "any"
	case t.Kind == schema.Integer && isID.MatchString(name):
		return "id"
	case len(t.Enum) > 0:
		return "enum"
	case t.Kind == schema.Integer:
		return "integer"
	case t.Kind == schema.Number:
		return "number"
	case t.Kind == schema.Bool:
		return "bool"
	case t.Kind != schema.String:
		return "any"
	case t.Format == "date":
		return "date"
	case t.Format == "date-time":
		return "time"
	}
	return "string"
}
