package urltext

import (
	"strings"

	"hatchel/hcl/template"
)

// Bindings returns how the interpolations of the path are bound. It is empty for a nil Path.
func (p *Path) Bindings() []template.Binding {
	if p == nil {
		return nil
	}
	return bindings(p.nodes)
}

// Bindings returns how the interpolations of the URL are bound. It is empty for a nil URL.
func (u *URL) Bindings() []template.Binding {
	switch {
	case u == nil:
		return nil
	case u.data != nil:
		return []template.Binding{{
			Range: u.data.Range, How: "the whole URL, whose host must be one of hosts", Kind: template.Listed,
		}}
	}
	return bindings(u.nodes)
}

func bindings(nodes []template.Node) (all []template.Binding) {
	query := false
	template.EachInterpolation(nodes,
		func(text string) { query = query || strings.Contains(text, "?") },
		func(h *template.Interpolation) {
			how := "URL path segment, percent-encoded"
			switch {
			case query:
				how = "URL query value, percent-encoded"
			case h.Func == "path":
				how = "URL path segments, each percent-encoded"
			case h.Func == "segment":
				how = "URL path segment, percent-encoded with its slashes"
			}
			all = append(all, template.Binding{Range: h.Range, How: how, Kind: template.Escaped})
		})
	return all
}
