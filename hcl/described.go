package hcl

import (
	"fmt"
	"regexp"
	"strings"

	"hatchel/hcl/spelling"
)

var (
	quotedName     = regexp.MustCompile("`([^`]+)`")
	identifierLike = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

// A spoken name is one that a description writes in backquotes and that nothing of its tool is called.
type spoken struct {
	name    string
	warning *Diagnostic
}

// described checks the description, which the model chooses by. What it calls by a name is an input, a word that stands elsewhere in the tool, or another tool.
func (t *toolDecl) described() {
	a, ok := t.block.Body.Attributes["description"]
	if !ok || t.dec.diags.HasErrors() {
		return
	}
	text := t.tool.Description
	if strings.TrimSpace(text) == "" {
		t.dec.errorf(a.Expr.Range(), "Empty description", "The model chooses a tool by its description: say what it does and when to use it.")
		return
	}
	elsewhere := ""
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		if _, known := t.tool.Input.Lookup(m[1]); known || !identifierLike.MatchString(m[1]) {
			continue
		}
		if elsewhere == "" {
			src := t.block.file.src
			block, own := t.block.Range(), a.SrcRange
			elsewhere = string(src[block.Start.Byte:own.Start.Byte]) + string(src[own.End.Byte:t.block.CloseBraceRange.End.Byte])
		}
		if near := spelling.Nearest(m[1], memberNames(t.tool.Input)); near != "" || !strings.Contains(elsewhere, m[1]) {
			t.spoken = append(t.spoken, spoken{m[1], &Diagnostic{
				Severity: Warning, Summary: "Description names no input", Subject: at(a.Expr.Range()),
				Detail: fmt.Sprintf("The description speaks of `%s`, and there is no such input.%s", m[1], suggestOr(m[1], memberNames(t.tool.Input), thereAre(memberNames(t.tool.Input)))),
			}})
		}
	}
}
