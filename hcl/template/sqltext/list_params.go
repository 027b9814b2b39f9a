package sqltext

import (
	"fmt"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// listParam is IN ${list} with one parameter for each element.
type listParam struct {
	hole    *template.Interpolation
	dialect Dialect
}

func (p *listParam) bind(b *binding) error {
	v, err := resolve(p.hole, b.frame)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if v != nil && !ok {
		return errNotList(p.hole, v)
	}
	if v == nil {
		list = []any{nil} // a null list compares as null does, not as an empty list
	}
	if len(list) > p.dialect.maxParams() {
		return errTooManyElements(p.hole, p.dialect)
	}
	b.text = append(b.text, p.opening(len(list))...)
	for i, e := range list {
		a, err := scalarArgument(p.dialect, p.hole, e)
		if err != nil {
			return err
		}
		if i > 0 {
			b.text = append(b.text, ',')
		}
		b.add(a)
	}
	b.text = append(b.text, ')')
	return nil
}

// opening returns the text before the n elements. MySQL has no empty list, so a query without rows
// replaces it.
func (p *listParam) opening(n int) string {
	if n == 0 && p.dialect == MySQL {
		return "(SELECT NULL FROM DUAL WHERE FALSE"
	}
	return "("
}

func resolve(h *template.Interpolation, f template.Frame) (any, error) {
	v, err := h.Value(f)
	if err != nil {
		return nil, err
	}
	return value.Resolve(v)
}

func errTooManyElements(h *template.Interpolation, d Dialect) error {
	return fmt.Errorf("%s has more elements than one statement takes (%d): send fewer", h.Source, d.maxParams())
}

// rowsParam is VALUES ${rows}.
type rowsParam struct {
	hole    *template.Interpolation
	cols    int
	dialect Dialect
}

func (p *rowsParam) bind(b *binding) error {
	v, err := resolve(p.hole, b.frame)
	if err != nil {
		return err
	}
	rows, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list of rows, not %s", p.hole.Source, describeKind(v))
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s is empty: send at least one row", p.hole.Source)
	}
	width := p.cols
	for i, r := range rows {
		row, err := p.row(r, i, width)
		if err != nil {
			return err
		}
		if width = len(row); width*len(rows) > p.dialect.maxParams() {
			return fmt.Errorf("%s has %d rows of %d values, and one statement takes at most %d values: send "+
				"at most %d rows at a time",
				p.hole.Source, len(rows), width, p.dialect.maxParams(), p.dialect.maxParams()/width)
		}
		if i > 0 {
			b.text = append(b.text, ',')
		}
		if err := p.add(b, row); err != nil {
			return err
		}
	}
	return nil
}

// row checks one row; width is the required number of values, or 0 for any number.
func (p *rowsParam) row(r any, i, width int) ([]any, error) {
	r, err := value.Resolve(r)
	if err != nil {
		return nil, err
	}
	row, ok := r.([]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("row %d of %s must be a list of values, not %s", i+1, p.hole.Source, describeKind(r))
	case len(row) == 0:
		return nil, fmt.Errorf("row %d of %s is empty: a row needs at least one value", i+1, p.hole.Source)
	case width > 0 && len(row) != width:
		return nil, fmt.Errorf("row %d of %s has %d values and must have %d", i+1, p.hole.Source, len(row), width)
	}
	return row, nil
}

func (p *rowsParam) add(b *binding, row []any) error {
	b.text = append(b.text, '(')
	for i, cell := range row {
		cell, err := value.Resolve(cell)
		if err != nil {
			return err
		}
		var a any
		if list, ok := cell.([]any); ok && p.dialect == PostgreSQL {
			a, err = arrayArgument(p.hole, list)
		} else {
			a, err = scalarArgument(p.dialect, p.hole, cell)
		}
		if err != nil {
			return err
		}
		if i > 0 {
			b.text = append(b.text, ',')
		}
		b.add(a)
	}
	b.text = append(b.text, ')')
	return nil
}

// namesOp is ident(...). Each part or, of a list, each element must be one of the names known at
// load.
type namesOp struct {
	dialect Dialect
	hole    *template.Interpolation
	allowed []map[string]bool // of each argument
	order   [][]string        // the same names in the author's order, for samples
}

func newNamesOp(d Dialect, h *template.Interpolation) op {
	s := &namesOp{dialect: d, hole: h}
	fixed := true
	var text []byte
	for i, a := range h.Args {
		known := map[string]bool{}
		var order []string
		for _, t := range elementTypes(a.Type) {
			texts, _ := knownTexts(t)
			for _, n := range texts {
				if !known[n] {
					known[n] = true
					order = append(order, n)
				}
			}
		}
		s.allowed, s.order = append(s.allowed, known), append(s.order, order)
		if fixed = fixed && a.Type.Known && a.Type.Kind != template.List && len(order) == 1; fixed {
			if i > 0 {
				text = append(text, '.')
			}
			text = d.quote(text, order[0])
		}
	}
	if fixed {
		return literalText(text)
	}
	return s
}

func (s *namesOp) bind(b *binding) error {
	for i, a := range s.hole.Args {
		v, err := resolve(a, b.frame)
		if err != nil {
			return err
		}
		if i > 0 {
			b.text = append(b.text, '.')
		}
		if err := s.add(b, i, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *namesOp) add(b *binding, arg int, v any) error {
	source := s.hole.Args[arg].Source
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return fmt.Errorf("%s is empty: name at least one of %s", source, quotedList(s.order[arg]))
	}
	for i, e := range list {
		n, ok := e.(string)
		if !ok || !s.allowed[arg][n] {
			return fmt.Errorf("%s must be one of %s", source, quotedList(s.order[arg]))
		}
		if i > 0 {
			b.text = append(b.text, ", "...)
		}
		b.text = b.dialect.quote(b.text, n)
	}
	return nil
}

// rawOp is raw(...) with several possible texts, which were all read at load.
type rawOp struct {
	arg   *template.Interpolation
	texts []string
}

func newRawOp(h *template.Interpolation, texts []*template.Text) op {
	s := &rawOp{arg: h.Args[0]}
	for _, t := range texts {
		s.texts = append(s.texts, t.Value)
	}
	return s
}

func (s *rawOp) bind(b *binding) error {
	v, err := resolve(s.arg, b.frame)
	if err != nil {
		return err
	}
	got, _ := v.(string)
	for _, t := range s.texts {
		if got == t {
			b.text = append(b.text, t...)
			return nil
		}
	}
	return fmt.Errorf("%s is not one of the strings that were known at load", s.arg.Source)
}
