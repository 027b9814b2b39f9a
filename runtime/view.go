package runtime

import (
	"context"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// view is what one address shows of a generation: all that is listed, or what a toolset names of it. A nil view shows nothing.
type view struct {
	toolset   *hcl.Toolset // nil for all
	info      *mcp.Info
	tools     map[string]*Program
	prompts   map[string]*prompt
	documents map[string]*resource               // by URI
	families  []*resource                        // of documents, by name
	resources []*resource                        // both, by name
	lists     [listings]atomic.Pointer[mcp.List] // of all that it shows
	guards    [listings]*guard                   // what of it a caller sees
}

// listings is how many lists there are.
const listings = 4

func newView(g *Generation, t *hcl.Toolset) *view {
	v := &view{toolset: t, info: serverInfo(g.Config.Server, t), tools: map[string]*Program{}, prompts: map[string]*prompt{}, documents: map[string]*resource{}}
	for _, p := range g.order {
		if p.tool.Listed && t.HasTool(p.tool.Name) {
			v.tools[p.tool.Name] = p
		}
	}
	for _, p := range g.prompts {
		if t.HasPrompt(p.prompt.Name) {
			v.prompts[p.prompt.Name] = p
		}
	}
	for _, r := range g.resources {
		if !t.HasResource(r.resource.Name) {
			continue
		}
		v.resources = append(v.resources, r)
		if r.resource.Template == nil {
			v.documents[r.resource.URI] = r
		} else {
			v.families = append(v.families, r)
		}
	}
	v.guard(g)
	return v
}

// guard has the lists hide what a caller may not call.
func (v *view) guard(g *Generation) {
	var all [listings][]*routine
	for _, p := range v.tools {
		all[mcp.Tools] = append(all[mcp.Tools], &p.routine)
	}
	for _, p := range v.prompts {
		all[mcp.Prompts] = append(all[mcp.Prompts], &p.routine)
	}
	for _, r := range v.resources {
		of := mcp.Resources
		if r.resource.Template != nil {
			of = mcp.Templates
		}
		all[of] = append(all[of], &r.routine)
	}
	for of, routines := range all {
		v.guards[of] = newGuard(g, routines)
	}
}

// shown is one of the lists as a caller sees it.
func (v *view) shown(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	all := v.lists[of].Load()
	if d := v.guards[of]; d != nil {
		return d.shown(ctx, caller, all)
	}
	return all
}

// list encodes one of the lists, and reports whether it reads differently than before.
func (v *view) list(of mcp.Listing, g *Generation) bool {
	personal := v.guards[of] != nil && v.guards[of].personal
	next := mcp.NewList(of, v.entries(of, g), mcp.ListOptions{PageSize: g.Config.Server.PageSize, Private: personal})
	last := v.lists[of].Load()
	if last != nil && last.Revision() == next.Revision() {
		return false
	}
	v.lists[of].Store(next)
	return true
}

func (v *view) entries(of mcp.Listing, g *Generation) (entries []mcp.Entry) {
	switch of {
	case mcp.Tools:
		for _, p := range v.tools {
			entries = append(entries, p.entry())
		}
	case mcp.Prompts:
		for _, p := range v.prompts {
			entries = append(entries, p.entry())
		}
	default:
		for _, r := range v.resources {
			if r.resource.Listed && (of == mcp.Templates) == (r.resource.Template != nil) {
				entries = append(entries, r.entry())
			}
		}
	}
	return entries
}

// revision names how a list reads, and what hides some of it; that of a view that does not exist is empty.
func (v *view) revision(of mcp.Listing) string {
	if v == nil {
		return ""
	}
	revision := v.lists[of].Load().Revision()
	if d := v.guards[of]; d != nil {
		revision += " " + d.identity
	}
	return revision
}

// changes are the lists that read differently in two views, either of which may not exist.
func changes(last, next *view) mcp.Changes {
	differs := func(of mcp.Listing) bool { return last.revision(of) != next.revision(of) }
	return mcp.Changes{Tools: differs(mcp.Tools), Prompts: differs(mcp.Prompts), Resources: differs(mcp.Resources) || differs(mcp.Templates)}
}

// tool finds a tool; nil when it is not shown.
func (v *view) tool(name string) *Program {
	if v == nil {
		return nil
	}
	return v.tools[name]
}

// prompt finds a prompt; nil when it is not shown.
func (v *view) prompt(name string) *prompt {
	if v == nil {
		return nil
	}
	return v.prompts[name]
}

// resource finds what a URI leads to, and the variables of the URI. One document goes before a family; among families the name decides.
func (v *view) resource(uri string) (*resource, map[string]string) {
	if v == nil {
		return nil, nil
	}
	if r, ok := v.documents[uri]; ok {
		return r, map[string]string{}
	}
	for _, r := range v.families {
		if variables, ok := r.match(uri); ok {
			return r, variables
		}
	}
	return nil, nil
}

// named finds a resource by its URI, by one of its URIs, or by its template; nil when it is not shown.
func (v *view) named(uri string) *resource {
	if v == nil {
		return nil
	}
	for _, r := range v.families {
		if r.resource.Template.Raw() == uri {
			return r
		}
	}
	r, _ := v.resource(uri)
	return r
}

// serverInfo is how the server introduces itself where a toolset, or all of it, is shown.
func serverInfo(s hcl.Server, t *hcl.Toolset) *mcp.Info {
	info := mcp.ServerInfo{
		Name:         s.Name,
		Version:      s.Version,
		Title:        s.Title,
		WebsiteURL:   s.Website,
		Icons:        icons(s.Icons),
		Instructions: s.Instructions,
	}
	if t != nil && t.Title != "" {
		info.Title = t.Title
	}
	if t != nil && t.Instructions != "" {
		info.Instructions = t.Instructions
	}
	return mcp.NewInfo(info)
}
