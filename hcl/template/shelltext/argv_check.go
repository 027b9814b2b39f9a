package shelltext

import (
	"fmt"
	"strings"

	"hatchel/hcl/template"
)

// argvCheck checks a list of words at load.
type argvCheck struct{ *diagnostics }

// checkProgram checks the program's name.
func (c argvCheck) checkProgram(a *Arg) {
	s, ok := a.literal()
	switch {
	case !ok && a.Group != nil:
		c.errorf(a.Range, "Nested first element",
			`The first word names the program and cannot be in a group. Write it outside: [%s, ...].`,
			first(a).source())
	case !ok:
		c.errorf(a.Range, "Program depends on a call",
			`The first word names the program to run and cannot depend on a call, and %s does. Write the `+
				`program's name as text, and one tool for each program.`, a.source())
	case s == "":
		c.errorf(a.Range, "Empty program name", `The first word names the program to run, and it is empty.`)
	case strings.ContainsAny(s, " \t\n") && !strings.Contains(s, "/"):
		advice := ""
		if strings.Contains(s, "|") {
			advice = " " + operator["|"]
		}
		c.warnf(a.Range, "Several words in one", `Each word of a command is an element of its own: [%s].%s`,
			quoteAll(strings.Fields(s)), advice)
	}
}

func first(a *Arg) *Arg {
	for len(a.Group) > 0 {
		a = &a.Group[0]
	}
	return a
}

func quoteAll(words []string) string {
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(words, ", ")
}

// checkElements checks each element, and each option with its argument.
func (c argvCheck) checkElements(args []Arg) {
	for i := range args {
		c.checkElement(&args[i])
	}
	c.checkOptions(args)
}

// checkOptions reports an element that may be omitted after an option that is always present. A
// group omits both.
func (c argvCheck) checkOptions(args []Arg) {
	for i := range args {
		a := &args[i]
		if i == 0 || !a.nullable() {
			continue
		}
		if option, ok := args[i-1].literal(); ok && isOption(option) {
			c.errorf(a.Range, "Option may lose its value",
				`%s may be null and is then left out, but the %q before it stays. Write both as one group, `+
					`which is left out as a whole: [%s, %s]. If %s takes no value, write it after %s.`,
				a.source(), option, args[i-1].source(), a.source(), option, a.source())
		}
	}
}

// isOption reports whether a word is an option that may take the next word as its argument.
func isOption(s string) bool {
	rest, ok := strings.CutPrefix(s, "-")
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(rest, "-")
	return rest != "" && !strings.Contains(rest, "=") &&
		(rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= '0' && rest[0] <= '9')
}

func (c argvCheck) checkElement(a *Arg) {
	switch {
	case a.Group != nil:
		if len(a.Group) == 0 {
			c.errorf(a.Range, "Empty group", `A group holds words that are omitted together: ["-n", input.n].`)
		}
		for i := range a.Group {
			c.checkElement(&a.Group[i])
		}
	case a.Cond != nil:
		c.checkElement(a.Then)
		c.checkElement(a.Else)
	case a.Value != nil:
		c.checkValue(a.Value)
	case a.Text != nil:
		c.checkText(a.Text)
		c.lintShellSyntax(a)
	}
}

// checkValue checks an element that is one value.
func (c argvCheck) checkValue(h *template.Interpolation) {
	t := h.Type
	if t.Kind == template.List {
		for _, e := range append(t.Tuple, elem(t)...) {
			switch e.Kind {
			case template.List, template.Object, template.Bytes, template.File:
				c.errorf(h.Range, "Word is not text",
					`%s is a list whose elements are %s; each element becomes one word and must be a `+
						`string, number or bool. For JSON in one word write `+
						`jsonencode(%s).`, h.Source, plural(e.Kind), h.Source)
				return
			}
		}
		return
	}
	c.checkScalar(h)
}

func elem(t template.Type) []template.Type {
	if t.Elem == nil {
		return nil
	}
	return []template.Type{*t.Elem}
}

func (c argvCheck) checkScalar(h *template.Interpolation) {
	if c.rejectFunction(h) {
		return
	}
	switch h.Type.Kind {
	case template.List:
		c.errorf(h.Range, "List inside a word",
			`%s is a list and cannot be a part of a word. As an element of its own, it becomes one word for `+
				`each of its elements: [..., %s]. For one word write join(",", %s) or `+
				`jsonencode(%s).`, h.Source, h.Source, h.Source, h.Source)
	case template.Object:
		c.errorf(h.Range, "Word is not text", `%s is an object and a word is text. For JSON write jsonencode(%s).`,
			h.Source, h.Source)
	case template.File:
		c.errorf(h.Range, "Word is not text",
			`%s is a file and a word is text. Write %s.path for a copy that the program can read, or send `+
				`it with stdin = %s.`, h.Source, h.Source, h.Source)
	case template.Bytes:
		c.errorf(h.Range, "Word is not text",
			`%s is bytes and a word is text. Send it with stdin = %s, or write base64encode(%s).`, h.Source, h.Source,
			h.Source)
	}
}

// rejectFunction reports functions of other template contexts.
func (d *diagnostics) rejectFunction(h *template.Interpolation) bool {
	switch h.Func {
	case "ident", "raw":
		d.errorf(h.Range, "Function of another context", `%s() belongs to SQL. Write the value alone: %s.`, h.Func,
			argument(h))
	case "path":
		d.errorf(h.Range, "Function of another context",
			`path() belongs to URLs. For a file below a folder write under("/folder", %s).`, argument(h))
	default:
		return false
	}
	return true
}

func argument(h *template.Interpolation) string {
	if len(h.Args) == 0 {
		return h.Source
	}
	return h.Args[0].Source
}

func plural(k template.Kind) string {
	switch k {
	case template.List:
		return "lists"
	case template.Object:
		return "objects"
	case template.File:
		return "files"
	}
	return "bytes"
}

// checkText checks an element that is a template.
func (c argvCheck) checkText(t *template.Tree) {
	walkValues(t.Nodes, func(h *template.Interpolation) { c.checkScalar(h) })
	for _, n := range t.Nodes {
		if s, ok := n.(*template.Text); ok {
			if i := strings.IndexByte(s.Value, 0); i >= 0 {
				c.errorf(s.Place(i, i+1), "NUL in a word", `No program can be given a NUL character.`)
			}
		}
	}
	if len(t.Nodes) < 2 {
		return
	}
	text, ok := t.Nodes[0].(*template.Text)
	h, hole := t.Nodes[1].(*template.Interpolation)
	if !ok || !hole || !callerControlled(h.Type) || h.Func == "under" {
		return
	}
	if text.Value == "-" || text.Value == "--" {
		c.errorf(h.Range, "Option chosen by a call",
			`The caller of this tool would choose an option of the program. Make %s an enum, or write the `+
				`options as text: input.all ? "--all" : null.`, h.Source)
	}
	if folder, ok := looksLikeFolder(text.Value); ok {
		c.warnf(h.Range, "Path may leave its folder",
			`%s may hold "..". To stay below the folder write under(%q, %s).`, h.Source, folder, h.Source)
	}
}

// looksLikeFolder reports whether the text before a value is the path of a folder.
func looksLikeFolder(s string) (string, bool) {
	if !strings.HasSuffix(s, "/") || !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "./") &&
		!strings.HasPrefix(s, "../") {
		return "", false
	}
	folder := strings.TrimRight(s, "/")
	return folder, folder != ""
}
