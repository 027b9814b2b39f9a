package http

import "hatchel/hcl"

// snippets are tools that send requests.
var snippets = []hcl.Snippet{
	{Label: "tool over HTTP", Doc: "a tool that sends a request", Text: `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${4:id}" { type = string("${5:What it is}") }

  http "CONNECTION" {
    get = "/${6:path}/\${input.${4:id}}"
  }

  result = "output.body$0"
}`},
	{Label: "tool with steps", Doc: "a tool of several steps", Text: `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  step "${4:first}" {
    http "CONNECTION" {
      get = "/${5:path}"
    }
  }

  result = "step.${4:first}.body$0"
}`},
}
