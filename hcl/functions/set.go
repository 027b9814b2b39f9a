package functions

func setFunctions() []Function {
	list := param("list", List)
	return []Function{
		New("setunion", "Gives every value that stands in one of the lists, once.", params(list.variadic()), follow(Unify), union),
		New("setintersection", "Gives the values of the first list that stand in all others, once.", params(list, list.variadic()), follow(SameAsFirst), intersection),
		New("setsubtract", "Gives the values of the first list that do not stand in the second, once.", params(list, param("removed", List)), follow(SameAsFirst), subtract),
	}
}

func union(c *Context, a []any) (any, error) {
	lists := make([][]any, len(a))
	for i, l := range a {
		lists[i] = l.([]any)
	}
	return distinctOf(c, lists...)
}

func intersection(c *Context, a []any) (any, error) {
	out, err := distinct(c, a)
	for _, l := range a[1:] {
		if err != nil {
			return nil, err
		}
		out, err = keep(c, out.([]any), l.([]any), true)
	}
	return out, err
}

func subtract(c *Context, a []any) (any, error) {
	out, err := distinct(c, a)
	if err != nil {
		return nil, err
	}
	return keep(c, out.([]any), a[1].([]any), false)
}

// keep returns the elements of list that stand in other, or that do not.
func keep(c *Context, list, other []any, standing bool) (any, error) {
	there := map[string]bool{}
	for _, e := range other {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		there[k] = true
	}
	out := []any{}
	for _, e := range list {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		if there[k] == standing {
			out = append(out, e)
		}
	}
	return out, nil
}
