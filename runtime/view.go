package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// view is what one address shows of a generation: all that is listed, or what a toolset names of it. A nil view shows nothing.
type view struct {
	build     *Build
	toolset   *hcl.Toolset // nil for all
	info      *mcp.Info
	tools     map[string]*Program
	prompts   map[string]*prompt
	byURI     map[string]*resource                // by URI
	templates []*resource                         // of documents, by name
	resources []*resource                         // both, by name
	lists     [listCount]atomic.Pointer[mcp.List] // of all that it shows
	filters   [listCount]*policy.ListFilter       // what of it a caller sees
}

// listCount is how many lists there are.
const listCount = 4

func newView(g *Generation, t *hcl.Toolset) *view {
	v := &view{build: g.build, toolset: t, info: serverInfo(g.Config.Server, t), tools: map[string]*Program{}, prompts: map[string]*prompt{}, byURI: map[string]*resource{}}
	for _, p := range g.sortedPrograms {
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
			v.byURI[r.resource.URI] = r
		} else {
			v.templates = append(v.templates, r)
		}
	}
	v.buildFilters(g)
	return v
}

// buildFilters has the lists hide what a caller may not call.
func (v *view) buildFilters(g *Generation) {
	var all [listCount]map[string]*policy.Rules
	for of := range all {
		all[of] = map[string]*policy.Rules{}
	}
	for _, p := range v.tools {
		all[mcp.Tools][p.decl.Name] = p.rules
	}
	for _, p := range v.prompts {
		all[mcp.Prompts][p.decl.Name] = p.rules
	}
	for _, r := range v.resources {
		of := mcp.Resources
		if r.resource.Template != nil {
			of = mcp.Templates
		}
		all[of][r.decl.Name] = r.rules
	}
	for of, rules := range all {
		v.filters[of] = policy.NewListFilter(rules, g.logRuleError)
	}
}

// listFor is one of the lists as a caller sees it.
func (v *view) listFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	all := v.lists[of].Load()
	if d := v.filters[of]; d != nil {
		frame := hcl.NewFrame(ctx, v.build.Dir, v.build.Now)
		frame.Caller = callerRoot(caller)
		return d.Filter(ctx, frame, all)
	}
	return all
}

// encodeList encodes one of the lists, and reports whether it reads differently than before.
func (v *view) encodeList(of mcp.Listing, g *Generation) bool {
	personal := v.filters[of] != nil && v.filters[of].PerCaller()
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
			entries = append(entries, p.listEntry())
		}
	case mcp.Prompts:
		for _, p := range v.prompts {
			entries = append(entries, p.listEntry())
		}
	default:
		for _, r := range v.resources {
			if r.resource.Listed && (of == mcp.Templates) == (r.resource.Template != nil) {
				entries = append(entries, r.listEntry())
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
	if d := v.filters[of]; d != nil {
		revision += " " + d.Digest()
	}
	return revision
}

// changedLists are the lists that read differently in two views, either of which may not exist.
func changedLists(last, next *view) mcp.Changes {
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
	if r, ok := v.byURI[uri]; ok {
		return r, map[string]string{}
	}
	for _, r := range v.templates {
		if variables, ok := r.match(uri); ok {
			return r, variables
		}
	}
	return nil, nil
}

// resourceOrTemplate finds a resource by its URI, by one of its URIs, or by its template; nil when it is not shown.
func (v *view) resourceOrTemplate(uri string) *resource {
	if v == nil {
		return nil
	}
	for _, r := range v.templates {
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

// logRuleError says that a rule hides what it is about, because it could not be evaluated.
func (g *Generation) logRuleError(ctx context.Context, d policy.Decision) {
	g.log().LogAttrs(ctx, slog.LevelWarn, "policy rule failed, hiding what it applies to",
		slog.String("rule", d.Rule), slog.String("error", g.scrubber.Text(d.Cause.Error())))
}
