package shelltext

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// A Script is a shell script whose text is the same in every call. It is immutable and safe for
// concurrent use.
type Script struct {
	text   string
	shell  []string
	values []*scriptValue
	names  []string // environment variables, one for each interpolation

	commands [][]string // see Commands
}

// CompileScript checks a script and compiles it to constant text. It is run by /bin/sh and checked
// as POSIX shell, unless its first line is the #! line of bash. The Script is nil when there are
// errors.
func CompileScript(t *template.Tree, in Inputs) (*Script, hclv2.Diagnostics) {
	c := &scriptCompiler{tree: t, inputs: in}
	return template.Result(c.compile(), &c.Diagnostics)
}

// Text returns the complete script, which first moves the values from the environment to shell
// variables.
func (s *Script) Text() string { return s.text }

// Argv returns the command that runs the script.
func (s *Script) Argv() []string { return append(slices.Clone(s.shell), "-c", s.text) }

// Env returns the environment for the values of one call, as NAME=value. A null is empty. The error
// is a sentence for the model that made the call.
func (s *Script) Env(f template.Frame) ([]string, error) {
	env := make([]string, len(s.values))
	for i, h := range s.values {
		v, err := h.Resolve(f)
		if err != nil {
			return nil, err
		}
		text, _, err := scalarText(v, h.Source)
		if err != nil {
			return nil, err
		}
		env[i] = s.names[i] + "=" + text
	}
	return env, nil
}

type scriptCompiler struct {
	template.Diagnostics
	tree   *template.Tree
	inputs Inputs
	values []*scriptValue
	shell  []string
	lang   syntax.LangVariant
}

func (c *scriptCompiler) compile() *Script {
	if c.inputs.RunsStdin {
		c.Errorf(c.tree.Range, "Script runs its input", runsStdinCommand, "a script")
	}
	if !c.nameValues() {
		return nil
	}
	first := render(c.tree.Nodes, c.values, parameterOf)
	if strings.TrimSpace(first.text) == "" {
		c.Errorf(c.tree.Range, "Empty script", `A script needs at least one command.`)
		return nil
	}
	if !c.readInterpreter(first) || !c.checkCharacters(first) {
		return nil
	}
	file := c.parse(first)
	if file == nil {
		return nil
	}
	findContexts(file, first)
	for _, h := range c.values {
		c.checkContext(h, first)
	}
	final := render(c.tree.Nodes, c.values, expansion)
	placed := c.parse(final)
	if placed == nil {
		return nil
	}
	c.verify(placed, final)
	trackTaint(&c.Diagnostics, placed, final, c)
	s := c.script(final.text)
	s.commands = c.writtenCommands(placed)
	return s
}

// nameValues names the variables of the interpolations and reports those that no script can
// contain.
func (c *scriptCompiler) nameValues() bool {
	var text strings.Builder
	for _, n := range c.tree.Nodes {
		switch n := n.(type) {
		case *template.Text:
			text.WriteString(n.Value)
		case *template.Interpolation:
			c.values = append(c.values, &scriptValue{Interpolation: n})
			c.checkValue(n)
		case *template.If:
			c.Errorf(n.Range, "Structure in a script",
				`The text of a script is the same in every call, so %%{if} has no place in it. Let the `+
					`shell decide: if [ ${...} = true ]; then ...; fi.`)
		case *template.For:
			c.Errorf(n.Range, "Structure in a script",
				`The text of a script is the same in every call, so %%{for} has no place in it. Give the `+
					`list as JSON, ${jsonencode(...)}, or as words of a command = [...].`)
		}
	}
	prefix := unusedPrefix("_v", text.String())
	for i, h := range c.values {
		h.variable = prefix + strconv.Itoa(i)
	}
	return !c.HasErrors()
}

// unusedPrefix extends a prefix until no name in the text begins with it.
func unusedPrefix(prefix, text string) string {
	for strings.Contains(text, prefix) {
		prefix = "_" + prefix
	}
	return prefix
}

func (c *scriptCompiler) checkValue(h *template.Interpolation) {
	if rejectFunction(&c.Diagnostics, h) {
		return
	}
	switch h.Type.Kind {
	case template.List:
		c.Errorf(h.Range, "List in a script",
			`%[1]s is a list, and a value in a script is one string. Write ${jsonencode(%[1]s)} or ${join("\n", `+
				`%[1]s)}, or use command = [...], where each element becomes a word.`, h.Source)
	case template.Object:
		c.Errorf(h.Range, "Object in a script",
			`%[1]s is an object, and a value in a script is one string. Write ${jsonencode(%[1]s)}.`, h.Source)
	case template.File:
		c.Errorf(h.Range, "File in a script",
			`%[1]s is a file, and a value in a script is one string. Write ${%[1]s.path} for a copy that the script `+
				`can read, or send it with stdin = %[1]s.`, h.Source)
	case template.Bytes:
		c.Errorf(h.Range, "Bytes in a script",
			`%[1]s is bytes, and a value in a script is one string. Send it with stdin = %[1]s, or write `+
				`${base64encode(%[1]s)}.`, h.Source)
	}
}

// readInterpreter reads the #! line, which selects sh or bash and can set options.
func (c *scriptCompiler) readInterpreter(l *scriptText) bool {
	c.shell, c.lang = []string{"/bin/sh"}, syntax.LangPOSIX
	line, _, _ := strings.Cut(l.text, "\n")
	line, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return true
	}
	words := strings.Fields(line)
	if len(words) > 0 && (words[0] == "/usr/bin/env" || words[0] == "/bin/env") {
		words = words[1:]
		if len(words) > 0 && words[0] == "-S" {
			words = words[1:]
		}
	}
	name := ""
	if len(words) > 0 {
		name = words[0][strings.LastIndexByte(words[0], '/')+1:]
	}
	switch name {
	case "sh", "dash":
	case "bash":
		c.lang = syntax.LangBash
	default:
		c.Errorf(l.rangeOf(0, len(line)+2), "Interpreter is not a shell",
			`A script is run by sh or bash. For another interpreter keep the program in a file and write `+
				`command = [%q, "file", ...].`, cmp.Or(name, "python3"))
		return false
	}
	for _, w := range words[1:] {
		if w[0] != '-' && w[0] != '+' || strings.Contains(w, "c") && w[1] != '-' || strings.Contains(w, "$") {
			c.Errorf(l.rangeOf(0, len(line)+2), "Wrong interpreter options",
				`After the shell only options such as -e are allowed, not %q.`, w)
			return false
		}
	}
	c.shell = words
	return true
}

func (c *scriptCompiler) checkCharacters(l *scriptText) bool {
	nul, carriageReturn := strings.IndexByte(l.text, 0), strings.IndexByte(l.text, '\r')
	switch {
	case nul >= 0:
		c.Errorf(l.rangeOf(nul, nul+1), "NUL in a script", `A script cannot hold a NUL character.`)
	case carriageReturn >= 0:
		c.Errorf(l.rangeOf(carriageReturn, carriageReturn+1), "Carriage return in script",
			`A shell reads a carriage return as part of the word before it. Save the file with line feeds only.`)
	case len(l.text) > maxWordSize-4096:
		c.Errorf(c.tree.Range, "Script too long",
			`A script can be at most %d bytes long, and this one is %d. Keep it in a file: script_file = "name.sh".`,
			maxWordSize-4096, len(l.text))
	default:
		return true
	}
	return false
}

const maxScriptDepth = 500 // levels of the syntax tree; one $(...) has five

// tooDeep reports nesting whose analysis would take very long.
func tooDeep(file *syntax.File) bool {
	depth, deepest := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		deepest = max(deepest, depth)
		return deepest <= maxScriptDepth
	})
	return deepest > maxScriptDepth
}

func (c *scriptCompiler) parse(l *scriptText) *syntax.File {
	parser := syntax.NewParser(syntax.Variant(c.lang), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(l.text), "")
	if err == nil && !tooDeep(file) {
		return file
	}
	if err == nil {
		c.Errorf(c.tree.Range, "Script nested too deeply",
			`Commands of a script may be nested %d levels deep. Give the inner ones a name: result=$(...).`,
			maxScriptDepth)
	} else if lang, ok := errors.AsType[syntax.LangError](err); ok {
		at := int(lang.Pos.Offset())
		hint := `Write it in POSIX shell, or begin the script with a line "#!/bin/bash".`
		if c.lang == syntax.LangBash {
			hint = `The script is run by bash.`
		}
		c.Errorf(l.rangeOf(at, at+1), "Not in this shell", `%s: not known to the shell that runs the script. %s`,
			lang.Feature, hint)
	} else {
		wrong, _ := errors.AsType[syntax.ParseError](err) // the parser returns no other errors
		at := int(wrong.Pos.Offset())
		c.Errorf(l.rangeOf(at, at+1), "Shell syntax error", `The shell cannot read this script: %s.`, wrong.Text)
	}
	return nil
}

// verify checks that the shell parses every interpolation of the final text as its variable.
func (c *scriptCompiler) verify(file *syntax.File, l *scriptText) {
	seen := map[int]string{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && p.Dollar.IsValid() && p.Exp == nil {
			seen[int(p.Dollar.Offset())] = p.Param.Value
		}
		return true
	})
	for _, p := range l.segments {
		if h := p.value; h != nil && h.context != ctxComment && h.context != ctxRawHereDoc && h.context != ctxNone &&
			seen[p.from+strings.Index(expansion(h), "$")] != h.variable {
			// unreachable: checkContext has rejected such values.
			c.Errorf(h.Range, "Value not allowed here", cannotStand, h.Source)
		}
	}
}

const cannotStand = `The shell would not read %[1]s as a value here: a backslash or a $ before it, or the syntax ` +
	`around it, changes its meaning. Assign it first, x=${%[1]s}, and use "$x".`

func (c *scriptCompiler) script(text string) *Script {
	s := &Script{shell: c.shell, values: c.values}
	prefix := unusedPrefix("HATCHEL_V", text)
	var moves []string
	for i, h := range c.values {
		name := prefix + strconv.Itoa(i)
		s.names, moves = append(s.names, name), append(moves, h.variable+"=$"+name)
	}
	if len(c.values) > 0 {
		// On the same line, so that line numbers of the shell match the source.
		text = strings.Join(moves, " ") + "; unset " + strings.Join(s.names, " ") + "; " + text
	}
	s.text = text
	return s
}
