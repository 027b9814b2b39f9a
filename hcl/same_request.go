package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

// describing are the parts of a tool that say what it does, and do not change it.
var describing = []string{"title", "description", "input", "icons", "meta", "view", "annotations", "tags"}

// inputName matches the name of an input where it is read.
var inputName = lazyregexp.New(`\binput\.[A-Za-z_][A-Za-z0-9_-]*`)

// warnSameRequests warns of two tools that send one and the same request and do the same with its answer: an
// operation was imported twice, and a model has no reason to choose one of them.
func (l *loader) warnSameRequests() {
	if l.partial || l.diags.HasErrors() {
		return
	}
	first := map[string]*Tool{}
	for _, t := range l.config.Tools {
		switch other := first[t.request]; {
		case t.request == "":
		case other == nil:
			first[t.request] = t
		default:
			l.diags.Warnf(t.Range, "Same request", "The tools %q and %q send the same request. Remove one of them.",
				other.Name, t.Name)
			l.diags.Relate(other.Range)
		}
	}
}

// requestDigest returns a digest of what a tool with a single backend that sends a request is made of, without what
// describes it and with the same name for each input; nothing for another tool.
func (l *loader) requestDigest(b sourceBlock) string {
	var parts []string
	ok := false
	add := func(name string, from, to int) {
		if !slices.Contains(describing, name) {
			parts = append(parts, strings.Join(strings.Fields(string(b.file.src[from:to])), " "))
		}
	}
	for _, a := range b.Body.Attributes {
		add(a.Name, a.SrcRange.Start.Byte, a.SrcRange.End.Byte)
	}
	for _, nested := range b.Body.Blocks {
		ok = ok || l.backendKinds[nested.Type].Request
		add(nested.Type, nested.TypeRange.Start.Byte, nested.CloseBraceRange.End.Byte)
	}
	slices.Sort(parts)
	if !ok {
		return ""
	}
	return eval.HashParts(inputName.ReplaceAllString(strings.Join(parts, "\n"), "input.*"))
}
