package editor

import (
	"fmt"
	"slices"
	"strings"
)

// addTopLevel adds the blocks of a file and whole tools.
func (c *completion) addTopLevel() {
	after := strings.TrimSpace(c.after())
	if strings.TrimSpace(c.line()) != "" {
		return
	}
	for _, name := range c.topLevel {
		key, form := name, name+" {\n  $0\n}"
		if name == "connection" {
			key, form = "", fmt.Sprintf("connection \"${1:%s}\" \"${2:name}\" {\n  $0\n}", c.kinds.Connections[0].Name)
		}
		item := Item{Label: name, Kind: ItemBlock, Insert: form, Snippet: true}
		if k := c.Kind(key); k != nil {
			item.Doc, item.Detail = k.Doc, k.Name
			label := ""
			if strings.Contains(k.Name, `"`) {
				label = "name"
			}
			item.Insert = blockSnippet(name, label, k.Spec)
		}
		if after != "" {
			item.Insert, item.Snippet = "", false
		}
		c.add(item)
	}
	if after != "" {
		return
	}
	for _, backend := range c.kinds.Backends {
		for _, s := range backend.Snippets {
			text := strings.ReplaceAll(s.Text, "CONNECTION", c.connectionChoice(backend.Connections))
			c.add(Item{Label: s.Label, Kind: ItemSnippet, Detail: s.Doc, Insert: text, Snippet: true})
		}
	}
}

// connectionChoice returns the place for the name of a connection of one of these kinds.
func (c *completion) connectionChoice(kinds []string) string {
	var names []string
	if c.cfg != nil {
		for _, conn := range c.cfg.Connections {
			if slices.Contains(kinds, conn.Kind) {
				names = append(names, conn.Name)
			}
		}
	}
	switch len(names) {
	case 0:
		return "${3:name}"
	case 1:
		return fmt.Sprintf("${3:%s}", names[0])
	}
	return "${3|" + strings.Join(names, ",") + "|}"
}
