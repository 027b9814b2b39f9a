package edit

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
	for _, name := range c.TopLevel() {
		key, form := name, name+" {\n  $0\n}"
		if name == "connection" {
			key, form = "", "connection \"${1:http}\" \"${2:name}\" {\n  $0\n}"
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
	for _, s := range wholeTools {
		text := s.text
		if s.kinds != nil {
			text = strings.ReplaceAll(text, "CONNECTION", c.connectionChoice(s.kinds))
		}
		c.add(Item{Label: s.label, Kind: ItemSnippet, Detail: s.doc, Insert: text, Snippet: true})
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

// wholeTools are tools to begin with.
var wholeTools = []struct {
	label, doc string
	kinds      []string // of the connection in place of CONNECTION
	text       string
}{
	{"tool over HTTP", "a tool that sends a request", []string{"http"}, `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${4:id}" { type = string("${5:What it is}") }

  http "CONNECTION" {
    get = "/${6:path}/\${input.${4:id}}"
  }

  result = "output.body$0"
}`},
	{"tool over SQL", "a tool that queries a database", []string{"postgres", "mysql", "sqlite"}, `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${4:id}" { type = string("${5:What it is}") }

  sql "CONNECTION" {
    query = <<-SQL
      SELECT ${6:*} FROM ${7:table} WHERE ${4:id} = \${input.${4:id}}
    SQL
  }$0
}`},
	{"tool that runs a program", "a tool that runs a program without a shell", nil, `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${3:text}" { type = string("${4:What it is}") }

  shell {
    command = ["${5:program}", "\${input.${3:text}}"]
  }$0
}`},
	{"tool with steps", "a tool of several steps", []string{"http"}, `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  step "${4:first}" {
    http "CONNECTION" {
      get = "/${5:path}"
    }
  }

  result = "step.${4:first}.body$0"
}`},
}
