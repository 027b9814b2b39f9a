package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/syntax"
)

// addTopLevel adds the blocks of a file and whole tools.
func (c *completion) addTopLevel() {
	after := strings.TrimSpace(c.after())
	if strings.TrimSpace(c.line()) != "" {
		return
	}
	written := c.writtenBlock()
	for i, name := range likelyBlocks(c.TopLevel()) {
		key, form := name, name+" {\n  $0\n}"
		if name == "connection" {
			key, form = "", "connection \"${1:http}\" \"${2:name}\" {\n  $0\n}"
		}
		item := Item{Label: name, Kind: ItemBlock, Insert: form, Snippet: true, score: -float64(i)}
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
			item.score += c.topLevelScore(name, written)
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
		c.add(Item{Label: s.label, Kind: ItemSnippet, Detail: s.doc, Insert: text, Snippet: true, score: -40})
	}
}

// writtenBlock returns the block whose type is at the cursor; nil for none.
func (c *completion) writtenBlock() *hclsyntax.Block {
	end := len(c.src)
	s := scanner{src: c.src, end: c.to, types: c.TopLevel()}
	if next := s.nextBlock(); next > 0 {
		end = next
	}
	body, _ := syntax.Parse("", append([]byte(mark), c.src[c.to:end]...))
	if len(body.Blocks) == 0 || body.Blocks[0].Type != mark {
		return nil
	}
	return body.Blocks[0]
}

// topLevelScore says how well a block whose labels and body are already written fits.
func (c *completion) topLevelScore(name string, written *hclsyntax.Block) float64 {
	if written == nil {
		return 0
	}
	kind := c.Keyed(name, written.Labels)
	if kind == nil {
		return -100
	}
	labels := strings.Count(kind.Name, `"`) / 2
	if labels != len(written.Labels) {
		return -100
	}
	if len(kind.Spec) == 0 {
		return 0
	}
	return 10 + blockScore("", written, "", append(kind.Spec, c.backendsOf(name)...))
}

// backendsOf returns the blocks of adapters that a top-level block takes.
func (c *completion) backendsOf(name string) (spec decode.Spec) {
	for _, backend := range c.Backends(&Kind{Key: name}) {
		spec = append(spec, decode.Field{Name: backend})
	}
	return spec
}

// likelyBlocks returns the names of the top-level blocks, those first that are written most.
func likelyBlocks(names []string) []string {
	first := []string{"tool", "connection", "secret", "variable", "server", "test", "locals", "policy", "prompt",
		"resource"}
	return append(first, slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains(first, n)
	})...)
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
