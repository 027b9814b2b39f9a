package functions

func setFunctions() []Function {
	list := param("list", List)
	return []Function{
		New("setunion", "Returns every value that is in one of the lists, once.",
			params(list.variadic()), follow(Unify), distinct),
		New("setintersection", "Returns every value of the first list that is in all other lists, once.",
			params(list, list.variadic()), follow(SameAsFirst), intersection),
		New("setsubtract", "Returns every value of the first list that is not in the second, once.",
			params(list, param("removed", List)), follow(SameAsFirst), subtract),
	}
}

func intersection(c *Context, a []any) (any, error) {
	out, err := distinct(c, a[:1])
	for _, l := range a[1:] {
		if err != nil {
			return nil, err
		}
		out, err = filter(c, out.([]any), l.([]any), true)
	}
	return out, err
}

func subtract(c *Context, a []any) (any, error) {
	out, err := distinct(c, a[:1])
	if err != nil {
		return nil, err
	}
	return filter(c, out.([]any), a[1].([]any), false)
}

// filter returns the elements of list that are in other, or those that are not.
func filter(c *Context, list, other []any, included bool) (any, error) {
	set := map[string]bool{}
	for _, e := range other {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		set[k] = true
	}
	out := []any{}
	for _, e := range list {
		k, err := c.key(e)
		if err != nil {
			return nil, err
		}
		if set[k] == included {
			out = append(out, e)
		}
	}
	return out, nil
}
