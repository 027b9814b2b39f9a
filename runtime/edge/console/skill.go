package console

import (
	"cmp"
	"net/url"

	"hatchel/hcl/agentskill"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// skillView is the part of the page of a skill with its files.
type skillView struct {
	Files   []skillFile
	Shown   string // the path of the file whose text is shown; empty for none
	Text    string
	Refused string // why no text is shown
}

// skillFile is one file of a skill.
type skillFile struct {
	*agentskill.File
	Query string // chooses the file in the address of the page; empty for a file that is no text
}

const maxShownFile = 256 << 10 // bytes of the text of a file

// newSkillView returns the files of a skill, and the text of the one that the address names for a person who may read
// it. That is not a read: the files are part of the configuration.
func newSkillView(q *request, s *call.Resource) (*skillView, error) {
	view := new(skillView)
	for _, f := range s.Skill.Content.Files {
		file := skillFile{File: f}
		if f.IsText {
			file.Query = "?" + url.Values{"file": {f.Path}}.Encode() + "#text"
		}
		view.Files = append(view.Files, file)
	}
	name := cmp.Or(q.URL.Query().Get("file"), agentskill.ManifestName)
	file := s.Skill.Content.File(name)
	if file == nil {
		return nil, notFound("The skill has no file of this name. It may have been removed by a reload")
	}
	req := &mcp.CallRequest{Name: s.Skill.URIOf(name), Caller: q.caller}
	switch e := s.Explain(q.Context(), req, map[string]string{}); {
	case e.Verdict != "allowed":
		view.Refused = "You may not read the files of this skill."
	case !file.IsText:
		view.Refused = "The file is not a text."
	case len(file.Content) > maxShownFile:
		view.Refused = "The text is too long to be shown here."
	default:
		view.Shown, view.Text = name, s.Env.Scrubber.Text(string(file.Content))
	}
	return view, nil
}
