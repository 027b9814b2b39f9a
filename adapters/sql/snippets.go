package sql

import "hatchel/hcl"

// snippets are tools that use a database.
var snippets = []hcl.Snippet{
	{Label: "tool over SQL", Doc: "a tool that queries a database", Text: `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${4:id}" { type = string("${5:What it is}") }

  sql "CONNECTION" {
    query = <<-SQL
      SELECT ${6:*} FROM ${7:table} WHERE ${4:id} = \${input.${4:id}}
    SQL
  }$0
}`},
}
