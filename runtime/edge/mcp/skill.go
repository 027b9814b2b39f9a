package mcp

import (
	"context"
)

// SkillsExtension is the capability of a server that serves skills (SEP-2640).
const SkillsExtension = "io.modelcontextprotocol/skills"

// Skill is the result of skills/get.
type Skill struct {
	Entry   []byte // the skill as skills/list has it: an object as encoded JSON
	Private bool   // whether the caller sees it depends on who that is
}

// getSkill appends the result of skills/get.
func (s *Server) getSkill(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	uri, invalid := StringParam("uri", m.URI) // which no header repeats
	if invalid != nil {
		return dst, invalid
	}
	skill, err := s.handler.Skill(ctx, rc.Caller, uri)
	if err != nil {
		return dst, s.ProtocolError(ctx, m, err)
	}
	r := rc.Caller.Revision
	dst = append(append(beginResult(dst, r), `"skill":`...), skill.Entry...)
	if r.Modern() {
		dst = appendCacheHints(dst, 0, skill.Private)
	}
	return rc.Info.endResult(dst, r), nil
}

// readDirectory appends the result of resources/directory/read.
func (s *Server) readDirectory(ctx context.Context, dst []byte, m *Message, rc RequestContext) ([]byte, *Error) {
	uri, invalid := StringParam("uri", m.URI) // which no header repeats
	if invalid != nil {
		return dst, invalid
	}
	after, invalid := m.cursor()
	if invalid != nil {
		return dst, invalid
	}
	l, err := s.handler.Directory(ctx, rc.Caller, uri)
	if err != nil {
		return dst, s.ProtocolError(ctx, m, err)
	}
	return rc.Info.endResult(l.appendPageAfter(dst, after, rc.Caller.Revision), rc.Caller.Revision), nil
}
