# Clients are told when the lists of tools and prompts change. These tools change them, by writing a file into this very folder: the server loads it
# as it loads any edit. A tool that writes tools is for tests; what it writes here is constant but for the time.

tool "test_trigger_tool_change" {
  description = "Declares a tool, or changes it, so that clients are told."
  file {
    directory = "changing"
    write     = "tool.hcl"
    if_exists = "replace"
    content   = <<-HCL
      # Written by test_trigger_tool_change.
      tool "changing_tool" {
        description = "Was declared at ${timestamp()}, ${uuid()}."
        text        = "I am here."
      }
    HCL
  }
  text = "The list of tools changes."
}

tool "test_trigger_prompt_change" {
  description = "Declares a prompt, or changes it, so that clients are told."
  file {
    directory = "changing"
    write     = "prompt.hcl"
    if_exists = "replace"
    content   = <<-HCL
      # Written by test_trigger_prompt_change.
      prompt "changing_prompt" {
        description = "Was declared at ${timestamp()}, ${uuid()}."
        message "user" { text = "I am here." }
      }
    HCL
  }
  text = "The list of prompts changes."
}
