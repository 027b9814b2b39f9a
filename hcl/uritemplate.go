package hcl

import "github.com/yosida95/uritemplate/v3"

// URITemplate is a family of URIs, as RFC 6570 writes it.
type URITemplate struct {
	template *uritemplate.Template
}

// Raw is the template as it was written.
func (t *URITemplate) Raw() string { return t.template.Raw() }

// Match gives the texts of the variables of a URI of the family; false for any other URI.
func (t *URITemplate) Match(uri string) (map[string]string, bool) {
	found := t.template.Match(uri)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(found))
	for _, name := range t.template.Varnames() {
		if v := found.Get(name); v.Valid() {
			values[name] = v.String()
		}
	}
	return values, true
}
