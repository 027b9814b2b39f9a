package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hatchel/adapters/mcp/definition"
	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/jsonscan"
)

// ReadList reads a list of tools: the result of tools/list, the whole message with it, or the array of its tools.
func ReadList(src []byte) (*Listing, error) {
	src = bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\ufeff")))
	scan := jsonscan.New(src, maxListDepth)
	if _, err := scan.Value(); err != nil {
		return nil, err
	}
	lookup := func(name string) ([]byte, bool) {
		if src[0] != '{' {
			return nil, false
		}
		return jsonscan.Lookup(src, name)
	}
	if result, ok := lookup("result"); ok {
		src = result
	}
	l := &Listing{}
	if tools, ok := lookup("tools"); ok {
		if cursor, more := jsonscan.LookupText(src, "nextCursor"); more && cursor != "" {
			return nil, errors.New("it is one page of a list, because it has a nextCursor: join the tools of all pages")
		}
		src = tools
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(src, &tools); err != nil {
		return nil, fmt.Errorf("it is no list of tools, as tools/list returns: %w", err)
	}
	for _, raw := range tools {
		l.Add(raw)
	}
	return l, nil
}

// maxListDepth is the maximum number of levels of a list. Each definition has its own limit.
const maxListDepth = 1000

// maxReportedName is how much of a name that cannot be pinned is printed, in bytes.
const maxReportedName = 60

// errTwice is the reason for which no definition of a name is imported: calls of it would be refused.
var errTwice = errors.New("the server lists its name more than once")

// Add adds a definition as the server sent it. One that cannot be pinned is refused, as are all with one name.
func (l *Listing) Add(raw []byte) {
	d, err := definition.Parse(raw)
	isSame := func(other definition.Definition) bool { return other.Name == d.Name }
	if err == nil && slices.ContainsFunc(l.Tools, isSame) {
		l.Tools, err = slices.DeleteFunc(l.Tools, isSame), errTwice
	}
	if err == nil && slices.Contains(l.Refused, Refused{d.Name, errTwice.Error()}) {
		return
	}
	if err == nil {
		l.Tools = append(l.Tools, d)
		return
	}
	name := d.Name
	if name == "" {
		if name, _ = jsonscan.LookupText(raw, "name"); name == "" {
			name = "a tool without a name"
		}
		name = importer.Sentence(name, maxReportedName)
	}
	l.Refused = append(l.Refused, Refused{name, err.Error()})
}
