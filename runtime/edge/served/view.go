package served

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/policy"
)

// Views are what the addresses show. Its methods may be called concurrently after Make.
type Views struct {
	Unlisted bool  // nobody lists, as in a test of tools
	Full     *View // all that is listed; its name is empty
	Empty    *View // of an unknown toolset

	byToolset  map[string]*View
	stale      atomic.Bool // a database has told more of its rows since the lists of tools were encoded
	publishing sync.Mutex  // held while lists are encoded
}

// Make makes what each toolset shows, with its lists.
func (vs *Views) Make(s *Served) {
	s.directories = map[*hcl.Skill]map[string]*mcp.List{}
	for _, r := range s.Skills {
		s.directories[r.Skill] = newDirectories(r.Skill, s.Config.Server.PageSize)
	}
	s.Apps = newApps(s.Config)
	vs.Full, vs.Empty = newView(s, nil), newView(s, new(hcl.Toolset))
	vs.Empty.Info = nil
	vs.byToolset = map[string]*View{"": vs.Full}
	for _, t := range s.Config.Toolsets {
		vs.byToolset[t.Name] = newView(s, t)
	}
}

// Of returns what a toolset shows; nothing for an unknown toolset.
func (vs *Views) Of(toolset string) *View { return cmp.Or(vs.byToolset[toolset], vs.Empty) }

// MarkStale notes that a database has told more of its rows.
func (vs *Views) MarkStale() { vs.stale.Store(true) }

// Publish encodes the lists of tools again when a database has told more of its rows. It returns
// the toolsets whose list has changed.
func (vs *Views) Publish() (changed []string) {
	vs.publishing.Lock()
	defer vs.publishing.Unlock()
	if !vs.stale.Swap(false) {
		return nil
	}
	for name, v := range vs.byToolset {
		if v.encodeList(mcp.Tools) {
			changed = append(changed, name)
		}
	}
	return changed
}

// Compare returns which lists differ from those of next in each toolset, and whether any does.
func (vs *Views) Compare(next *Views) (changes func(toolset string) mcp.Changes, differ bool) {
	changes = func(toolset string) mcp.Changes { return changedLists(vs.Of(toolset), next.Of(toolset)) }
	for _, all := range []*Views{vs, next} {
		for toolset := range all.byToolset {
			differ = differ || changes(toolset) != (mcp.Changes{})
		}
	}
	return changes, differ
}

// View is what one address shows: all that is listed, or what a toolset names.
type View struct {
	Info    *mcp.Info // nil for an unknown toolset
	Tools   map[string]*call.Program
	Prompts map[string]*call.Prompt

	served    *Served
	byURI     map[string]*call.Resource                  // without templates
	templates []*call.Resource                           // by name
	resources []*call.Resource                           // with templates, by name
	skills    []*call.Resource                           // see sortInnerFirst
	lists     [mcp.ListingCount]atomic.Pointer[mcp.List] // of all that the view shows
	filters   [mcp.ListingCount]*policy.ListFilter       // hide from a list what a caller may not call
	search    *search                                    // nil unless the toolset has a search block
}

// newView returns the view of a toolset; that of all that is listed for nil.
func newView(s *Served, t *hcl.Toolset) *View {
	v := &View{
		served: s, Tools: map[string]*call.Program{},
		Prompts: map[string]*call.Prompt{}, byURI: map[string]*call.Resource{},
	}
	var rules [mcp.ListingCount]map[string]*policy.Rules
	for of := range rules {
		rules[of] = map[string]*policy.Rules{}
	}
	for _, p := range s.Sorted {
		if p.Tool().Listed && t.HasTool(p.Decl.Name) {
			v.Tools[p.Decl.Name], rules[mcp.Tools][p.Decl.Name] = p, p.Rules
		}
	}
	for _, p := range s.Prompts {
		if t.HasPrompt(p.Decl.Name) {
			v.Prompts[p.Decl.Name], rules[mcp.Prompts][p.Decl.Name] = p, p.Rules
		}
	}
	for _, r := range s.Resources {
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
	for _, r := range s.Skills {
		if t.HasSkill(r.Decl.Name) {
			v.skills = append(v.skills, r)
			rules[mcp.Skills][r.Skill.URI], rules[mcp.Resources][r.Skill.URI] = r.Rules, r.Rules
		}
	}
	sortInnerFirst(v.skills)
	if t != nil && t.Search != nil {
		v.search = newSearch(v, t, rules[mcp.Tools])
	}
	v.Info = serverInfo(s.Config.Server, t, len(v.skills) > 0)
	for of := range rules {
		v.filters[of] = policy.NewListFilter(rules[of], s.logRuleError)
		if !s.Views.Unlisted {
			v.encodeList(mcp.Listing(of))
		}
	}
	return v
}

// logRuleError logs that a rule hides what it applies to, because it could not be evaluated.
func (s *Served) logRuleError(ctx context.Context, d policy.Decision) {
	s.Env.LogFailure(ctx, slog.LevelWarn, "policy rule failed, hiding what it applies to", d.Cause, "rule", d.Rule)
}

// List returns a list with all that the view shows.
func (v *View) List(of mcp.Listing) *mcp.List { return v.lists[of].Load() }

// IsFiltered reports whether something is hidden from a list for some callers.
func (v *View) IsFiltered(of mcp.Listing) bool { return v.filters[of] != nil }

// ListFor returns a list as a caller sees it.
func (v *View) ListFor(ctx context.Context, caller *mcp.Caller, of mcp.Listing) *mcp.List {
	all := v.lists[of].Load()
	if !v.IsFiltered(of) {
		return all
	}
	frame := hcl.NewFrame(ctx, v.served.Env.Dir, v.served.Env.Now)
	frame.Caller = call.CallerRoot(caller)
	list := v.filters[of].Filter(ctx, frame, all)
	if of == mcp.Tools && v.search != nil {
		list = v.search.listFor(ctx, frame, list)
	}
	return list
}

// encodeList encodes a list, and reports whether it differs from before.
func (v *View) encodeList(of mcp.Listing) bool {
	perCaller := v.filters[of] != nil && v.filters[of].PerCaller()
	options := mcp.ListOptions{PageSize: v.served.Config.Server.PageSize, Private: perCaller, Server: v.Info}
	next := mcp.NewList(of, v.entries(of), options)
	last := v.lists[of].Swap(next)
	return last == nil || last.Revision() != next.Revision()
}

func (v *View) entries(of mcp.Listing) (entries []mcp.Entry) {
	switch of {
	case mcp.Tools:
		if v.search != nil {
			return v.search.entries()
		}
		for _, p := range v.Tools {
			if p.Missing == "" {
				entries = append(entries, toolEntry(p, v.served.Apps[p.Decl.Name]))
			}
		}
	case mcp.Prompts:
		for _, p := range v.Prompts {
			if p.Missing == "" {
				entries = append(entries, promptEntry(p.Prompt))
			}
		}
	case mcp.Skills:
		for _, s := range v.skills {
			if s.Missing == "" {
				e := SkillEntry(s.Skill)
				entries = append(entries, mcp.Entry{Name: s.Skill.URI, Legacy: e, Modern: e})
			}
		}
	default:
		for _, r := range v.resources {
			if r.Missing == "" && r.Resource.Listed && (of == mcp.Templates) == (r.Resource.Template != nil) {
				entries = append(entries, resourceEntry(r.Resource))
			}
		}
		for _, s := range v.skills {
			if s.Missing == "" && of == mcp.Resources {
				e := resourceEntry(s.Resource)
				e.Name = s.Skill.URI // a resource may have the name of a skill
				entries = append(entries, e)
			}
		}
	}
	return entries
}

// revision identifies a list and what is hidden from it.
func (v *View) revision(of mcp.Listing) string {
	revision := v.lists[of].Load().Revision()
	if filter := v.filters[of]; filter != nil {
		revision += " " + filter.Digest()
	}
	return revision
}

// changedLists returns which lists differ between two views.
func changedLists(last, next *View) mcp.Changes {
	differs := func(of mcp.Listing) bool { return last.revision(of) != next.revision(of) }
	return mcp.Changes{
		Tools: differs(mcp.Tools), Prompts: differs(mcp.Prompts),
		Resources: differs(mcp.Resources) || differs(mcp.Templates) || differs(mcp.Skills),
	}
}

// Resource returns the resource at a URI and the variables of the URI. A document goes before
// files of skills, and these before templates, which go by name.
func (v *View) Resource(uri string) (*call.Resource, map[string]string) {
	if r, ok := v.byURI[uri]; ok {
		return r, map[string]string{}
	}
	if s, name := v.findSkill(uri); s != nil && s.Skill.Content.File(name) != nil {
		return s, map[string]string{}
	}
	for _, r := range v.templates {
		if variables, ok := r.Resource.Template.Match(uri); ok {
			return r, variables
		}
	}
	return nil, nil
}

// Completable returns the operation whose input is to be completed; an error of the protocol when
// the view does not show it. A resource is found by its URI, by one of its URIs, or by its
// template.
func (v *View) Completable(req *mcp.CompleteRequest) (*call.Operation, error) {
	switch req.Kind {
	case "tool":
		if p := v.Tools[req.Name]; p != nil {
			return &p.Operation, nil
		}
		return nil, mcp.Unknown("tool", req.Name)
	case "prompt":
		if p := v.Prompts[req.Name]; p != nil {
			return &p.Operation, nil
		}
		return nil, mcp.Unknown("prompt", req.Name)
	}
	for _, r := range v.templates {
		if r.Resource.Template.Raw() == req.Name {
			return &r.Operation, nil
		}
	}
	if r, _ := v.Resource(req.Name); r != nil {
		return &r.Operation, nil
	}
	return nil, mcp.Unknown("resource", req.Name)
}

// serverInfo returns how the server introduces itself in a toolset; nil is no toolset.
func serverInfo(s hcl.Server, t *hcl.Toolset, hasSkills bool) *mcp.Info {
	info := mcp.ServerInfo{
		Name: s.Name, Version: s.Version, Title: s.Title, WebsiteURL: s.Website, Icons: icons(s.Icons),
		Instructions: s.Instructions, NoSessions: s.NoSessions,
		Coerce: s.Lenience.Coerce, Skills: hasSkills,
	}
	if t != nil {
		info.Title, info.Instructions = cmp.Or(t.Title, s.Title), cmp.Or(t.Instructions, s.Instructions)
	}
	return mcp.NewInfo(info)
}
