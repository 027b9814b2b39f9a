package eval

import "strings"

// NonNull are the traversals that are certainly not null where an expression stands. Immutable; nil holds none.
type NonNull struct {
	Path string
	Next *NonNull
}

func (f *NonNull) Has(path string) bool {
	if path == "" {
		return false
	}
	for ; f != nil; f = f.Next {
		if f.Path == path || strings.HasPrefix(f.Path, path+".") {
			return true
		}
	}
	return false
}

// Shadow drops what is known of a name that a loop gives another meaning.
func (f *NonNull) Shadow(name string) *NonNull {
	if f == nil {
		return nil
	}
	rest := f.Next.Shadow(name)
	switch {
	case f.Path == name || strings.HasPrefix(f.Path, name+"."):
		return rest
	case rest == f.Next:
		return f
	}
	return &NonNull{f.Path, rest}
}

func (f *NonNull) AddPaths(paths [][]string) *NonNull {
	for _, path := range paths {
		f = &NonNull{strings.Join(path, "."), f}
	}
	return f
}

func (f *NonNull) Add(paths []string) *NonNull {
	for _, p := range paths {
		f = &NonNull{p, f}
	}
	return f
}

// Branches returns the facts of the two branches of a condition.
func (f *NonNull) Branches(whenTrue, whenFalse []string) (yes, no *NonNull) {
	return f.Add(whenTrue), f.Add(whenFalse)
}
