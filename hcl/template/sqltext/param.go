package sqltext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// paramKind tells whether a parameter accepts lists.
type paramKind byte

const (
	single       paramKind = iota
	valueOrArray           // PostgreSQL: a list is an array
	listOnly               // PostgreSQL, after IN: only a list
)

// param is an interpolation that is bound as one parameter.
type param struct {
	of            *template.Interpolation
	kind          paramKind
	before, after string
}

func (p *param) bind(b *binding) (err error) {
	var v any
	if b.sampler == nil {
		if v, err = p.eval(b.dialect, b.frame); err != nil {
			return err
		}
	}
	b.text = append(b.text, p.before...)
	b.add(v)
	b.text = append(b.text, p.after...)
	return nil
}

func (p *param) eval(d Dialect, f template.Frame) (any, error) {
	v, err := p.of.Value(f)
	if err != nil {
		return nil, err
	}
	if lazy, ok := v.(value.LazyJSON); ok {
		if v, err = value.ResolveContent(lazy); err != nil {
			return nil, err
		}
	}
	list, isList := v.([]any)
	switch {
	case isList && p.kind != single:
		return arrayArgument(p.of, list)
	case p.kind == listOnly && v != nil:
		return nil, errNotList(p.of, v)
	}
	return scalarArgument(d, p.of, v)
}

func errNotList(h *template.Interpolation, v any) error {
	return fmt.Errorf("%s must be a list here, not %s", h.Source, template.DescribeKind(v))
}

// scalarArgument returns the argument for a scalar value.
func scalarArgument(d Dialect, h *template.Interpolation, v any) (any, error) {
	whole := v // not boxed again
	switch v := v.(type) {
	case string:
		return whole, checkText(d, h, v)
	case nil, bool, int, float64:
		return whole, nil
	case json.Number:
		return string(v), nil
	case value.Bytes:
		if v == nil {
			return []byte{}, nil
		}
		return []byte(v), nil
	case map[string]any:
		text, err := value.AppendJSON(nil, v)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be bound as JSON: %w", h.Source, err)
		}
		return string(text), nil
	case value.LazyJSON:
		inner, err := value.ResolveContent(v)
		if err != nil {
			return nil, err
		}
		return scalarArgument(d, h, inner)
	case []any:
		return nil, fmt.Errorf("%s must be one value here, not a list", h.Source)
	}
	return nil, fmt.Errorf("%s is %s, which cannot be bound in SQL", h.Source, template.DescribeKind(v))
}

// checkText rejects zero characters, which PostgreSQL cannot store.
func checkText(d Dialect, h *template.Interpolation, s string) error {
	if d != PostgreSQL {
		return nil
	}
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s holds a zero character, which the database cannot store in a string: remove it", h.Source)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8 text", h.Source)
	}
	return nil
}

// elementArgument returns the argument for an element of a list.
func elementArgument(d Dialect, h *template.Interpolation, v any) (any, error) {
	if list, ok := v.([]any); ok && d == PostgreSQL {
		return arrayArgument(h, list)
	}
	return scalarArgument(d, h, v)
}

// arrayArgument returns a list as PostgreSQL takes it: a slice of one Go type if all elements have
// it.
func arrayArgument(h *template.Interpolation, list []any) (any, error) {
	out := make([]any, len(list))
	var texts, ints, floats, bools int
	for i, e := range list {
		v, err := elementArgument(PostgreSQL, h, e)
		if err != nil {
			return nil, err
		}
		out[i] = v
		switch v.(type) {
		case string:
			texts++
		case int:
			ints++
		case float64:
			floats++
		case bool:
			bools++
		}
	}
	switch len(list) {
	case texts:
		return convertAll(out, func(v any) string { return v.(string) }), nil
	case ints:
		return convertAll(out, func(v any) int64 { return int64(v.(int)) }), nil
	case bools:
		return convertAll(out, func(v any) bool { return v.(bool) }), nil
	case ints + floats:
		return convertAll(out, func(v any) float64 { f, _ := value.Float(v); return f }), nil
	}
	return out, nil
}

func convertAll[T any](list []any, of func(any) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = of(v)
	}
	return out
}

// placeholder appends the placeholder of the n-th parameter.
func (d Dialect) placeholder(dst []byte, n int) []byte {
	if d == PostgreSQL {
		return strconv.AppendInt(append(dst, '$'), int64(n), 10)
	}
	return append(dst, '?')
}
