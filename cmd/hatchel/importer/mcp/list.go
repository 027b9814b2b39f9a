package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"hatchel/adapters/mcp/definition"
	"hatchel/hcl/jsonscan"
)

// ReadList reads a list of tools: the result of tools/list, the whole message with it, or the array of its tools.
func ReadList(src []byte) (*Listing, error) {
	src = bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\ufeff")))
	scan := jsonscan.New(src, maxClientDepth)
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

// Add adds a definition as the server sent it. One that cannot be pinned, or whose name is there, is refused.
func (l *Listing) Add(raw []byte) {
	d, err := definition.Parse(raw)
	if err == nil {
		for _, other := range l.Tools {
			if other.Name == d.Name {
				err = errors.New("the server lists the name twice")
			}
		}
	}
	if err != nil {
		name := d.Name
		if name == "" {
			name = "a tool without a name"
		}
		l.Refused = append(l.Refused, Refused{name, err.Error()})
		return
	}
	l.Tools = append(l.Tools, d)
}
