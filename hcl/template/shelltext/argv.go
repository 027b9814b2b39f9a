package shelltext

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// An Argv is a command compiled to a list of words. It is immutable and safe for concurrent use.
type Argv struct {
	elements []argvElement
}

// Inputs are the values of a call that programs get besides their words.
type Inputs struct {
	Stdin string // the source of the standard input; "" if a caller controls nothing in it
	Env   map[string]InputValue

	// DataPrograms are the names of programs of which the author declares that they take their words and
	// their input for data.
	DataPrograms []string
	// RunsStdin is set if the author declares that a program in a container runs its standard input as code.
	RunsStdin bool
}

// InputValue is a value of an environment variable.
type InputValue struct {
	Source string
	Type   template.Type
}

// CompileArgv checks every list of words that the elements can produce. The Argv is nil if there
// are errors. The diagnostic for an empty list has no range.
func CompileArgv(args []Arg, in Inputs) (*Argv, hclv2.Diagnostics) {
	var d template.Diagnostics
	keepRepeated(args)
	a, _ := compileArgv(args, hclv2.Range{}, in, in.taintOfStdin(), &d)
	return template.Result(a, &d)
}

// compileArgv returns a command and the taint that its words and its input give to its output.
func compileArgv(args []Arg, at hclv2.Range, in Inputs, stdin taint, d *template.Diagnostics) (*Argv, taint) {
	a := &Argv{}
	if len(args) == 0 {
		d.Errorf(at, "Empty command", `A command is a list of words, the first is the program: ["ls", "-l"].`)
		return a, stdin
	}
	c := argvCheck{d, in}
	c.checkProgram(&args[0])
	for i := range args {
		c.checkElement(&args[i])
	}
	c.checkOptions(args)
	ends := in.doubleDashes(args)
	c.checkDashes(args, ends)
	a.elements = compileElements(args, ends)
	if in.RunsStdin {
		c.checkContainer(args)
	}
	out := c.checkCode(args, stdin)
	c.checkPaths(args)
	return a, out
}

// Constants returns the words that are the same in every call, of all branches.
func (a *Argv) Constants() []string { return constants(a.elements) }

// Programs returns the names of programs that are the same in every call, of all branches.
func (a *Argv) Programs() []string { return constants(a.elements[:min(1, len(a.elements))]) }

func constants(elements []argvElement) (words []string) {
	for _, e := range elements {
		switch {
		case e.fixed:
			words = append(words, e.constant)
		case e.Cond != nil:
			words = append(words, constants([]argvElement{*e.then, *e.els})...)
		default:
			words = append(words, constants(e.group)...)
		}
	}
	return words
}

// Bind appends the words of one call to dst. The error is a sentence for the model that made the
// call.
func (a *Argv) Bind(f template.Frame, dst []string) ([]string, error) {
	b := binder{frame: f}
	return a.bind(&b, dst)
}

func (a *Argv) bind(b *binder, dst []string) ([]string, error) {
	b.words, b.optionsEnded = dst, false
	for i := range a.elements {
		e := &a.elements[i]
		present, err := e.bind(b)
		if err != nil {
			return dst, err
		}
		if !present && e.option != "" {
			return dst, fmt.Errorf("%s is null, and %s needs a value after it", e.source(), e.option)
		}
	}
	return b.words, nil
}

// argvElement is one compiled Arg.
type argvElement struct {
	*Arg
	constant         string // if fixed
	fixed            bool
	endsOptions      bool   // it is the -- that ends the options
	option           string // the constant option before it
	mayBeginWithDash bool   // the value may begin with a dash
	group            []argvElement
	then, els        *argvElement // of a condition
}

func compileElements(args []Arg, ends map[*Arg]bool) []argvElement {
	out := make([]argvElement, len(args))
	for i := range args {
		out[i] = compileElement(&args[i], ends)
		if i > 0 {
			if s, _ := args[i-1].literal(); isOption(s) {
				out[i].option = s
			}
		}
	}
	return out
}

func compileElement(a *Arg, ends map[*Arg]bool) argvElement {
	e := argvElement{Arg: a, endsOptions: ends[a]}
	e.constant, e.fixed = a.literal()
	switch {
	case e.fixed:
	case a.Value != nil:
		e.mayBeginWithDash = isAuthored(a.Value)
	case a.Group != nil:
		e.group = compileElements(a.Group, ends)
	case a.Cond != nil:
		then, els := compileElement(a.Then, ends), compileElement(a.Else, ends)
		e.then, e.els = &then, &els
	}
	return e
}

// isAuthored reports whether the author determines the first character of a value.
func isAuthored(h *template.Interpolation) bool {
	if h.Type.Path == template.PathUnder || h.Type.Known {
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
	started          bool                    // the first byte of the element was rendered
	first            *template.Interpolation // the value that it belongs to, or nil
	mayBeginWithDash bool                    // it may be a dash

	decisions template.Decisions
}

// bind appends the words of one element. It reports false if the element is null.
func (e *argvElement) bind(b *binder) (present bool, err error) {
	switch {
	case e.fixed:
		b.words = append(b.words, e.constant)
		b.optionsEnded = b.optionsEnded || e.endsOptions
		return true, nil
	case e.Value != nil:
		return e.bindInterpolation(b)
	case e.Text != nil:
		return e.bindText(b)
	case e.Over != nil:
		return true, e.bindLoop(b)
	case e.Group != nil:
		return e.bindGroup(b)
	case e.Cond != nil:
		yes, err := b.decisions.Holds(&e.Condition, b.frame)
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

func (e *argvElement) bindLoop(b *binder) error {
	outer, made := b.frame, b.decisions
	err := e.Over(outer, func(f template.Frame) error {
		b.frame, b.decisions = f, template.Decisions{}
		_, err := e.bindGroup(b)
		return err
	})
	b.frame, b.decisions = outer, made
	return err
}

func (e *argvElement) bindInterpolation(b *binder) (bool, error) {
	v, err := e.Value.Resolve(b.frame)
	if err != nil {
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
	text, present, err := scalarText(v, e.Value.Source)
	if err != nil || !present {
		return false, err
	}
	if err := b.rejectDash(text, e.Value, e.mayBeginWithDash || value.IsNumber(v)); err != nil {
		return false, err
	}
	b.words = append(b.words, text)
	return true, nil
}

// rejectDash rejects a word that the program would read as an option and whose first byte belongs
// to a value of the call.
func (b *binder) rejectDash(text string, h *template.Interpolation, mayBeginWithDash bool) error {
	if b.optionsEnded || mayBeginWithDash || text == "" || text[0] != '-' {
		return nil
	}
	return fmt.Errorf("%s begins with \"-\", which the program would read as an option; send a value that "+
		"begins with another character", h.Source)
}

func (e *argvElement) bindText(b *binder) (bool, error) {
	b.buf, b.started, b.first = b.buf[:0], false, nil
	present, err := b.render(e.Text.Nodes)
	if err != nil || !present {
		return false, err
	}
	text := string(b.buf)
	if err := b.rejectDash(text, b.first, b.first == nil || b.mayBeginWithDash); err != nil {
		return false, err
	}
	if err := checkText(text, e.source()); err != nil {
		return false, err
	}
	b.words = append(b.words, text)
	return true, nil
}

// render appends a template to buf and records the origin of its first byte. It reports false if a
// value is null.
func (b *binder) render(nodes []template.Node) (bool, error) {
	for _, n := range nodes {
		present, err := true, error(nil)
		switch n := n.(type) {
		case *template.Text:
			b.started = b.started || n.Value != ""
			b.buf = append(b.buf, n.Value...)
		case *template.Interpolation:
			present, err = b.renderInterpolation(n)
		case *template.If:
			var branch []template.Node
			if branch, err = b.decisions.Branch(n, b.frame); err == nil {
				present, err = b.render(branch)
			}
		case *template.For:
			outer := b.frame
			err = n.Over(b.frame, func(f template.Frame) error {
				b.frame = f
				b.decisions.Forget(n.Choices)
				ok, err := b.render(n.Body)
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

func (b *binder) renderInterpolation(h *template.Interpolation) (bool, error) {
	v, err := h.Resolve(b.frame)
	if err != nil {
		return false, err
	}
	text, present, err := scalarText(v, h.Source)
	if err != nil || !present {
		return false, err
	}
	if !b.started && text != "" {
		b.started, b.first, b.mayBeginWithDash = true, h, value.IsNumber(v) || isAuthored(h)
	}
	b.buf = append(b.buf, text...)
	return true, nil
}
