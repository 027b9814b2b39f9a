package sqltext

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// listParam is IN ${list} with one parameter for each element.
type listParam struct {
	of *template.Interpolation
}

func (p *listParam) bind(b *binding) error {
	v, err := b.resolve(p.of, p.sampled)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if v != nil && !ok {
		return errNotList(p.of, v)
	}
	if v == nil {
		list = []any{nil} // a null list compares as null does, not as an empty list
	}
	if n := b.dialect.maxParams(); len(list) > n {
		return fmt.Errorf("%s has more elements than one statement takes (%d): send fewer", p.of.Source, n)
	}
	if len(list) == 0 && b.dialect == MySQL { // it has no empty list
		b.text = append(b.text, "(SELECT NULL FROM DUAL WHERE FALSE"...)
	} else {
		b.text = append(b.text, '(')
	}
	if b.dialect != PostgreSQL && slices.ContainsFunc(list, isList) {
		return errList(p.of)
	}
	return b.addList(p.of, p.of.Type, list, value.ResolveContent)
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// rowsParam is VALUES ${rows}.
type rowsParam struct {
	of   *template.Interpolation
	cols int
}

func (p *rowsParam) bind(b *binding) error {
	v, err := b.resolve(p.of, p.sampled)
	if err != nil {
		return err
	}
	rows, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list of rows, not %s", p.of.Source, template.DescribeKind(v))
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s is empty: send at least one row", p.of.Source)
	}
	width, most := p.cols, b.dialect.maxParams()
	for i, r := range rows {
		row, err := p.row(r, i, width)
		if err != nil {
			return err
		}
		if width = len(row); width*len(rows) > most {
			return fmt.Errorf("%s has %d rows of %d values, and one statement takes at most %d values: send at most "+
				"%d rows at a time", p.of.Source, len(rows), width, most, most/width)
		}
		if i > 0 {
			b.text = append(b.text, ',')
		}
		b.text = append(b.text, '(')
		if err := b.addList(p.of, elementType(p.of.Type, i), row, value.Resolve); err != nil {
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
		return nil, fmt.Errorf("row %d of %s must be a list of values, not %s", i+1, p.of.Source,
			template.DescribeKind(r))
	case len(row) == 0:
		return nil, fmt.Errorf("row %d of %s is empty: a row needs at least one value", i+1, p.of.Source)
	case width > 0 && len(row) != width:
		return nil, fmt.Errorf("row %d of %s has %d values and must have %d", i+1, p.of.Source, len(row), width)
	}
	return row, nil
}

// namesOp is ident(...). Each part or, of a list, each element must be one of the names known at
// load.
type namesOp struct {
	of    *template.Interpolation
	names [][]string // of each argument, in the author's order
}

func newNamesOp(d Dialect, h *template.Interpolation) op {
	s := &namesOp{of: h}
	fixed := true
	var text []byte
	for i, a := range h.Args {
		names, _ := knownNames(a.Type)
		s.names = append(s.names, names)
		if fixed = fixed && a.Type.Known && a.Type.Kind != template.List && len(names) == 1; fixed {
			if i > 0 {
				text = append(text, '.')
			}
			text = d.quote(text, names[0])
		}
	}
	if fixed {
		return literalText(text)
	}
	return s
}

func (s *namesOp) bind(b *binding) error {
	for i, a := range s.of.Args {
		v, err := b.resolve(a, func(choose *sampler) any { return choose.chooseText("ident ", a, s.names[i]) })
		if err != nil {
			return err
		}
		if i > 0 {
			b.text = append(b.text, '.')
		}
		if err := b.addNames(a.Source, s.names[i], v); err != nil {
			return err
		}
	}
	return nil
}

// addNames appends a name or a list of names.
func (b *binding) addNames(source string, names []string, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return fmt.Errorf("%s is empty: name at least one of %s", source, quotedList(names))
	}
	for i, e := range list {
		n, ok := e.(string)
		if !ok || !slices.Contains(names, n) {
			return fmt.Errorf("%s must be one of %s", source, quotedList(names))
		}
		if i > 0 {
			b.text = append(b.text, ", "...)
		}
		b.text = b.dialect.quote(b.text, n)
	}
	return nil
}

// quotedList lists quoted strings for a sentence.
func quotedList(list []string) string {
	const most = 8
	if len(list) > most {
		return `"` + strings.Join(list[:most], `", "`) + `" and more`
	}
	return `"` + strings.Join(list, `", "`) + `"`
}

// rawOp is raw(...) with several possible texts, which were all read at load.
type rawOp struct {
	arg   *template.Interpolation
	texts []string
}

func (s *rawOp) bind(b *binding) error {
	v, err := b.resolve(s.arg, func(choose *sampler) any { return choose.chooseText("raw ", s.arg, s.texts) })
	if err != nil {
		return err
	}
	got, _ := v.(string)
	if !slices.Contains(s.texts, got) {
		return fmt.Errorf("%s is not one of the strings that were known at load", s.arg.Source)
	}
	b.text = append(b.text, got...)
	return nil
}
