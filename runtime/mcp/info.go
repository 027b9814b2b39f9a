package mcp

import (
	"strconv"

	"hatchel/hcl/jsonscan"
)

// ServerInfo is how a server introduces itself. Only Name and Version are required.
type ServerInfo struct {
	Name, Title, Version, Description, WebsiteURL string
	Icons                                         []Icon
	Instructions                                  string // for the model that will use the tools
}

// Icon is a picture a client may show.
type Icon struct {
	Src, MIMEType string
	Sizes         []string // such as "48x48" or "any"
	Theme         string   // "light", "dark" or empty
}

// Info is an encoded ServerInfo.
type Info struct {
	implementation []byte // the object that initialize calls serverInfo
	instructions   []byte // `,"instructions":"…"` or empty
	tail           []byte // what ends a modern result without metadata of its own: `,"_meta":{"…/serverInfo":{…}}}`
}

// NewInfo encodes s.
func NewInfo(s ServerInfo) *Info {
	b := jsonscan.AppendString([]byte(`{"name":`), s.Name)
	b = jsonscan.AppendString(append(b, `,"version":`...), s.Version)
	for _, m := range [...]struct{ key, value string }{{"title", s.Title}, {"description", s.Description}, {"websiteUrl", s.WebsiteURL}} {
		b = appendMember(b, m.key, m.value)
	}
	if len(s.Icons) > 0 {
		b = append(AppendIcons(append(b, `,"icons":[`...), s.Icons), ']')
	}
	i := &Info{implementation: append(b, '}')}
	i.instructions = appendMember(nil, "instructions", s.Instructions)
	i.tail = append(i.appendServerInfo([]byte(`,"_meta":{`)), "}}"...)
	return i
}

func (i *Info) appendServerInfo(dst []byte) []byte {
	return append(append(dst, `"`+keyServerInfo+`":`...), i.implementation...)
}

// end closes a modern result without metadata of its own. A nil Info has nothing to add.
func (i *Info) end(dst []byte) []byte {
	if i == nil {
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
		dst = appendMember(dst, "mimeType", icon.MIMEType)
		for n, size := range icon.Sizes {
			if n == 0 {
				dst = append(dst, `,"sizes":[`...)
			} else {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendString(dst, size)
		}
		if len(icon.Sizes) > 0 {
			dst = append(dst, ']')
		}
		dst = append(appendMember(dst, "theme", icon.Theme), '}')
	}
	return dst
}

// appendMember appends `,"key":"value"`, or nothing where there is no value.
func appendMember(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return jsonscan.AppendString(append(append(append(dst, ",\""...), key...), "\":"...), value)
}

// capabilities are declared, never inferred from what the current list holds.
const (
	capabilities       = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
	legacyCapabilities = capabilities + `}`
	modernCapabilities = capabilities + `,"extensions":{"` + TasksExtension + `":{}}}`
)

// initialized is the result of initialize.
func (i *Info) initialized(dst []byte, r Revision) []byte {
	dst = jsonscan.AppendString(append(dst, `{"protocolVersion":`...), r)
	dst = append(append(dst, `,"capabilities":`+legacyCapabilities+`,"serverInfo":`...), i.implementation...)
	return append(append(dst, i.instructions...), '}')
}

// discovered is the result of server/discover, without the brace that closes it.
func (i *Info) discovered(dst []byte) []byte {
	dst = append(dst, `{"resultType":"complete","supportedVersions":[`...)
	for n, r := range revisions {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendQuote(dst, string(r))
	}
	dst = append(dst, `],"capabilities":`+modernCapabilities...)
	return append(append(dst, i.instructions...), `,"ttlMs":0,"cacheScope":"public"`...)
}
