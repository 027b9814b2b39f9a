package shelltext

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// An Argv is a command compiled to a list of words. It is immutable and safe for concurrent use.
type Argv struct {
	elements         []argvElement
	codeReader       string // the program that runs its standard input as code, or ""
	callerControlled bool   // a word contains text that the caller chooses
}

// CompileArgv checks every list of words that the elements can produce. The Argv is nil if there
// are errors. The diagnostic for an empty list has no range.
func CompileArgv(args []Arg) (*Argv, hclv2.Diagnostics) {
	var d diagnostics
	a := compileArgv(args, hclv2.Range{}, &d)
	if d.list.HasErrors() {
		return nil, d.final()
	}
	return a, d.list
}

func compileArgv(args []Arg, at hclv2.Range, d *diagnostics) *Argv {
	c := argvCheck{diagnostics: d}
	if len(args) == 0 {
		d.errorf(at, "Empty command", `A command is a list of words, the first is the program: ["ls", "-l"].`)
		return nil
	}
	c.checkProgram(&args[0])
	c.checkElements(args)
	a := &Argv{}
	c.checkCode(a, args)
	a.elements = compileElements(args, c.doubleDashes(args))
	return a
}

// ReadsProgram returns the program that runs its standard input as code, such as a shell without a
// script, or "". No value of a call may be in that input.
func (a *Argv) ReadsProgram() string { return a.codeReader }

// Bind appends the words of one call to dst. The error is a sentence for the model that made the
// call.
func (a *Argv) Bind(f template.Frame, dst []string) ([]string, error) {
	b := binder{frame: f, words: dst}
	for i := range a.elements {
		present, err := a.elements[i].bind(&b)
		if err != nil {
			return dst, err
		}
		if !present && a.elements[i].option != "" {
			return dst, fmt.Errorf("%s is null, and %s needs a value after it", a.elements[i].name,
				a.elements[i].option)
		}
	}
	return b.words, nil
}

// argvElement is one compiled Arg.
type argvElement struct {
	name             string // its source
	constant         string // if fixed
	fixed            bool
	endsOptions      bool // it is the -- that ends the options
	nodes            []template.Node
	interpolation    *template.Interpolation
	group            []argvElement
	cond             template.Value
	then, els        *argvElement
	option           string // the constant option before it
	isNull           bool
	mayBeginWithDash bool // the value may begin with a dash
}

func compileElements(args []Arg, ends map[*Arg]bool) []argvElement {
	out := make([]argvElement, len(args))
	for i := range args {
		out[i] = compileElement(&args[i], ends)
		if i > 0 {
			if s, ok := args[i-1].literal(); ok && isOption(s) {
				out[i].option = s
			}
		}
	}
	return out
}

func compileElement(a *Arg, ends map[*Arg]bool) argvElement {
	e := argvElement{name: a.source(), endsOptions: ends[a]}
	if s, ok := a.literal(); ok {
		e.constant, e.fixed = s, true
		return e
	}
	switch {
	case a.Text != nil:
		e.nodes = a.Text.Nodes
	case a.Value != nil:
		e.interpolation, e.mayBeginWithDash = a.Value, isAuthored(a.Value)
	case a.Group != nil:
		e.group = compileElements(a.Group, ends)
	case a.Cond != nil:
		then, els := compileElement(a.Then, ends), compileElement(a.Else, ends)
		e.cond, e.then, e.els = a.Cond, &then, &els
	default:
		e.isNull = true
	}
	return e
}

// isAuthored reports whether the author determines the first character of a value.
func isAuthored(h *template.Interpolation) bool {
	if h.Func == "under" || h.Type.Known {
		return true
	}
	kind := h.Type.Kind
	if kind == template.List && h.Type.Elem != nil {
		kind = h.Type.Elem.Kind
	}
	return kind == template.Enum || kind == template.Number || kind == template.Integer
}

// binder is the state of one Bind.
type binder struct {
	frame            template.Frame
	words            []string
	optionsEnded     bool // a literal -- was rendered
	buf              []byte
	started          bool // the first byte of the element was rendered
	startsTainted    bool // the caller chooses it
	mayBeginWithDash bool // it may be a dash
}

// bind appends the words of one element. It reports false if the element is null.
func (e *argvElement) bind(b *binder) (present bool, err error) {
	switch {
	case e.fixed:
		b.words = append(b.words, e.constant)
		b.optionsEnded = b.optionsEnded || e.endsOptions
		return true, nil
	case e.interpolation != nil:
		return e.bindInterpolation(b)
	case e.nodes != nil:
		return e.bindText(b)
	case e.group != nil:
		return e.bindGroup(b)
	case e.cond != nil:
		yes, err := truth(e.cond, b.frame)
		if err != nil {
			return false, err
		}
		if yes {
			return e.then.bind(b)
		}
		return e.els.bind(b)
	}
	return false, nil
}

func truth(cond template.Value, f template.Frame) (bool, error) {
	v, err := cond(f)
	if err != nil {
		return false, err
	}
	if v, err = value.Resolve(v); err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, and it is %s", article(value.Kind(v)))
	}
	return yes, nil
}

func (e *argvElement) bindGroup(b *binder) (bool, error) {
	n, ended := len(b.words), b.optionsEnded
	for i := range e.group {
		present, err := e.group[i].bind(b)
		if err != nil {
			return false, err
		}
		if !present {
			b.words, b.optionsEnded = b.words[:n], ended
			return false, nil
		}
	}
	return true, nil
}

func (e *argvElement) bindInterpolation(b *binder) (bool, error) {
	v, err := e.interpolation.Value(b.frame)
	if err != nil {
		return false, err
	}
	if v, err = value.Resolve(v); err != nil {
		return false, err
	}
	list, isList := v.([]any)
	if !isList {
		return e.bindScalar(b, v)
	}
	for _, item := range list {
		if item, err = value.Resolve(item); err != nil {
			return false, err
		}
		if _, err := e.bindScalar(b, item); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e *argvElement) bindScalar(b *binder, v any) (bool, error) {
	text, number, ok, err := scalarText(v, e.interpolation.Source)
	if err != nil || !ok {
		return false, err
	}
	if err := rejectDash(b, text, e.interpolation.Source, number || e.mayBeginWithDash); err != nil {
		return false, err
	}
	b.words = append(b.words, text)
	return true, nil
}

func rejectDash(b *binder, text, source string, fine bool) error {
	if b.optionsEnded || fine || text == "" || text[0] != '-' {
		return nil
	}
	return fmt.Errorf("%s begins with \"-\", which the program would read as an option; send a value that "+
		"begins with another character", source)
}

func (e *argvElement) bindText(b *binder) (bool, error) {
	b.buf, b.started, b.startsTainted = b.buf[:0], false, false
	source := ""
	present, err := b.render(e.nodes, &source)
	if err != nil || !present {
		return false, err
	}
	text := string(b.buf)
	if b.startsTainted {
		if err := rejectDash(b, text, source, b.mayBeginWithDash); err != nil {
			return false, err
		}
	}
	if err := checkText(text, e.name); err != nil {
		return false, err
	}
	b.words = append(b.words, text)
	return true, nil
}

// render appends a template to buf and records the origin of its first byte. It reports false if a
// value is null.
func (b *binder) render(nodes []template.Node, source *string) (bool, error) {
	for _, n := range nodes {
		present, err := true, error(nil)
		switch n := n.(type) {
		case *template.Text:
			b.started = b.started || n.Value != ""
			b.buf = append(b.buf, n.Value...)
		case *template.Interpolation:
			present, err = b.renderInterpolation(n, source)
		case *template.If:
			var yes bool
			if yes, err = truth(n.Cond, b.frame); err == nil {
				branch := n.Else
				if yes {
					branch = n.Then
				}
				present, err = b.render(branch, source)
			}
		case *template.For:
			outer := b.frame
			err = n.Over(b.frame, func(f template.Frame) error {
				b.frame = f
				ok, err := b.render(n.Body, source)
				present = present && ok
				return err
			})
			b.frame = outer
		}
		if err != nil || !present {
			return false, err
		}
	}
	return true, nil
}

func (b *binder) renderInterpolation(h *template.Interpolation, source *string) (bool, error) {
	text, number, ok, err := scalar(h, b.frame)
	if err != nil || !ok {
		return false, err
	}
	if !b.started && text != "" {
		b.started, b.startsTainted, b.mayBeginWithDash, *source = true, true, number || isAuthored(h), h.Source
	}
	b.buf = append(b.buf, text...)
	return true, nil
}
