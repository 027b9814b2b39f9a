# Every feature of the Model Context Protocol that a server can have, one short block each. The names and texts are
# those that the official conformance suite asks for, which is run against this folder: see README.md.

server {
  name         = "conformance"
  title        = "Conformance"
  version      = "1.0.0"
  instructions = "Each tool, resource and prompt here shows one feature of the protocol."
}
