package runtime

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/mcp"
	"hatchel/runtime/policy"
)

// view is what one address shows of a generation: all that is listed, or what a toolset names.
type view struct {
	build     *Build
	info      *mcp.Info
	tools     map[string]*call.Program
	prompts   map[string]*call.Prompt
	byURI     map[string]*call.Resource           // without templates
	templates []*call.Resource                    // by name
	resources []*call.Resource                    // with templates, by name
	lists     [listCount]atomic.Pointer[mcp.List] // of all that the view shows
	filters   [listCount]*policy.ListFilter       // hide from a list what a caller may not call
}

// listCount is how many lists a view has.
const listCount = 4

// newView returns the view of a toolset; that of all that is listed for nil.
func newView(g *Generation, t *hcl.Toolset) *view {
	v := &view{
		build: g.build, info: serverInfo(g.Config.Server, t), tools: map[string]*call.Program{},
		prompts: map[string]*call.Prompt{}, byURI: map[string]*call.Resource{},
	}
	var rules [listCount]map[string]*policy.Rules
	for of := range rules {
		rules[of] = map[string]*policy.Rules{}
	}
	for _, p := range g.sorted {
		if p.Tool().Listed && t.HasTool(p.Decl.Name) {
			v.tools[p.Decl.Name], rules[mcp.Tools][p.Decl.Name] = p, p.Rules
		}
	}
	for _, p := range g.prompts {
		if t.HasPrompt(p.Decl.Name) {
			v.prompts[p.Decl.Name], rules[mcp.Prompts][p.Decl.Name] = p, p.Rules
		}
	}
	for _, r := range g.resources {
		switch {
		case !t.HasResource(r.Decl.Name):
			continue
		case r.Resource.Template == nil:
			v.byURI[r.Resource.URI], rules[mcp.Resources][r.Decl.Name] = r, r.Rules
		default:
			v.templates, rules[mcp.Templates][r.Decl.Name] = append(v.templates, r), r.Rules
		}
		v.resources = append(v.resources, r)
	}
	for of := range rules {
		v.filters[of] = policy.NewListFilter(rules[of], g.logRuleError)
		if g.build.Mocks == nil { // nobody lists in a test of tools
			v.encodeList(mcp.Listing(of), g)
		}
	}
	return v
}

// logRuleError logs that a rule hides what it applies to, because it could not be evaluated.
func (g *Generation) logRuleError(ctx context.Context, d policy.Decision) {
	g.env.LogFailure(ctx, slog.LevelWarn, "policy rule failed, hiding what it applies to", d.Cause, "rule", d.Rule)
}

// listFor returns a list as a caller sees it.
func (v *view) listFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	all := v.lists[of].Load()
	if v.filters[of] == nil {
		return all
	}
	frame := hcl.NewFrame(ctx, v.build.Dir, v.build.Now)
	frame.Caller = call.CallerRoot(caller)
	return v.filters[of].Filter(ctx, frame, all)
}

// encodeList encodes a list, and reports whether it differs from before.
func (v *view) encodeList(of mcp.Listing, g *Generation) bool {
	perCaller := v.filters[of] != nil && v.filters[of].PerCaller()
	options := mcp.ListOptions{PageSize: g.Config.Server.PageSize, Private: perCaller}
	next := mcp.NewList(of, v.entries(of), options)
	last := v.lists[of].Swap(next)
	return last == nil || last.Revision() != next.Revision()
}

func (v *view) entries(of mcp.Listing) (entries []mcp.Entry) {
	switch of {
	case mcp.Tools:
		for _, p := range v.tools {
			if p.Missing == "" {
				entries = append(entries, toolEntry(p))
			}
		}
	case mcp.Prompts:
		for _, p := range v.prompts {
			if p.Missing == "" {
				entries = append(entries, promptEntry(p.Prompt))
			}
		}
	default:
		for _, r := range v.resources {
			if r.Missing == "" && r.Resource.Listed && (of == mcp.Templates) == (r.Resource.Template != nil) {
				entries = append(entries, resourceEntry(r.Resource))
			}
		}
	}
	return entries
}

// publish encodes the lists of tools again when a database has told more of its rows. It returns
// the toolsets whose list has changed.
func (g *Generation) publish() (changed []string) {
	g.publishing.Lock()
	defer g.publishing.Unlock()
	if !g.listsStale.Swap(false) {
		return nil
	}
	for name, v := range g.views {
		if v.encodeList(mcp.Tools, g) {
			changed = append(changed, name)
		}
	}
	return changed
}

// revision identifies a list and what is hidden from it.
func (v *view) revision(of mcp.Listing) string {
	revision := v.lists[of].Load().Revision()
	if filter := v.filters[of]; filter != nil {
		revision += " " + filter.Digest()
	}
	return revision
}

// changedLists returns which lists differ between two views.
func changedLists(last, next *view) mcp.Changes {
	differs := func(of mcp.Listing) bool { return last.revision(of) != next.revision(of) }
	return mcp.Changes{
		Tools: differs(mcp.Tools), Prompts: differs(mcp.Prompts),
		Resources: differs(mcp.Resources) || differs(mcp.Templates),
	}
}

// resource returns the resource at a URI and the variables of the URI. A document goes before
// templates, and these go by name.
func (v *view) resource(uri string) (*call.Resource, map[string]string) {
	if r, ok := v.byURI[uri]; ok {
		return r, map[string]string{}
	}
	for _, r := range v.templates {
		if variables, ok := r.Resource.Template.Match(uri); ok {
			return r, variables
		}
	}
	return nil, nil
}

// completable returns the operation whose input is to be completed; an error of the protocol when
// the view does not show it. A resource is found by its URI, by one of its URIs, or by its
// template.
func (v *view) completable(req *mcp.CompleteRequest) (*call.Operation, error) {
	switch req.Kind {
	case "tool":
		if p := v.tools[req.Name]; p != nil {
			return &p.Operation, nil
		}
		return nil, mcp.Unknown("tool", req.Name)
	case "prompt":
		if p := v.prompts[req.Name]; p != nil {
			return &p.Operation, nil
		}
		return nil, mcp.Unknown("prompt", req.Name)
	}
	for _, r := range v.templates {
		if r.Resource.Template.Raw() == req.Name {
			return &r.Operation, nil
		}
	}
	if r, _ := v.resource(req.Name); r != nil {
		return &r.Operation, nil
	}
	return nil, mcp.Unknown("resource", req.Name)
}

// serverInfo returns how the server introduces itself in a toolset; nil is no toolset.
func serverInfo(s hcl.Server, t *hcl.Toolset) *mcp.Info {
	info := mcp.ServerInfo{
		Name: s.Name, Version: s.Version, Title: s.Title, WebsiteURL: s.Website, Icons: icons(s.Icons),
		Instructions: s.Instructions, NoSessions: s.NoSessions,
	}
	if t != nil {
		info.Title, info.Instructions = cmp.Or(t.Title, s.Title), cmp.Or(t.Instructions, s.Instructions)
	}
	return mcp.NewInfo(info)
}
