package hcl

import (
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/uritemplate"
)

// Toolset is a subset of the tools, prompts and resources with its own URL. Each list holds names
// or patterns with *.
type Toolset struct {
	Name         string
	Title        string
	Instructions string // empty for those of the server
	Tools        []string
	Prompts      []string
	Resources    []string
	Range        diag.Range
}

// HasTool reports whether the toolset contains the tool. A nil Toolset contains everything.
func (t *Toolset) HasTool(name string) bool { return t == nil || matchesAny(t.Tools, name) }

// HasPrompt reports whether the toolset contains the prompt.
func (t *Toolset) HasPrompt(name string) bool { return t == nil || matchesAny(t.Prompts, name) }

// HasResource reports whether the toolset contains the resource.
func (t *Toolset) HasResource(name string) bool { return t == nil || matchesAny(t.Resources, name) }

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchesPattern(p, name) })
}

// matchesPattern reports whether a pattern, in which * matches any characters, matches the name.
func matchesPattern(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == name
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}

// toolsetDecoder decodes a toolset block.
type toolsetDecoder struct {
	exposedNames
	toolset *Toolset
}

func (t *toolsetDecoder) spec() decode.Spec {
	const doc = " in the toolset: names, or patterns with * for any characters."
	return decode.Spec{
		decode.Attr(&t.toolset.Title, "title", "The display name."),
		decode.Attr(&t.toolset.Instructions, "instructions",
			"Instructions for models that use the toolset. By default those of the server."),
		t.namesField(&t.toolset.Tools, "tools", "The tools"+doc),
		t.namesField(&t.toolset.Prompts, "prompts", "The prompts"+doc),
		t.namesField(&t.toolset.Resources, "resources", "The resources"+doc),
	}
}

// decodeToolsets decodes the toolset blocks, after the tools, prompts and resources that they can
// name.
func (l *loader) decodeToolsets() {
	offered := l.collectExposedNames()
	l.eachBlock("toolset", func(d *decode.Decoder, b sourceBlock) {
		t := &toolsetDecoder{offered, &Toolset{Name: b.label(0), Range: diag.RangeOf(b.DefRange())}}
		if !exposedNamePattern.MatchString(t.toolset.Name) || strings.Trim(t.toolset.Name, ".") == "" {
			d.Errorf(b.LabelRanges[0], "Invalid toolset name",
				"The name of a toolset is part of its URL, /mcp/<name>: 1 to 64 letters, digits, _, - and "+
					"., not only dots, not %q.", t.toolset.Name)
		}
		d.Body(b.Body, t.spec(), b.DefRange())
		if len(t.toolset.Tools)+len(t.toolset.Prompts)+len(t.toolset.Resources) == 0 && !d.Diags.HasErrors() &&
			!d.MissingValue {
			d.Errorf(b.DefRange(), "Empty toolset",
				"The toolset is empty. Name tools = [\"invoice_*\"], prompts or resources.")
		}
		l.report(d)
		if l.declare("toolset", t.toolset.Name, b) {
			l.config.Toolsets = append(l.config.Toolsets, t.toolset)
		}
	})
	sort.Slice(l.config.Toolsets, func(i, j int) bool { return l.config.Toolsets[i].Name < l.config.Toolsets[j].Name })
}

// exposedNames are the names of all tools, prompts and resources, for blocks that refer to them.
type exposedNames struct {
	names   map[string][]string // by list: tools, prompts, resources
	partial bool                // the names may be incomplete
}

// collectExposedNames returns the names of all tools, prompts and resources.
func (l *loader) collectExposedNames() exposedNames {
	names := map[string][]string{}
	for _, t := range l.config.Tools {
		names["tools"] = append(names["tools"], t.Name)
	}
	for _, p := range l.config.Prompts {
		names["prompts"] = append(names["prompts"], p.Name)
	}
	for _, r := range l.config.Resources {
		names["resources"] = append(names["resources"], r.Name)
	}
	return exposedNames{names, l.partial}
}

// namesField declares a list of names and patterns, each of which must match something.
func (o exposedNames) namesField(dst *[]string, noun, doc string) decode.Field {
	return decode.Custom(noun, "list of names", doc, func(d *decode.Decoder, e hclsyntax.Expression) {
		*dst = decode.Items[string](d, e, decode.Field{Name: noun}, "strings")
		names := o.names[noun]
		for i, pattern := range *dst {
			r := decode.ElementRange(e, i)
			if o.partial || slices.ContainsFunc(names, func(name string) bool {
				return matchesPattern(pattern,
					name)
			}) {
				continue
			}
			single := strings.TrimSuffix(noun, "s")
			if strings.Contains(pattern, "*") {
				d.Errorf(r, "Pattern without match", "No %s has a name like %q.%s", single, pattern,
					diag.SuggestOr(pattern, names, diag.ListAre(names)))
				continue
			}
			if noun == "resources" && uritemplate.HasScheme(pattern) {
				d.Errorf(r, "Unknown resource",
					"A resource is referred to by the label of its block, and %q looks like a URI.%s", pattern,
					diag.ListAre(names))
				continue
			}
			d.Errorf(r, "Unknown "+single, "There is no %s %q.%s", single, pattern,
				diag.SuggestOr(pattern, names, diag.ListAre(names)))
		}
	})
}
