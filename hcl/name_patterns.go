package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// exposedNames are the names of what is offered, for the blocks that name some of it.
type exposedNames struct {
	names   map[string][]string // by what lists them: tools, prompts, resources
	partial bool                // there may be more
}

// collectExposedNames are the names of all that is offered, when that is known.
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

// namesField declares a list of names and patterns, each of which must be of something.
func (o exposedNames) namesField(dst *[]string, noun, doc string) decode.Field {
	return decode.Custom(noun, "list of names", doc, func(d *decode.Decoder, e hclsyntax.Expression) {
		*dst = decode.Items[string](d, e, decode.Field{Name: noun}, "strings")
		names := o.names[noun]
		for i, pattern := range *dst {
			r := decode.ElementRange(e, i)
			if o.partial || slices.ContainsFunc(names, func(name string) bool { return matchesPattern(pattern, name) }) {
				continue
			}
			single := strings.TrimSuffix(noun, "s")
			if strings.Contains(pattern, "*") {
				d.Errorf(r, "Pattern without match", "No %s has a name like %q.%s", single, pattern, diag.SuggestOr(pattern, names, diag.ListAre(names)))
				continue
			}
			if noun == "resources" && scheme.MatchString(pattern) {
				d.Errorf(r, "Unknown resource", "A resource is named by the label of its block here, and %q looks like its URI.%s", pattern, diag.ListAre(names))
				continue
			}
			d.Errorf(r, "Unknown "+single, "There is no %s %q.%s", single, pattern, diag.SuggestOr(pattern, names, diag.ListAre(names)))
		}
	})
}
