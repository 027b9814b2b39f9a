package call

import (
	"encoding/base64"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// fileContents returns what writes the file of the skill at a URI. It is sent byte for byte: clients compare it with
// its digest. A secret in it is removed all the same, and then they refuse it.
func (r *Resource) fileContents(uri string) writeDocument {
	return func(dst []byte, _ *hcl.Frame) ([]byte, error) {
		name, _ := r.Skill.PathOf(uri)
		file := r.Skill.Content.File(name)
		if file == nil {
			return nil, mcp.Unknown("skill", uri)
		}
		dst = value.AppendString(append(dst, `"contents":[{"uri":`...), uri)
		dst = mcp.AppendMember(dst, "mimeType", file.MimeType)
		content := r.Env.Scrubber.Bytes(file.Content)
		if file.IsText {
			return append(value.AppendString(append(dst, `,"text":`...), string(content)), "}]"...), nil
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, `,"blob":"`...), content), `"}]`...), nil
	}
}
