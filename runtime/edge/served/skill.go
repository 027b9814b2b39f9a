package served

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// directoryType is the media type of a directory.
const directoryType = "inode/directory"

// SkillEntry returns a skill as skills/list has it.
func SkillEntry(s *hcl.Skill) []byte {
	e := value.AppendString([]byte(`{"uri":`), s.URI)
	e = append(append(append(e, `,"frontmatter":`...), s.Content.Frontmatter.JSON...), `,"resources":[`...)
	for i, f := range s.Content.Files {
		if i > 0 {
			e = append(e, ',')
		}
		e = value.AppendString(append(e, `{"uri":`...), s.URIOf(f.Path))
		e = mcp.AppendMember(e, "digest", f.Digest)
		e = append(strconv.AppendInt(append(e, `,"size":`...), int64(len(f.Content)), 10), '}')
	}
	return append(e, "]}"...)
}

// newDirectories returns the lists of the directories of a skill, by path: the empty path is that of the skill.
func newDirectories(s *hcl.Skill, pageSize int) map[string]*mcp.List {
	entries := map[string]map[string]mcp.Entry{"": {}}
	add := func(name, mimeType string, size int) {
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		e := mcp.AppendMember(value.AppendString([]byte(`{"uri":`), s.URIOf(name)), "name", base)
		e = mcp.AppendMember(e, "mimeType", mimeType)
		if mimeType != directoryType {
			e = strconv.AppendInt(append(e, `,"size":`...), int64(size), 10)
		}
		e = append(e, '}')
		if entries[dir] == nil {
			entries[dir] = map[string]mcp.Entry{}
		}
		entries[dir][base] = mcp.Entry{Name: base, Legacy: e, Modern: e}
	}
	for _, f := range s.Content.Files {
		add(f.Path, f.MimeType, len(f.Content))
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			add(dir, directoryType, 0)
		}
	}
	lists := map[string]*mcp.List{}
	for dir, members := range entries {
		var all []mcp.Entry
		for _, e := range members {
			all = append(all, e)
		}
		lists[dir] = mcp.NewList(mcp.Resources, all, mcp.ListOptions{
			PageSize: pageSize, Private: true, // who may see the skill is not looked at here
		})
	}
	return lists
}

// findSkill returns the skill of a URI, of a file or a directory, with the path in it. Of nested skills it is the inner
// one, whose rules decide.
func (v *View) findSkill(uri string) (*call.Resource, string) {
	for _, s := range v.skills {
		if name, ok := s.Skill.PathOf(uri); ok {
			return s, name
		}
	}
	return nil, ""
}

// sortInnerFirst sorts skills so that one in another goes before it.
func sortInnerFirst(skills []*call.Resource) {
	slices.SortFunc(skills, func(a, b *call.Resource) int {
		return cmp.Or(cmp.Compare(len(b.Skill.URI), len(a.Skill.URI)), cmp.Compare(a.Skill.URI, b.Skill.URI))
	})
}

// visibleSkill is findSkill for what a caller sees in skills/list.
func (v *View) visibleSkill(ctx context.Context, caller *mcp.Caller, uri string) (*call.Resource, string) {
	s, name := v.findSkill(uri)
	if s == nil || s.Missing != "" || !v.ListFor(ctx, caller, mcp.Skills).Has(s.Skill.URI) {
		return nil, ""
	}
	return s, name
}

// Skill serves one skills/get.
func (v *View) Skill(ctx context.Context, caller *mcp.Caller, uri string) (mcp.Skill, error) {
	s, _ := v.visibleSkill(ctx, caller, uri)
	if s == nil || uri != s.Skill.URI {
		return mcp.Skill{}, mcp.InvalidParams("No skill is served at %s", jsonscan.Excerpt(uri))
	}
	filter := v.filters[mcp.Skills]
	return mcp.Skill{Entry: SkillEntry(s.Skill), Private: filter != nil && filter.PerCaller()}, nil
}

// Directory serves one resources/directory/read.
func (v *View) Directory(ctx context.Context, caller *mcp.Caller, uri string) (*mcp.List, error) {
	if s, name := v.visibleSkill(ctx, caller, uri); s != nil {
		if list := v.served.directories[s.Skill][name]; list != nil {
			return list, nil
		}
	}
	return nil, mcp.InvalidParams("%s is not a directory", jsonscan.Excerpt(uri))
}
