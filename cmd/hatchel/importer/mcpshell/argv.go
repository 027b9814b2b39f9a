package mcpshell

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/cmd/hatchel/importer"
)

// mark begins and ends the number of a piece in a command that a shell parser reads.
const mark = "HATCHELHOLE"

var markedPiece = regexp.MustCompile(mark + `([0-9]+)` + mark)

// argv writes a template as the words of one program, or returns nil if a shell has work to do. merges reports
// whether its error output is part of the answer.
func argv(pieces []piece) (words []string, merges bool) {
	var source strings.Builder
	for i, p := range pieces {
		if p.env != "" || strings.Contains(p.text, mark) {
			return nil, false
		}
		source.WriteString(p.text)
		if p.text == "" {
			source.WriteString(mark + strconv.Itoa(i) + mark)
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source.String()), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || stmt.Background || stmt.Negated || len(stmt.Redirs) > 1 {
		return nil, false
	}
	for _, r := range stmt.Redirs {
		if r.Op != syntax.DplOut || r.N == nil || r.N.Value != "2" || r.Word.Lit() != "1" {
			return nil, false
		}
		merges = true
	}
	for i, w := range call.Args {
		text, quoted, ok := literal(w)
		if !ok || i == 0 && (builtins[text] || markedPiece.MatchString(text)) {
			return nil, false
		}
		more, ok := argument(text, pieces, quoted)
		if !ok {
			return nil, false
		}
		words = append(words, more...)
	}
	return words, merges
}

// builtins are commands that a shell runs itself.
var builtins = map[string]bool{"cd": true, "export": true, "set": true, "source": true, ".": true, "eval": true,
	"exec": true, "exit": true, "read": true, "type": true, "ulimit": true, "umask": true, "unset": true, "alias": true,
	"command": true, "trap": true, "wait": true, "return": true, "shift": true, "local": true, "declare": true,
	":": true}

// literal returns the text of a word that a shell would not change, and whether a part of it is quoted.
func literal(w *syntax.Word) (text string, quoted, ok bool) {
	var parts func(list []syntax.WordPart, inQuotes bool) bool
	parts = func(list []syntax.WordPart, inQuotes bool) bool {
		for _, part := range list {
			switch part := part.(type) {
			case *syntax.Lit:
				value := part.Value
				if !inQuotes && strings.ContainsAny(value, `*?[]{}~\`) || inQuotes && strings.Contains(value, `\`) {
					return false
				}
				text += value
			case *syntax.SglQuoted:
				if part.Dollar {
					return false
				}
				text, quoted = text+part.Value, true
			case *syntax.DblQuoted:
				if quoted = true; part.Dollar || !parts(part.Parts, true) {
					return false
				}
			default:
				return false
			}
		}
		return true
	}
	ok = parts(w.Parts, false)
	return text, quoted, ok
}

// argument writes one word. A condition that is a word of its own becomes the words of its branches.
func argument(text string, pieces []piece, quoted bool) (words []string, ok bool) {
	if importer.Hidden(text) {
		return nil, false
	}
	marks := markedPiece.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 1 && marks[0][0] == 0 && marks[0][1] == len(text) {
		p := pieces[index(text[marks[0][2]:marks[0][3]])]
		switch {
		case p.param != nil && p.param.kind == "string":
			return []string{p.param.ref()}, true
		case p.condition != nil && !quoted:
			return conditional(p)
		}
	}
	out, at := "", 0
	for _, h := range marks {
		p := pieces[index(text[h[2]:h[3]])]
		if p.param == nil {
			return nil, false
		}
		out += inner(text[at:h[0]]) + p.param.interpolation()
		at = h[1]
	}
	return []string{`"` + out + inner(text[at:]) + `"`}, true
}

// conditional writes the words of both branches of a condition.
func conditional(p piece) (words []string, ok bool) {
	for i, branch := range [][]piece{p.then, p.els} {
		if len(branch) == 0 {
			continue
		}
		branch = append([]piece{{text: "x "}}, branch...) // a program, so that the words are arguments
		below, merges := argv(branch)
		if below == nil || merges {
			return nil, false
		}
		for _, word := range below[1:] {
			if i == 0 {
				words = append(words, p.condition.hcl+" ? "+word+" : null")
			} else {
				words = append(words, p.condition.hcl+" ? null : "+word)
			}
		}
	}
	return words, true
}

func index(digits string) int {
	i, _ := strconv.Atoi(digits)
	return i
}

// inner returns text for the inside of a quoted template.
func inner(s string) string {
	quoted := importer.Quote(s)
	return quoted[1 : len(quoted)-1]
}
