# A skill tells agents how the tools are used together. Its files are read as they are.
skill "triage" {}
