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
	single      paramKind = iota
	valueOrList           // a list is a list on PostgreSQL, and its JSON elsewhere
	listOnly              // PostgreSQL, after IN: only a list
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
	b.add(p.of, v)
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
	switch list, isList := v.([]any); {
	case isList && p.kind == single:
		return nil, errList(p.of)
	case isList && d == PostgreSQL:
		return listArgument(p.of, p.of.Type, list)
	case p.kind == listOnly && v != nil && !isList:
		return nil, errNotList(p.of, v)
	}
	return argument(d, p.of, p.of.Type, v)
}

func errNotList(h *template.Interpolation, v any) error {
	return fmt.Errorf("%s must be a list here, not %s", h.Source, template.DescribeKind(v))
}

func errList(h *template.Interpolation) error {
	return fmt.Errorf("%s must be one value here, not a list", h.Source)
}

// AnyText is a string whose expression is not known at load to be a text, such as an input of type any. A parameter for
// JSON takes it as a string, while a text of another type is the JSON itself. Only PostgreSQL tells the types of
// parameters, so other dialects have none.
type AnyText string

// argument returns the argument for a value of a type. A list is its JSON.
func argument(d Dialect, h *template.Interpolation, t template.Type, v any) (any, error) {
	whole := v // not boxed again
	switch v := v.(type) {
	case string:
		if err := checkText(d, h, v); err != nil || d != PostgreSQL || t.Kind != template.Any || t.Known {
			return whole, err
		}
		return AnyText(v), nil
	case nil, bool, int, float64:
		return whole, nil
	case json.Number:
		if d == PostgreSQL {
			return v, nil
		}
		return string(v), nil
	case value.Bytes:
		if v == nil {
			return []byte{}, nil
		}
		return []byte(v), nil
	case map[string]any, []any:
		return compoundArgument(d, h, v)
	case value.LazyJSON:
		inner, err := value.ResolveContent(v)
		if err != nil {
			return nil, err
		}
		return argument(d, h, t, inner)
	}
	return nil, fmt.Errorf("%s is %s, which cannot be bound in SQL", h.Source, template.DescribeKind(v))
}

// compoundArgument returns an object, or a list outside of PostgreSQL, as its JSON. PostgreSQL takes an object for a
// composite type too, so it stays an object.
func compoundArgument(d Dialect, h *template.Interpolation, v any) (any, error) {
	var text []byte
	var err error
	if d != PostgreSQL {
		text, err = value.AppendJSON(nil, v)
	} else if v, err = value.ResolveAll(v); err == nil && value.Contains(v, isBytes) {
		err = value.ErrBytes
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be bound as JSON: %w", h.Source, err)
	case d != PostgreSQL:
		return string(text), nil
	}
	return v, nil
}

func isBytes(v any) bool { _, ok := v.(value.Bytes); return ok }

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

// listArgument returns the argument of PostgreSQL for a list of a type.
func listArgument(h *template.Interpolation, t template.Type, list []any) (any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		v, err := elementArgument(PostgreSQL, h, elementType(t, i), e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// elementArgument returns the argument for an element of a list.
func elementArgument(d Dialect, h *template.Interpolation, t template.Type, v any) (any, error) {
	if list, ok := v.([]any); ok && d == PostgreSQL {
		return listArgument(h, t, list)
	}
	return argument(d, h, t, v)
}

// elementType returns the type of an element of a list.
func elementType(t template.Type, i int) template.Type {
	constant, _ := t.Constant.([]any)
	switch {
	case t.Kind != template.List:
	case i < len(t.Tuple):
		return t.Tuple[i]
	case t.Known && i < len(constant):
		return template.Type{Kind: constantKinds[value.Kind(constant[i])], Known: true, Constant: constant[i]}
	case t.Elem != nil:
		return *t.Elem
	}
	return template.Type{Kind: template.Any}
}

// placeholder appends the placeholder of the n-th parameter.
func (d Dialect) placeholder(dst []byte, n int) []byte {
	if d == PostgreSQL {
		return strconv.AppendInt(append(dst, '$'), int64(n), 10)
	}
	return append(dst, '?')
}
