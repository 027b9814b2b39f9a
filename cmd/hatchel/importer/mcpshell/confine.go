package mcpshell

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/cmd/hatchel/importer"
)

// confine returns the block of a tool that loads without a warning. Where validate finds that a shell may split a value
// or that a program may take it for an option, the input gets a pattern that excludes this.
func (g *generator) confine(t *tool, name string) (string, error) {
	losses := len(g.result.Losses)
	write := func(words map[string]bool) (text string, err error) {
		g.result.Losses = g.result.Losses[:losses]
		t.words = words
		if text, err = g.toolText(t, name); err == nil {
			err = g.check(append(g.secretBlocks(text), text)...)
		}
		return text, err
	}
	words := map[string]bool{}
	text, err := write(words)
	for _, p := range t.order {
		if before := severity(err); before > 0 && p.used && p.kind == "string" {
			words[p.name] = true
			if _, err := write(words); severity(err) >= before {
				delete(words, p.name)
			}
			text, err = write(words)
		}
	}
	return text, err
}

// severity returns the number of warnings, or the maximum if a tool does not load.
func severity(err error) int {
	var warnings importer.Warnings
	switch {
	case err == nil:
		return 0
	case errors.As(err, &warnings):
		return len(warnings)
	}
	return math.MaxInt
}

// wordPattern matches what a shell reads as one word and no program as an option.
const wordPattern = `^([A-Za-z0-9_.:/@%+=,][A-Za-z0-9_.:/@%+=,-]*)?$`

// classPattern matches a pattern that is one class of characters, which may include the dash.
var classPattern = regexp.MustCompile(`^\^\[((?:[A-Za-z0-9]-[A-Za-z0-9]|\\[./]|[A-Za-z0-9_.:/@%+=,])*)\\?-\]([+*])\$$`)

// confineTo gives the input of a parameter a pattern of one word.
func (p *parameter) confineTo() {
	switch m := classPattern.FindStringSubmatch(p.rules.pattern); {
	case m != nil:
		word := "[" + m[1] + "][" + m[1] + "-]*"
		if p.nullable() || m[2] == "*" {
			word = "(" + word + ")?"
		}
		p.rules.pattern = "^" + word + "$"
	case p.rules.pattern == "":
		p.rules.pattern = wordPattern
	}
	if p.nullable() {
		p.Default = ""
	}
}

// printWords replaces echo by printf, which neither changes backslashes nor reads options.
func printWords(script string) string {
	if strings.Contains(script, mark) {
		return script
	}
	var holes []string
	source := hole.ReplaceAllStringFunc(script, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m
		}
		holes = append(holes, m)
		return mark + strconv.Itoa(len(holes)-1) + mark
	})
	source = strings.NewReplacer("$${", "${", "%%{", "%{").Replace(source)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		return script
	}
	var out strings.Builder
	at := uint(0)
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "echo" {
			return true
		}
		args, end := call.Args[1:], `\n`
		if args[0].Lit() == "-n" && len(args) > 1 {
			args, end = args[1:], ""
		}
		expands := false
		for _, w := range args {
			if strings.HasPrefix(w.Lit(), "-") || !isOneWord(w) ||
				keptEscape.MatchString(source[w.Pos().Offset():w.End().Offset()]) {
				return true
			}
			text, _, constant := literal(w)
			expands = expands || !constant || markedPiece.MatchString(text)
		}
		if from := call.Pos().Offset(); expands && from >= at {
			out.WriteString(source[at:from] + "printf '%s" + strings.Repeat(" %s", len(args)-1) + end + "'")
			at = call.Args[len(call.Args)-len(args)-1].End().Offset()
		}
		return true
	})
	printed := out.String() + source[at:]
	return markedPiece.ReplaceAllStringFunc(importer.Template(printed), func(m string) string {
		return holes[index(markedPiece.FindStringSubmatch(m)[1])]
	})
}

// hole matches an interpolation of a script, and what only looks like one.
var hole = regexp.MustCompile(`\$?\$\{input\.[^}]*\}`)

// keptEscape matches a backslash that the shell leaves to echo, which may change it.
var keptEscape = regexp.MustCompile(`\\[^"$]`)

// isOneWord reports whether a shell makes one argument of a word.
func isOneWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[{~") || markedPiece.MatchString(part.Value) {
				return false
			}
		case *syntax.DblQuoted:
			for _, inside := range part.Parts {
				if p, ok := inside.(*syntax.ParamExp); ok && (p.Param == nil || p.Param.Value == "@" || p.Index != nil) {
					return false
				}
			}
		case *syntax.SglQuoted:
		default:
			return false
		}
	}
	return true
}
