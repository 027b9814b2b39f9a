package hcl

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/uritemplate"
)

// decodeURI reads the URI or the template of a resource and converts the variables to inputs.
func (r *resourceDecoder) decodeURI() {
	d := r.dec
	switch {
	case r.resource.URI != "":
		if err := uritemplate.CheckURI(r.resource.URI); err != nil {
			d.Errorf(r.attrRange("uri"), "Invalid URI", "%s.", diag.ToSentence(err.Error()))
		}
	case r.template != "":
		t, err := uritemplate.Parse(r.template)
		if err == nil && !uritemplate.HasScheme(t.Prefix()) {
			err = uritemplate.MissingScheme(r.template)
		}
		switch {
		case err != nil:
			d.Errorf(r.attrRange("uri_template"), "Invalid URI template", "%s.", diag.ToSentence(err.Error()))
		case len(t.Variables()) == 0:
			d.Errorf(r.attrRange("uri_template"), "Template without variables",
				"A URI template needs a variable, as in \"orders://{id}\". For a single document write uri = %q.",
				r.template)
		default:
			r.resource.Template = t
		}
	case r.has("uri") && !d.MissingValue:
		d.Errorf(r.attrRange("uri"), "Invalid URI", "It is empty: write a URI such as \"config://app\".")
	case r.has("uri_template") && !d.MissingValue:
		d.Errorf(r.attrRange("uri_template"), "Invalid URI template",
			"It is empty: write a template such as \"orders://{id}\".")
	}
	r.matchVariables()
}

// matchVariables matches the variables of the template with the input blocks, which must
// correspond.
func (r *resourceDecoder) matchVariables() {
	t := r.resource.Template
	if t == nil {
		r.inputs.partial = r.resource.URI == "" // the variables are unknown
		for _, m := range r.inputs.members {
			if r.resource.URI != "" {
				r.dec.Errorf(m.Range, "Input is not a variable",
					"This resource has one URI without variables. For a family of documents write "+
						"uri_template = \"%s/{%s}\".", strings.TrimSuffix(r.resource.URI, "/"), m.Name)
			}
		}
		return
	}
	names := make([]string, len(t.Variables()))
	declared := map[string]*schema.Member{}
	for _, m := range r.inputs.members {
		declared[m.Name] = m
	}
	for i, v := range t.Variables() {
		names[i] = v.Name
		if declared[v.Name] == nil {
			r.inputs.members = append(r.inputs.members, &schema.Member{Name: v.Name, Type: eval.StringType,
				Optional: v.Optional})
			r.inputs.labelRanges[v.Name] = diag.RangeOf(r.attrRange("uri_template"))
			continue
		}
		r.setOptional(declared[v.Name], v)
	}
	for _, m := range r.inputs.members {
		if !slices.Contains(names, m.Name) {
			r.dec.Errorf(m.Range, "Input is not a variable", "uri_template has no variable %q.%s", m.Name,
				diag.SuggestOr(m.Name, names, diag.ListAre(names)))
		}
	}
}

// setOptional makes an input optional if its variable may be missing from a URI, and reports an
// optional input whose variable is always present.
func (r *resourceDecoder) setOptional(m *schema.Member, v uritemplate.Variable) {
	if v.Optional {
		m.Optional = true
		return
	}
	if m.Optional {
		r.dec.Errorf(m.Range, "Variable is required", "Every URI of this template contains {%s}, so the input is "+
			"always present: remove optional and the default.", v.Name)
	}
}

// claimURI registers the URI of a resource, or the form of its template, and reports duplicates.
func (l *loader) claimURI(r *Resource) bool {
	key, what := r.URI, r.URI
	if r.Template != nil {
		key, what = r.Template.Form(), r.Template.Raw()
	}
	if key == "" {
		return true // the mistake was reported
	}
	if first, twice := l.declared["URI "+key]; twice {
		l.diags.Errorf(r.Range, "Duplicate URI", "The resource at %s:%d already has the URIs of %s.", first.File,
			first.Start.Line, what)
		return false
	}
	l.declared["URI "+key] = r.Range
	return true
}
