package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// offers are the names of what is offered, for the blocks that name some of it.
type offers struct {
	names   map[string][]string // by what lists them: tools, prompts, resources
	partial bool                // there may be more
}

// offered are the names of all that is offered, when that is known.
func (l *loader) offered() offers {
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
	return offers{names, l.partial}
}

// named declares a list of names and patterns, each of which must be of something.
func (o offers) named(dst *[]string, noun, doc string) Field {
	return special(noun, "list of names", doc, func(d *decoder, e hclsyntax.Expression) {
		*dst = items[string](d, e, Field{Name: noun}, "strings")
		names := o.names[noun]
		for i, pattern := range *dst {
			r := elementRange(e, i)
			if o.partial || slices.ContainsFunc(names, func(name string) bool { return globs(pattern, name) }) {
				continue
			}
			single := strings.TrimSuffix(noun, "s")
			if strings.Contains(pattern, "*") {
				d.errorf(r, "Pattern without match", "No %s has a name like %q.%s", single, pattern, suggestOr(pattern, names, thereAre(names)))
				continue
			}
			if noun == "resources" && scheme.MatchString(pattern) {
				d.errorf(r, "Unknown resource", "A resource is named by the label of its block here, and %q looks like its URI.%s", pattern, thereAre(names))
				continue
			}
			d.errorf(r, "Unknown "+single, "There is no %s %q.%s", single, pattern, suggestOr(pattern, names, thereAre(names)))
		}
	})
}
