package rows

import (
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

const (
	// maxDepth is how many names the name of a column has. What is nested deeper is JSON in a cell.
	maxDepth = 4
	// maxColumns bounds the columns of a table: a row has a cell for each.
	maxColumns = 200
)

// column is a member of the objects of a list, at one depth. Those without children, and those whose values are not
// always objects, are columns of the table.
type column struct {
	name     string // dotted
	children []*column
	byName   map[string]*column
	isCell   bool // a value that is neither an object nor null
	index    int  // among the columns of the table
}

// child returns the column of a member, which it adds if it is new.
func (c *column) child(name string) *column {
	if found := c.byName[name]; found != nil {
		return found
	}
	if c.byName == nil {
		c.byName = map[string]*column{}
	}
	added := &column{name: name}
	if c.name != "" {
		added.name = c.name + "." + name
	}
	c.children, c.byName[name] = append(c.children, added), added
	return added
}

// declare adds the columns of a type, so that a table has them in the order of the type, and without rows.
func (c *column) declare(t *schema.Type, depth int) {
	if t == nil || t.Kind != schema.Object || t.OneOf != nil {
		return
	}
	for _, m := range t.Unfolded().Members {
		child := c.child(m.Name)
		switch of := m.Type.Unfolded(); {
		case of.Kind == schema.Object && of.OneOf == nil && len(of.Members) > 0 && depth > 1:
			child.declare(of, depth-1)
		case of.Kind != schema.Any && of.Kind != schema.Object:
			child.isCell = true
		}
	}
}

// walk calls visit for each member of an encoded object that is a cell, with its column.
func (c *column) walk(object []byte, depth int, visit func(*column, []byte)) error {
	s := jsonscan.New(object, value.MaxDepth)
	s.Peek()
	mark, err := s.EnterObject()
	for err == nil {
		var key, text []byte
		if key, err = s.Key(mark); err != nil || key == nil {
			return err
		}
		child := c.child(string(key))
		switch text, err = s.Value(); {
		case err != nil:
		case text[0] == '{' && len(text) > len("{}") && depth > 1:
			err = child.walk(text, depth-1, visit)
		case text[0] != 'n':
			visit(child, text)
		}
	}
	return err
}

// appendColumns appends the columns of the table below c, in their order.
func (c *column) appendColumns(dst []*column) []*column {
	for _, child := range c.children {
		if child.isCell || len(child.children) == 0 {
			child.index = len(dst)
			dst = append(dst, child)
		}
		dst = child.appendColumns(dst)
	}
	return dst
}

// columns returns the columns of a list of objects, and their root; nil when the list has too many, or two of one name.
func (l *List) columns(t *schema.Type, depth int) (root *column, all []*column) {
	root = &column{}
	root.declare(Elem(t), depth)
	for i := range l.elements {
		if root.walk(l.Element(i), depth, func(c *column, _ []byte) { c.isCell = true }) != nil {
			return nil, nil
		}
		if len(root.children) > maxColumns {
			return nil, nil
		}
	}
	if all = root.appendColumns(nil); len(all) == 0 || len(all) > maxColumns {
		return nil, nil
	}
	seen := make(map[string]bool, len(all))
	for _, c := range all {
		if seen[c.name] { // the member "a.b", and the member "b" of the member "a"
			return nil, nil
		}
		seen[c.name] = true
	}
	return root, all
}

// cellText returns the text of an encoded value: that of a string, and JSON of anything else.
func cellText(encoded []byte) (text string, isString bool) {
	if text, isString = jsonscan.Text(encoded); isString {
		return text, true
	}
	return string(encoded), false
}

// escapeBackslashes doubles the backslashes at the end of a text, which would otherwise escape what follows.
func escapeBackslashes(b *strings.Builder, text string) {
	for i := len(text); i > 0 && text[i-1] == '\\'; i-- {
		b.WriteByte('\\')
	}
}
