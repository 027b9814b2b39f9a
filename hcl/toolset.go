package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/uritemplate"
	"hatchel/internal/wildcard"
)

// Targets are tools, prompts, resources and skills that a block names: each list holds names, or patterns
// with * for any characters.
type Targets struct{ Tools, Prompts, Resources, Skills []string }

// Toolset is a subset of the tools, prompts, resources and skills with its own URL.
type Toolset struct {
	Name         string
	Title        string
	Instructions string // empty for those of the server
	Targets
	Search *Search // nil for a list of all tools
	Range  Range
}

// HasTool reports whether the toolset contains the tool. A nil Toolset contains everything.
func (t *Toolset) HasTool(name string) bool { return t == nil || matchesAny(t.Tools, name) }

// HasPrompt reports whether the toolset contains the prompt.
func (t *Toolset) HasPrompt(name string) bool { return t == nil || matchesAny(t.Prompts, name) }

// HasResource reports whether the toolset contains the resource.
func (t *Toolset) HasResource(name string) bool { return t == nil || matchesAny(t.Resources, name) }

// names reports whether the list has a name that matches.
func (t *Targets) names(list, name string) bool {
	switch list {
	case "tools":
		return matchesAny(t.Tools, name)
	case "prompts":
		return matchesAny(t.Prompts, name)
	case "skills":
		return matchesAny(t.Skills, name)
	}
	return matchesAny(t.Resources, name)
}

// isEmpty reports whether nothing is named.
func (t *Targets) isEmpty() bool {
	return len(t.Tools)+len(t.Prompts)+len(t.Resources)+len(t.Skills) == 0
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return MatchesPattern(p, name) })
}

// MatchesPattern reports whether a pattern, in which * matches any characters, matches the name.
func MatchesPattern(pattern, name string) bool { return wildcard.Match(pattern, name) }

func (t *Toolset) spec(known exposedNames) decode.Spec {
	return decode.Join(decode.Spec{
		decode.Attr(&t.Title, "title", "The display name."),
		decode.Attr(&t.Instructions, "instructions",
			"Instructions for models that use the toolset. By default those of the server."),
	}, t.Targets.spec(known, " in the toolset: names, or patterns with * for any characters."),
		decode.Spec{t.searchField(known)})
}

// decodeToolsets decodes the toolset blocks, after the tools, prompts, resources and skills that they can
// name.
func (l *loader) decodeToolsets() {
	known := l.collectExposedNames()
	l.eachBlock("toolset", func(d *decode.Decoder, b sourceBlock) {
		t := &Toolset{Name: b.Labels[0], Range: headerRange(b.Block)}
		if !exposedNamePattern.MatchString(t.Name) || strings.Trim(t.Name, ".") == "" {
			d.Errorf(b.LabelRanges[0], "Invalid toolset name", "The name of a toolset is part of its URL, "+
				"/mcp/<name>: 1 to 64 letters, digits, _, - and ., not only dots, not %q.", t.Name)
		} else if t.Name == cardToolset {
			d.Errorf(b.LabelRanges[0], "Reserved name", "/mcp/%s is the card of the server: choose another name.",
				t.Name)
		}
		d.Body(b.Block, t.spec(known))
		if t.isEmpty() && !d.Diags.HasErrors() && !d.MissingValue {
			d.Errorf(b.DefRange(), "Empty toolset",
				"The toolset is empty. Name tools = [\"invoice_*\"], prompts, resources or skills.")
		}
		if t.Search != nil {
			t.Search.Range = d.Ranges[&t.Search]
			l.checkSearch(t)
		}
		if l.declare("toolset", t.Name, b) {
			l.config.Toolsets = append(l.config.Toolsets, t)
		}
	})
	l.checkSearchNames()
	slices.SortFunc(l.config.Toolsets, func(a, b *Toolset) int { return strings.Compare(a.Name, b.Name) })
}

// exposedNames are the names of all tools, prompts, resources and skills, for blocks that refer to them.
type exposedNames struct {
	names   map[string][]string // by list: tools, prompts, resources, skills
	partial bool                // the names may be incomplete
}

// collectExposedNames returns the names of all tools, prompts, resources and skills, also of those that are disabled:
// to disable one must not need a change of what names it.
func (l *loader) collectExposedNames() exposedNames {
	names := map[string][]string{}
	for _, w := range append(l.config.operations(), l.disabled...) {
		names[w.list] = append(names[w.list], w.Name)
	}
	return exposedNames{names, l.partial}
}

// spec declares the lists, each element of which must match a known name; doc ends their texts.
func (t *Targets) spec(known exposedNames, doc string) decode.Spec {
	return decode.Spec{
		known.namesField(&t.Tools, "tools", "The tools"+doc),
		known.namesField(&t.Prompts, "prompts", "The prompts"+doc),
		known.namesField(&t.Resources, "resources", "The resources"+doc),
		known.namesField(&t.Skills, "skills", "The skills"+doc),
	}
}

func (o exposedNames) namesField(dst *[]string, list, doc string) decode.Field {
	noun := strings.TrimSuffix(list, "s")
	return decode.StringSet(dst, list, "list of names", doc,
		func(d *decode.Decoder, r Range, pattern string) string {
			d.NoteReference(eval.Reference{At: r, Kind: noun, Name: pattern})
			o.check(&d.Diags, list, pattern, r)
			return pattern
		})
}

// check reports a name, or a pattern with *, that nothing in the list has.
func (o exposedNames) check(diags *Diagnostics, list, pattern string, r Range) {
	names, noun := o.names[list], strings.TrimSuffix(list, "s")
	matches := func(name string) bool { return MatchesPattern(pattern, name) }
	switch {
	case o.partial || slices.ContainsFunc(names, matches):
	case list == "tools" && explainSearchTool(pattern) != "":
		diags.Errorf(r, "Tool of search", "%s", explainSearchTool(pattern))
	case strings.Contains(pattern, "*"):
		diags.Errorf(r, "Pattern without match", "No %s has a name like %q.%s", noun, pattern,
			diag.SuggestOr(pattern, names, diag.ListAre(names)))
	case list == "resources" && uritemplate.HasScheme(pattern):
		diags.Errorf(r, "Unknown resource",
			"A resource is referred to by the label of its block, and %q looks like a URI.%s", pattern,
			diag.ListAre(names))
	default:
		diags.Errorf(r, "Unknown "+noun, "There is no %s %q.%s", noun, pattern,
			diag.SuggestOr(pattern, names, diag.ListAre(names)))
	}
}
