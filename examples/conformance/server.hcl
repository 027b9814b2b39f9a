# Every server feature of the Model Context Protocol, one short block each. Names and texts are those that the official conformance suite expects:
# see README.md.

server {
  name         = "conformance"
  title        = "Conformance"
  version      = "1.0.0"
  instructions = "Each tool, resource and prompt here shows one feature of the protocol."
}
