package shelltext

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// The texts that a word can have are kept as patterns, so that a name is known however the script has put it
// together.
const (
	// anyText is a part of a pattern that is not known.
	anyText = "\x00"

	// fixedText begins and ends the name of a part that the script did not write, and that is the same
	// wherever the name is: a variable of the environment, or the output of mktemp. It is taken for no text
	// of the script.
	fixedText = "\x01"

	maxTexts     = 8
	maxTextSize  = 8 << 10 // bytes of one pattern
	maxTextPairs = 1 << 20 // pairs of bytes that mayBeEqual compares
)

var unknownText = []string{anyText}

// noteTexts records texts that a variable can have.
func (a *taintWalk) noteTexts(variable string, texts ...string) {
	if variable == "PATH" {
		texts = searchedFolders(texts)
	}
	for _, text := range texts {
		known := a.texts[variable]
		switch {
		case slices.Contains(known, text) || slices.Contains(known, anyText):
		case len(known) >= maxTexts:
			a.texts[variable], a.changed = unknownText, true
		default:
			a.texts[variable], a.changed = append(known, text), true
		}
	}
}

// variableTexts returns the texts that a variable can have.
func (a *taintWalk) variableTexts(name string, sc scope) []string {
	key := nameKey(name, sc)
	if name == "0" && strings.HasPrefix(sc.function, inlinePrefix) {
		key = argsKey(sc.function)
	}
	if texts, ok := a.texts[key]; ok {
		return texts
	}
	return []string{fixedText + "$" + name + fixedText}
}

// wordTexts returns the texts that a word can have.
func (a *taintWalk) wordTexts(w *syntax.Word, sc scope) []string {
	if w == nil {
		return []string{""}
	}
	return a.partTexts([]string{""}, w.Parts, false, sc)
}

func (a *taintWalk) partTexts(texts []string, parts []syntax.WordPart, quoted bool, sc scope) []string {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			texts = concatenate(texts, []string{literalText(p.Value, quoted)})
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar && strings.Contains(text, `\`) {
				text = anyText
			}
			texts = concatenate(texts, []string{text})
		case *syntax.DblQuoted:
			texts = a.partTexts(texts, p.Parts, true, sc)
		case *syntax.ParamExp:
			texts = concatenate(texts, a.parameterTexts(p, sc))
		case *syntax.CmdSubst:
			texts = concatenate(texts, []string{substitutionText(p)})
		case *syntax.ProcSubst:
			texts = concatenate(texts, []string{fixedAt(p)})
		default:
			texts = concatenate(texts, unknownText)
		}
	}
	return texts
}

// concatenate returns each text with each ending.
func concatenate(texts, endings []string) (out []string) {
	if len(texts)*len(endings) > maxTexts {
		return unknownText
	}
	for _, text := range texts {
		for _, ending := range endings {
			joined := strings.ReplaceAll(text+ending, anyText+anyText, anyText)
			if len(joined) > maxTextSize {
				joined = anyText
			}
			if !slices.Contains(out, joined) {
				out = append(out, joined)
			}
		}
	}
	return out
}

// literalText returns the text of a literal, in which the shell replaces file name patterns and braces.
func literalText(s string, quoted bool) string {
	var out strings.Builder
	patterns := "*?"
	if strings.Contains(s, "]") {
		patterns += "[]"
	}
	if strings.ContainsAny(s, "{}") && (strings.Contains(s, ",") || strings.Contains(s, "..")) {
		patterns += "{}"
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			if i++; s[i] != '\n' {
				out.WriteByte(s[i])
			}
		case !quoted && strings.IndexByte(patterns, c) >= 0:
			out.WriteString(anyText)
		case !quoted && c == '~' && i == 0:
			out.WriteString(fixedText + "~" + fixedText)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// parameterTexts returns the texts that an expansion of a variable can have.
func (a *taintWalk) parameterTexts(p *syntax.ParamExp, sc scope) []string {
	if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil {
		return unknownText
	}
	texts := a.variableTexts(p.Param.Value, sc)
	if p.Exp == nil {
		return texts
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		return concatenate(slices.Concat(texts, a.wordTexts(p.Exp.Word, sc)), []string{""})
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return concatenate(append(a.wordTexts(p.Exp.Word, sc), ""), []string{""})
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return texts
	}
	return unknownText
}

// fixedAt names a text by its position in the script.
func fixedAt(n syntax.Node) string {
	return fmt.Sprintf("%s%d%s", fixedText, n.Pos().Offset(), fixedText)
}

// fixedOutput are commands whose output is no text of the script.
var fixedOutput = template.WordSet("mktemp pwd date hostname id whoami uname nproc git tempfile uuidgen")

// substitutionText returns the output of commands if it is known.
func substitutionText(p *syntax.CmdSubst) string {
	if len(p.Stmts) != 1 {
		return anyText
	}
	call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return anyText
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		words[i] = staticText(w)
	}
	if fixedOutput[words[0]] {
		return fixedAt(p)
	}
	isUnknown := func(s string) bool { return strings.Contains(s, anyText) }
	if slices.ContainsFunc(words, isUnknown) || len(p.Stmts[0].Redirs) > 0 {
		return anyText
	}
	switch {
	case words[0] == "echo" && !strings.Contains(strings.Join(words, ""), `\`):
		return strings.Join(words[1:], " ")
	case words[0] == "printf" && len(words) == 3 && (words[1] == "%s" || words[1] == `%s\n`):
		return words[2]
	case words[0] == "printf" && len(words) == 2 && !strings.ContainsAny(words[1], `%\`):
		return words[1]
	case words[0] == "which" && len(words) == 2, words[0] == "command" && len(words) == 3 && words[1] == "-v",
		words[0] == "type" && len(words) == 3 && words[1] == "-p":
		return words[len(words)-1]
	}
	return anyText
}

// staticText returns the text of a word without expansions, or a pattern.
func staticText(w *syntax.Word) string {
	var out strings.Builder
	for text, p := range flatten(w.Parts) {
		if p != nil {
			text = anyText
		}
		out.WriteString(text)
	}
	return out.String()
}

// unknownVariable is a variable for what is not known in code that a script computes.
const unknownVariable = "_unknown_text_of_the_code"

// codeText returns code for a pattern: what is not known in it is an expansion of a variable.
func codeText(pattern string) string {
	var out strings.Builder
	for i, part := range strings.Split(pattern, fixedText) {
		if i%2 == 1 {
			part = anyText
		}
		out.WriteString(strings.ReplaceAll(part, anyText, "$${"+unknownVariable+"}"))
	}
	return strings.ReplaceAll(out.String(), "$${", "${")
}

// isConstant reports whether a pattern is one text that the script wrote.
func isConstant(pattern string) bool { return !strings.ContainsAny(pattern, anyText+fixedText) }

// mayBeEqual reports whether two patterns have a text in common.
func mayBeEqual(p, q string) bool {
	if len(p)*len(q) > maxTextPairs {
		return true
	}
	// reached[j] reports whether the rest of p from the current byte on and q[j:] may be equal.
	reached := make([]bool, len(q)+1)
	for i := len(p); i >= 0; i-- {
		before := slices.Clone(reached)
		for j := len(q); j >= 0; j-- {
			switch {
			case i == len(p) && j == len(q):
				reached[j] = true
			case i < len(p) && p[i] == anyText[0]:
				reached[j] = before[j] || j < len(q) && reached[j+1]
			case j < len(q) && q[j] == anyText[0]:
				reached[j] = reached[j+1] || i < len(p) && before[j]
			default:
				reached[j] = i < len(p) && j < len(q) && p[i] == q[j] && before[j+1]
			}
		}
	}
	return reached[0]
}
