package shell

import "hatchel/hcl"

// snippets are tools that run programs.
var snippets = []hcl.Snippet{
	{Label: "tool that runs a program", Doc: "a tool that runs a program without a shell", Text: `tool "${1:name}" {
  description = "${2:What the tool does and when to use it.}"

  input "${3:text}" { type = string("${4:What it is}") }

  shell {
    command = ["${5:program}", "\${input.${3:text}}"]
  }$0
}`},
}
