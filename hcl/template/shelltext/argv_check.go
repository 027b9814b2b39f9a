package shelltext

import (
	"fmt"
	"strings"

	"hatchel/hcl/template"
	"hatchel/internal/lazyregexp"
)

// argvCheck checks a list of words at load.
type argvCheck struct {
	*template.Diagnostics
	inputs Inputs
}

// checkProgram checks the program's name.
func (c argvCheck) checkProgram(a *Arg) {
	s, ok := a.literal()
	switch {
	case !ok && a.Group != nil:
		first := a
		for len(first.Group) > 0 {
			first = &first.Group[0]
		}
		c.Errorf(a.Range, "Nested first element",
			`The first word names the program and cannot be in a group. Write it outside: [%s, ...].`, first.source())
	case !ok:
		c.Errorf(a.Range, "Program depends on a call",
			`The first word names the program to run and cannot depend on a call, and %s does. Write the program's `+
				`name as text, and one tool for each program.`, a.source())
	case s == "":
		c.Errorf(a.Range, "Empty program name", `The first word names the program to run, and it is empty.`)
	case strings.ContainsAny(s, " \t\n") && !strings.Contains(s, "/"):
		words, advice := strings.Fields(s), ""
		for i, w := range words {
			words[i] = fmt.Sprintf("%q", w)
		}
		if strings.Contains(s, "|") {
			advice = " " + operator["|"]
		}
		c.Warnf(a.Range, "Several words in one", `Each word of a command is an element of its own: [%s].%s`,
			strings.Join(words, ", "), advice)
	}
}

// checkOptions reports an element that may be omitted after an option that is always present. A
// group omits both.
func (c argvCheck) checkOptions(args []Arg) {
	for i := 1; i < len(args); i++ {
		a := &args[i]
		if option, _ := args[i-1].literal(); isOption(option) && a.nullable() {
			c.Errorf(a.Range, "Option may lose its value",
				`%[1]s may be null and is then left out, but the %[2]q before it stays. Write both as one group, `+
					`which is left out as a whole: [%[3]s, %[1]s]. If %[2]s takes no value, write it after %[1]s.`,
				a.source(), option, args[i-1].source())
		}
	}
}

// checkDashes reports values that begin with a dash of the author but count as the caller's: a call
// would be refused.
func (c argvCheck) checkDashes(args []Arg, ends map[*Arg]bool) {
	for i := range args {
		for _, leaf := range args[i].leaves() {
			var first *template.Interpolation
			switch {
			case ends[leaf] && leaf == &args[i]:
				return
			case leaf.Value != nil:
				first = leaf.Value
			case leaf.Text != nil && len(leaf.Text.Nodes) > 0:
				first, _ = leaf.Text.Nodes[0].(*template.Interpolation)
			}
			if first != nil && first.Type.Dash && !isAuthored(first) {
				c.Errorf(first.Range, "Option counts as the caller's",
					`%s begins with "-" and is more than a choice among texts that you wrote, so the call would be `+
						`refused. Write the word here, as in "--name=${input.name}" or, for a list, [for x in `+
						`input.names : "--name=${x}"]; or write "--" before it if it is no option.`, first.Source)
			}
		}
	}
}

// isOption reports whether a word is an option that may take the next word as its argument.
func isOption(s string) bool {
	rest, ok := strings.CutPrefix(s, "-")
	rest = strings.TrimPrefix(rest, "-")
	return ok && rest != "" && !strings.Contains(rest, "=") &&
		(rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= '0' && rest[0] <= '9')
}

func (c argvCheck) checkElement(a *Arg) {
	switch {
	case a.Group != nil:
		if len(a.Group) == 0 {
			c.Errorf(a.Range, "Empty group", `A group holds words that are omitted together: ["-n", input.n].`)
		}
		for i := range a.Group {
			c.checkElement(&a.Group[i])
		}
	case a.Cond != nil:
		c.checkElement(a.Then)
		c.checkElement(a.Else)
	case a.Value != nil && a.Value.Type.Kind == template.List:
		c.checkList(a.Value)
	case a.Value != nil:
		c.checkScalar(a.Value)
	case a.Text != nil:
		c.checkText(a)
		c.lintShellSyntax(a)
	}
}

// notText are the kinds of elements that cannot be words.
var notText = map[template.Kind]string{template.List: "lists", template.Object: "objects", template.File: "files",
	template.Bytes: "bytes"}

// checkList checks an element that is a list of words.
func (c argvCheck) checkList(h *template.Interpolation) {
	elements := h.Type.Tuple
	if h.Type.Elem != nil {
		elements = append(elements, *h.Type.Elem)
	}
	for _, e := range elements {
		if notText[e.Kind] != "" {
			c.Errorf(h.Range, "Word is not text",
				`%[1]s is a list whose elements are %[2]s; each element becomes one word and must be a string, number `+
					`or bool. For JSON in one word write jsonencode(%[1]s).`, h.Source, notText[e.Kind])
			return
		}
	}
}

func (c argvCheck) checkScalar(h *template.Interpolation) {
	if rejectFunction(c.Diagnostics, h) {
		return
	}
	switch h.Type.Kind {
	case template.List:
		c.Errorf(h.Range, "List inside a word",
			`%[1]s is a list and cannot be a part of a word. As an element of its own, it becomes one word for each `+
				`of its elements: [..., %[1]s]. For one word write join(",", %[1]s) or jsonencode(%[1]s).`, h.Source)
	case template.Object:
		c.Errorf(h.Range, "Word is not text",
			`%[1]s is an object and a word is text. For JSON write jsonencode(%[1]s).`, h.Source)
	case template.File:
		c.Errorf(h.Range, "Word is not text",
			`%[1]s is a file and a word is text. Write %[1]s.path for a copy that the program can read, or send it `+
				`with stdin = %[1]s.`, h.Source)
	case template.Bytes:
		c.Errorf(h.Range, "Word is not text",
			`%[1]s is bytes and a word is text. Send it with stdin = %[1]s, or write base64encode(%[1]s).`, h.Source)
	}
}

// rejectFunction reports functions of other template contexts.
func rejectFunction(d *template.Diagnostics, h *template.Interpolation) bool {
	arg := h.FirstArg().Source
	switch h.Func {
	case "ident", "raw":
		d.Errorf(h.Range, "Function of another context", `%s() belongs to SQL. Write the value alone: %s.`, h.Func, arg)
	case "path", "segment":
		d.Errorf(h.Range, "Function of another context",
			`%s() belongs to URLs. For a file below a folder write under("/folder", %s).`, h.Func, arg)
	default:
		return false
	}
	return true
}

// checkText checks an element that is a template.
func (c argvCheck) checkText(a *Arg) {
	for _, h := range a.values() {
		c.checkScalar(h)
	}
	nodes := a.Text.Nodes
	for _, n := range nodes {
		if s, ok := n.(*template.Text); ok {
			if i := strings.IndexByte(s.Value, 0); i >= 0 {
				c.Errorf(s.Place(i, i+1), "NUL in a word", `No program can be given a NUL character.`)
			}
		}
	}
	if len(nodes) >= 2 {
		text, ok := nodes[0].(*template.Text)
		h, isInterpolation := nodes[1].(*template.Interpolation)
		if ok && isInterpolation && CallerControlled(h.Type) && h.Type.Path != template.PathUnder &&
			(text.Value == "-" || text.Value == "--") {
			c.Errorf(h.Range, "Option chosen by a call",
				`The caller of this tool would choose an option of the program. Make %s an enum, or write the options `+
					`as text: input.all ? "--all" : null.`, h.Source)
		}
	}
}

// checkPaths reports words that are paths and that a caller's value can make leave their folder.
func (c argvCheck) checkPaths(args []Arg) {
	for _, leaf := range (&Arg{Group: args}).leaves() {
		var unsafe []*template.Interpolation
		if leaf.Text != nil {
			_, unsafe = template.PathOf(leaf.Text.Nodes)
		} else if leaf.Value != nil && leaf.Value.Type.Path == template.PathUnsafe {
			unsafe = leaf.values()
		}
		for _, h := range unsafe {
			if !c.HasErrorAt(leaf.Range) {
				c.Errorf(h.Range, LoosePath, "%s", LoosePathDetail(h.Source, "the word is a path", leaf.isList()))
			}
		}
	}
}

// LoosePath is the summary of the diagnostic of a path that a caller's value can make leave its folder.
const LoosePath = "Path may leave its folder"

// LoosePathDetail explains how the source of a value, or of a list of them, becomes a safe path.
func LoosePathDetail(source, why string, isList bool) string {
	below, in := `under("folder", `+source+")", "filename("+source+")"
	if isList {
		below, in = "[for x in "+source+` : under("folder", x)]`, "[for x in "+source+" : filename(x)]"
	}
	return source + " may hold a slash or begin with a dot, and " + why + ". For a path below a folder write " + below +
		", for a name in it " + in + `, or give the input a pattern such as "^[a-z0-9-]+$".`
}

// CallerControlled reports whether the caller chooses the text of a value, within its type.
func CallerControlled(t template.Type) bool {
	switch t.Kind {
	case template.Number, template.Integer, template.Bool, template.Enum:
		return false
	}
	return !t.Known
}

// Words with shell syntax.
var (
	variable = lazyregexp.New(`^\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})$`)
	operator = map[string]string{
		"|": "A pipe is written pipe = [[…], […]].", "|&": "A pipe is written pipe = [[…], […]].",
		"&&": "Several commands are a script, or steps.", "||": "Several commands are a script, or steps.",
		">":  "Write the output with a file block in a step, or use a script.",
		">>": "Write the output with a file block in a step, or use a script.",
		"<":  "The input of a command is stdin = ….", "2>&1": `Write stderr = "merge".`,
		"2>/dev/null": "Standard error is captured separately already.",
	}
)

// lintShellSyntax warns about a word with shell syntax: a command has no shell, so the program
// receives the word literally.
func (c argvCheck) lintShellSyntax(a *Arg) {
	s, _ := a.literal()
	advice := operator[s]
	switch {
	case advice != "":
	case variable.MatchString(s):
		advice = "Name the variable in inherit_env and read it in the program or a script."
	case s == "~" || strings.HasPrefix(s, "~/"):
		advice = "Write the whole path."
	default:
		return
	}
	c.Warnf(a.Range, "Word for a shell",
		`A command runs without a shell, and the program receives %q as an argument. %s`, s, advice)
}
