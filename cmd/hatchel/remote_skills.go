package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	skillsExtension  = "io.modelcontextprotocol/skills"
	listSkillsMethod = "skills/list"
)

// remoteSkill is an entry of skills/list.
type remoteSkill struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	Resources   any            `json:"resources,omitempty"`
}

type listSkillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type listSkillsResult struct {
	mcp.ResultBase
	Skills []*remoteSkill `json:"skills"`
	Next   string         `json:"nextCursor"`
}

// Skills returns all skills; none if the server does not declare the extension.
func (s *remoteServer) Skills(ctx context.Context) (skills []*remoteSkill, err error) {
	if s.session.InitializeResult().Capabilities.Extensions[skillsExtension] == nil {
		return nil, nil
	}
	params := new(listSkillsParams)
	for {
		page, err := mcp.CallCustomMethod[*listSkillsParams, *listSkillsResult](
			ctx, s.session, listSkillsMethod, params)
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		if skills = append(skills, page.Skills...); page.Next == "" || len(page.Skills) == 0 {
			return skills, nil
		}
		params.Cursor = page.Next
	}
}

// text returns a member of the frontmatter that is a text.
func (s *remoteSkill) text(name string) string {
	text, _ := s.Frontmatter[name].(string)
	return text
}
