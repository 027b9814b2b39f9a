package template

import (
	"strings"

	"hatchel/internal/lazyregexp"
)

// PathKind is what is known of a text as a path. Of two kinds the smaller one holds for a text that may be either.
type PathKind int

const (
	PathUnsafe PathKind = iota - 1 // a caller's value in it can make it leave its folder
	PathUnknown
	PathSafe  // no caller's value in it can hold a slash or begin with a dot
	PathUnder // it is a result of under
)

// SafeInPath reports whether the value can be a part of a path that stays in its folder.
func (t Type) SafeInPath() bool {
	switch {
	case t.Known || t.FileName || t.Path >= PathSafe:
		return true
	case t.Kind == List && t.Elem != nil:
		return t.Elem.SafeInPath()
	}
	return t.Kind == Number || t.Kind == Integer || t.Kind == Bool || t.Kind == Enum
}

// PathOf returns what is known of a template as a path, and the values that make it unsafe.
func PathOf(nodes []Node) (kind PathKind, unsafe []*Interpolation) {
	w := pathWalk{safe: true}
	w.walk(nodes, &PathPrefix{})
	switch {
	case len(w.unsafe) > 0:
		return PathUnsafe, w.unsafe
	case w.safe:
		return PathSafe, nil
	}
	return PathUnknown, nil
}

type pathWalk struct {
	unsafe []*Interpolation
	safe   bool // all values so far are
}

func (w *pathWalk) walk(nodes []Node, p *PathPrefix) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *Text:
			p.AddText(n.Value)
		case *Interpolation:
			w.value(n, p)
		case *If:
			then := *p
			w.walk(n.Else, p)
			w.walk(n.Then, &then)
			if then.IsPath() {
				*p = then
			}
		case *For:
			body := *p
			w.walk(n.Body, &body)
		}
	}
}

func (w *pathWalk) value(h *Interpolation, p *PathPrefix) {
	safe := h.Type.SafeInPath()
	if w.safe = w.safe && safe; !safe && (p.IsPath() || h.Type.Path == PathUnsafe && p.text == "") {
		w.unsafe = append(w.unsafe, h)
	}
	switch texts := h.Type.Texts(); {
	case len(texts) > 0:
		p.AddDir(texts[0])
	case h.Type.Path == PathUnder:
		p.AddDir("dir")
	default:
		p.AddText("value")
	}
}

// PathPrefix is the text before a value, as far as it decides whether the value is in a path.
type PathPrefix struct {
	text string
	dir  bool // it begins with a variable, a local or another constant, which may be a directory
}

// maxPathPrefix is how many bytes of a prefix are kept. No path is longer on Linux.
const maxPathPrefix = 4096

// AddText appends text of the author.
func (p *PathPrefix) AddText(s string) {
	if len(p.text) < maxPathPrefix {
		p.text += s
	}
}

// AddDir appends the value of a constant.
func (p *PathPrefix) AddDir(s string) {
	p.dir = p.dir || p.afterOption() == ""
	p.AddText(s)
}

// afterOption returns the prefix without the name of an option whose value follows in the same word.
func (p *PathPrefix) afterOption() string {
	if name, value, ok := strings.Cut(p.text, "="); ok && optionName.MatchString(name) {
		return value
	}
	return p.text
}

// IsPath reports whether a value after the prefix is in a path.
func (p *PathPrefix) IsPath() bool {
	text := p.afterOption()
	for _, start := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return p.dir && strings.Contains(text, "/") && !strings.Contains(text, "://")
}

var optionName = lazyregexp.New(`^-{0,2}[\w-]+$`)
