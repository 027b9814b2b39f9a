# Clients are notified when the lists of tools and prompts change. These tools change the lists by writing a file into this directory, which the
# server reloads like any edit. A tool that writes tools is for tests only; what it writes here is constant except for the time.

tool "test_trigger_tool_change" {
  description = "Declares or changes a tool, so that clients are notified."
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
  description = "Declares or changes a prompt, so that clients are notified."
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
