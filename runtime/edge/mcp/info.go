package mcp

import "hatchel/hcl/jsonscan"

// ServerInfo describes a server to its clients. Only Name and Version are required.
type ServerInfo struct {
	Name, Title, Version, Description, WebsiteURL string
	Icons                                         []Icon
	Instructions                                  string // for the model that uses the tools
	NoSessions                                    bool   // legacy clients over HTTP get no session
	Coerce                                        bool   // JSON in a string counts as the value that it holds
	Skills                                        bool   // the server serves skills
}

// Icon is a picture that a client may show.
type Icon struct {
	Src, MIMEType string
	Sizes         []string // such as "48x48" or "any"
	Theme         string   // "light", "dark" or ""
}

// Info is an encoded ServerInfo.
type Info struct {
	implementation []byte // the object serverInfo of initialize
	instructions   []byte // `,"instructions":"…"` or empty
	noSessions     bool
	coerces        bool   // JSON in a string counts as the arguments of a call
	skills         bool   // the server serves skills
	tail           []byte // the end of a modern result: `,"_meta":{"…/serverInfo":{…}}}`
}

// NewInfo encodes s.
func NewInfo(s ServerInfo) *Info {
	b := jsonscan.AppendString([]byte(`{"name":`), s.Name)
	b = jsonscan.AppendString(append(b, `,"version":`...), s.Version)
	b = AppendMember(b, "title", s.Title)
	b = AppendMember(b, "description", s.Description)
	b = AppendMember(b, "websiteUrl", s.WebsiteURL)
	if len(s.Icons) > 0 {
		b = append(AppendIcons(append(b, `,"icons":[`...), s.Icons), ']')
	}
	i := &Info{implementation: append(b, '}'), noSessions: s.NoSessions, coerces: s.Coerce, skills: s.Skills}
	i.instructions = AppendMember(nil, "instructions", s.Instructions)
	i.tail = append(i.appendServerInfo([]byte(`,"_meta":{`)), "}}"...)
	return i
}

func (i *Info) appendServerInfo(dst []byte) []byte {
	return append(append(dst, `"`+keyServerInfo+`":`...), i.implementation...)
}

// endResult closes a result that has no metadata of its own. Every modern result names the server; a
// nil Info adds no metadata.
func (i *Info) endResult(dst []byte, r Revision) []byte {
	if i == nil || !r.Modern() {
		return append(dst, '}')
	}
	return append(dst, i.tail...)
}

// AppendIcons appends the icons as encoded objects with commas between them.
func AppendIcons(dst []byte, icons []Icon) []byte {
	for n, icon := range icons {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(append(dst, `{"src":`...), icon.Src)
		dst = AppendMember(dst, "mimeType", icon.MIMEType)
		if len(icon.Sizes) > 0 {
			dst = AppendStrings(append(dst, `,"sizes":`...), icon.Sizes)
		}
		dst = append(AppendMember(dst, "theme", icon.Theme), '}')
	}
	return dst
}

// AppendMember appends `,"key":"value"`, or nothing if value is empty.
func AppendMember(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return jsonscan.AppendString(append(append(append(dst, ",\""...), key...), "\":"...), value)
}

// The capabilities do not depend on what the current lists contain, but for the extension for skills: hosts show that a
// server has some.
const (
	capabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},` +
		`"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
	skillsCapability = `"` + SkillsExtension + `":{"directoryRead":true}`
)

// AppendCapabilities appends the capabilities for a legacy client, which are those of an encoded object, and the
// extensions.
func (i *Info) AppendCapabilities(dst []byte, object string) []byte {
	if !i.skills {
		return append(dst, object...)
	}
	return append(append(dst, object[:len(object)-1]...), `,"extensions":{`+skillsCapability+`}}`...)
}

// AppendDescription appends the members serverInfo and instructions, and closes the object.
func (i *Info) AppendDescription(dst []byte) []byte {
	dst = append(append(dst, `,"serverInfo":`...), i.implementation...)
	return append(append(dst, i.instructions...), '}')
}

// HasSessions reports whether legacy clients over HTTP get a session.
func (i *Info) HasSessions() bool { return !i.noSessions }

// appendDiscoverResult appends the result of server/discover.
func (i *Info) appendDiscoverResult(dst []byte, revisions []Revision) []byte {
	dst = AppendStrings(append(dst, `{"resultType":"complete","supportedVersions":`...), revisions)
	dst = append(dst, `,"capabilities":`+capabilities+`,"extensions":{"`+TasksExtension+`":{}`...)
	if i.skills {
		dst = append(dst, `,`+skillsCapability...)
	}
	dst = append(append(dst, "}}"...), i.instructions...)
	return i.endResult(append(dst, `,"ttlMs":0,"cacheScope":"public"`...), Revision20260728)
}
