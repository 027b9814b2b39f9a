package hcl

import (
	"fmt"
	"regexp"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
)

var (
	quotedName     = regexp.MustCompile("`([^`]+)`")
	identifierLike = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

// descriptionRef name is one that a description writes in backquotes and that nothing of its block is called.
type descriptionRef struct {
	name    string
	warning *diag.Diagnostic
}

// checkDescription checks the description, which the model chooses by. What it calls by a name is an input, a word that stands elsewhere in the block, or a tool.
func (w *operationDecoder) checkDescription(text string) {
	a, ok := w.block.Body.Attributes["description"]
	if !ok || w.dec.Diags.HasErrors() {
		return
	}
	if strings.TrimSpace(text) == "" {
		w.dec.Errorf(a.Expr.Range(), "Empty description", "%s is chosen by its description: say what it does and when to use it.", diag.ToSentence(diag.WithArticle(w.noun)))
		return
	}
	elsewhere := ""
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		if _, known := w.op.Input.Lookup(m[1]); known || !identifierLike.MatchString(m[1]) {
			continue
		}
		if elsewhere == "" {
			src := w.block.file.src
			block, own := w.block.Range(), a.SrcRange
			elsewhere = string(src[block.Start.Byte:own.Start.Byte]) + string(src[own.End.Byte:w.block.CloseBraceRange.End.Byte])
		}
		if near := spelling.Nearest(m[1], w.op.Input.MemberNames()); near != "" || !strings.Contains(elsewhere, m[1]) {
			w.descriptionRefs = append(w.descriptionRefs, descriptionRef{m[1], &diag.Diagnostic{
				Severity: diag.Warning, Summary: "Description names no " + w.inputs.noun, Subject: diag.RangeOf(a.Expr.Range()),
				Detail: fmt.Sprintf("The description speaks of `%s`, and there is no such %s.%s", m[1], w.inputs.noun, diag.SuggestOr(m[1], w.op.Input.MemberNames(), diag.ListAre(w.op.Input.MemberNames()))),
			}})
		}
	}
}
