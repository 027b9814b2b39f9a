package functions

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// brackets flattens an object: items[0][price]. With "[]" a list has no index, and its name is repeated.
func brackets(c *Context, a []any) (any, error) {
	if err := c.checkSize(a[0]); err != nil {
		return nil, err
	}
	f := flattener{c: c, out: map[string]any{}, repeat: len(a) == 2}
	m := a[0].(map[string]any)
	names, err := value.KeysSteps(m, c.Step)
	if err != nil {
		return nil, err
	}
	for _, k := range names {
		if err := f.member(k, k, m[k]); err != nil {
			return nil, err
		}
	}
	return f.out, nil
}

type flattener struct {
	c      *Context
	repeat bool // lists have no index
	out    map[string]any
}

// member adds the member key, whose whole name is name. A bracket in a key would change the structure that the
// receiver reads, and so would an empty key, which is how a list is written.
func (f *flattener) member(key, name string, v any) error {
	if key == "" {
		return errors.New("an object has a member without a name")
	}
	if strings.ContainsAny(key, "[]") {
		return fmt.Errorf("the name %q contains a bracket", key)
	}
	return f.add(name, v)
}

func (f *flattener) add(name string, v any) error {
	if err := f.c.Step(1); err != nil {
		return err
	}
	if _, isFile := v.(value.File); !isFile {
		var err error
		if v, err = value.Resolve(v); err != nil {
			return errors.New("a value cannot be read")
		}
	}
	switch v := v.(type) {
	case map[string]any:
		names, err := value.KeysSteps(v, f.c.Step)
		if err != nil {
			return err
		}
		for _, k := range names {
			if err := f.member(k, name+"["+k+"]", v[k]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if f.repeat {
			return f.repeated(name, v)
		}
		for i, e := range v {
			if err := f.add(name+"["+strconv.Itoa(i)+"]", e); err != nil {
				return err
			}
		}
		return nil
	}
	return f.put(name, v)
}

// repeated adds a list without indexes. Its elements must be single values, because nothing would tell which names
// belong to one element.
func (f *flattener) repeated(name string, list []any) error {
	for i, e := range list {
		if err := f.c.Step(1); err != nil {
			return err
		}
		e, err := value.Resolve(e)
		if err != nil {
			return errors.New("a value cannot be read")
		}
		if kind := value.Kind(e); kind == "object" || kind == "list" {
			return fmt.Errorf(`element %d of %s is %s, which needs an index: leave out "[]"`, i, name,
				diag.WithArticle(kind))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return f.put(name+"[]", list)
}

func (f *flattener) put(name string, v any) error {
	if err := f.c.Spend(entrySize + len(name)); err != nil {
		return err
	}
	f.out[name] = v
	return nil
}

// CompareBrackets orders names as brackets gives them: as text, but indexes by their number, before other keys.
func CompareBrackets(a, b string) int {
	headA, restA, _ := strings.Cut(a, "[")
	headB, restB, _ := strings.Cut(b, "[")
	order := cmp.Compare(headA, headB)
	for order == 0 && restA != "" && restB != "" {
		headA, restA, _ = strings.Cut(restA, "[")
		headB, restB, _ = strings.Cut(restB, "[")
		order = cmp.Or(cmp.Compare(bracketIndex(headA), bracketIndex(headB)), cmp.Compare(headA, headB))
	}
	return cmp.Or(order, cmp.Compare(len(restA), len(restB)))
}

// bracketIndex returns the index in "2]", or a number above all indexes.
func bracketIndex(head string) uint64 {
	i, err := strconv.ParseUint(strings.TrimSuffix(head, "]"), 10, 63)
	if err != nil {
		return math.MaxUint64
	}
	return i
}
