package lint

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
)

const allowPrefix = "lint:allow"

// allowance is a comment that allows the findings of a rule in the lines from first to last.
type allowance struct {
	rule        string
	file        string
	first, last int
	at          diag.Range
	used        bool
}

// applyComments returns the findings that no comment allows, and the number of the others. A comment allows the
// findings of a rule on its line, or, alone on its line, in the argument or block that begins below it.
func (c *checker) applyComments() (left []Finding, allowed int) {
	var all []*allowance
	for _, f := range c.sources {
		if strings.Contains(string(f.src), allowPrefix) {
			all = append(all, c.readComments(f)...)
		}
	}
	for _, f := range c.found {
		covered := false
		for _, a := range all {
			if a.rule == f.Rule && (a.covers(f.Subject) || a.covers(f.block)) {
				a.used, covered = true, true
			}
		}
		if covered {
			allowed++
		} else {
			left = append(left, f)
		}
	}
	for _, a := range all {
		if !a.used {
			d := &diag.Diagnostic{Severity: diag.Warning, Summary: "Unused comment", Subject: a.at}
			d.Detail = fmt.Sprintf("There is no finding of the rule %s here. Remove the comment.", a.rule)
			left = append(left, Finding{"allow", d, diag.Range{}})
		}
	}
	return left, allowed
}

// covers reports whether a range begins in the lines of the allowance.
func (a *allowance) covers(r diag.Range) bool {
	return a.file == r.File && a.first <= r.Start.Line && r.Start.Line <= a.last
}

// readComments returns the allowances of a file and reports those that are wrong.
func (c *checker) readComments(f *sourceFile) (all []*allowance) {
	toks, _ := hclsyntax.LexConfig(f.src, f.name, hclv2.InitialPos)
	for i, t := range toks {
		text, ok := strings.CutPrefix(strings.TrimLeft(string(t.Bytes), "#/* "), allowPrefix)
		if t.Type != hclsyntax.TokenComment || !ok {
			continue
		}
		at := f.rangeOf(t.Range.Start.Byte, t.Range.Start.Byte+len(strings.TrimRight(string(t.Bytes), "\r\n")))
		words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(text), "*/"))
		known := func(r Rule) bool { return len(words) > 0 && r.Name == words[0] && r.Name != "allow" }
		switch {
		case !slices.ContainsFunc(Rules, known):
			c.report("allow", diag.Warning, at, "Unknown rule", fmt.Sprintf(
				"A comment is written `# lint:allow RULE why`. The rules are %s.", diag.JoinAnd(ruleNames())))
			continue
		case len(words) < 2:
			c.report("allow", diag.Warning, at, "Missing reason", fmt.Sprintf(
				"Say why it is allowed: `# lint:allow %s` and the reason.", words[0]))
			continue
		}
		a := &allowance{rule: words[0], file: f.name, at: at, first: at.Start.Line, last: at.Start.Line}
		if i == 0 || toks[i-1].Range.End.Line < t.Range.Start.Line || toks[i-1].Type == hclsyntax.TokenNewline ||
			toks[i-1].Type == hclsyntax.TokenComment {
			a.last = lastLine(f.body, nextLine(toks[i+1:], at.Start.Line+1))
		} else {
			a.last = lastLine(f.body, a.first)
		}
		all = append(all, a)
	}
	return all
}

// ruleNames returns the rules that a comment can allow.
func ruleNames() (names []string) {
	for _, r := range Rules {
		if r.Name != "allow" {
			names = append(names, r.Name)
		}
	}
	return names
}

// nextLine returns the line of the first token that is no comment, or otherwise.
func nextLine(toks hclsyntax.Tokens, otherwise int) int {
	for _, t := range toks {
		if t.Type != hclsyntax.TokenComment && t.Type != hclsyntax.TokenNewline {
			return t.Range.Start.Line
		}
	}
	return otherwise
}

// lastLine returns the last line of what begins on a line of a body, or that line.
func lastLine(body *hclsyntax.Body, line int) int {
	last := line
	for _, a := range body.Attributes {
		if a.SrcRange.Start.Line == line {
			last = max(last, a.SrcRange.End.Line)
		}
	}
	for _, b := range body.Blocks {
		switch {
		case b.TypeRange.Start.Line == line:
			last = max(last, b.CloseBraceRange.End.Line)
		case b.TypeRange.Start.Line < line && line <= b.CloseBraceRange.End.Line:
			last = max(last, lastLine(b.Body, line))
		}
	}
	return last
}
