connection "mcp" "h_text" {
  url         = "http://127.0.0.1:18471/h_text/mcp"
  definitions = "h_text.tools.json"
}

# hid of h_text
tool "hid" {
  description = "Good.nore txt"
  mcp "h_text" {
    call = "hid"
  }
}

# interp of h_text
tool "interp" {
  description = "Costs $${var.x} and %%{ for } and 'code' \"q\" \\ } tool \"y\" {}"
  mcp "h_text" {
    call = "interp"
  }
}

# steer of h_text
tool "steer" {
  description = "steer."
  mcp "h_text" {
    call = "steer"
  }
}

# cred of h_text
tool "cred" {
  description = "Use token … here"
  mcp "h_text" {
    call = "cred"
  }
}

# inp of h_text
tool "inp" {
  description = "Does it."
  input "z" { type = optional(string) }
  input "a_b" { type = optional(integer) }
  input "a_b_2" { type = optional(integer) }
  input "p_q" { type = optional(string) }
  input "q" { type = optional(string) }
  input "r" { type = optional(enum("$${x}", "%%{y}", "a\"b", "new\nline")) }
  input "x_y" { type = optional(string) }
  mcp "h_text" {
    call = "inp"
    arguments = {
      "$${z}" = input.z
      "a b"   = input.a_b
      a_b     = input.a_b_2
      "p\"q"  = input.p_q
      q       = input.q
      r       = input.r
      "x\ny"  = input.x_y
    }
  }
}
