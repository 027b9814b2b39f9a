# Input schemas. Most tools declare inputs with types; these are two special cases.

# The value of `region` is also sent in the header Mcp-Param-Region, so that a proxy can route by it without reading the request. A request whose
# header differs is rejected.
tool "test_custom_header" {
  description = "Answers with the region from the arguments, which a header repeats."
  input "region" {
    type   = string("Region to work in")
    header = "Region"
  }
  text = "Region: ${input.region}"
}

# A schema can be given verbatim in JSON Schema 2020-12. Clients see it unchanged, and it is enforced.
# lint:allow input The conformance suite compares the schema byte for byte.
tool "json_schema_2020_12_tool" {
  description = "Accepts a contact by a schema with references, conditions and composition."
  schema = {
    "$schema" = "https://json-schema.org/draft/2020-12/schema"
    type      = "object"
    "$defs" = {
      address = {
        "$anchor" = "addressDef"
        type      = "object"
        properties = {
          street = { type = "string" }
          city   = { type = "string" }
        }
      }
    }
    properties = {
      name          = { type = "string" }
      address       = { "$ref" = "#/$defs/address" }
      contactMethod = { type = "string", enum = ["phone", "email"] }
      phone         = { type = "string" }
      email         = { type = "string" }
    }
    allOf = [
      { anyOf = [{ required = ["phone"] }, { required = ["email"] }] },
    ]
    if = {
      properties = { contactMethod = { const = "phone" } }
      required   = ["contactMethod"]
    }
    then                 = { required = ["phone"] }
    else                 = { required = ["email"] }
    additionalProperties = false
  }
  result = "input"
}
