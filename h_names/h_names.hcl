connection "mcp" "h_names" {
  url         = "http://127.0.0.1:18471/h_names/mcp"
  definitions = "h_names.tools.json"
}

# a"b of h_names
tool "a_b" {
  description = "Does it."
  mcp "h_names" {
    call = "a\"b"
  }
}

# a b of h_names
tool "h_names_a_b" {
  description = "Does it."
  mcp "h_names" {
    call = "a\nb"
  }
}

# ${secret.x} of h_names
tool "secret_x" {
  description = "Does it."
  mcp "h_names" {
    call = "$${secret.x}"
  }
}

# %{if true} of h_names
tool "if_true" {
  description = "Does it."
  mcp "h_names" {
    call = "%%{if true}"
  }
}

# a b of h_names
tool "h_names_a_b_2" {
  description = "Does it."
  mcp "h_names" {
    call = "a b"
  }
}

# a_b of h_names
tool "h_names_a_b_3" {
  description = "Does it."
  mcp "h_names" {
    call = "a_b"
  }
}

# a.b of h_names
tool "h_names_a_b_4" {
  description = "Does it."
  mcp "h_names" {
    call = "a.b"
  }
}

# A_B of h_names
tool "A_B" {
  description = "Does it."
  mcp "h_names" {
    call = "A_B"
  }
}

# tool<U+202E>evil of h_names
tool "tool_evil" {
  description = "Does it."
  mcp "h_names" {
    call = "tool\u202eevil"
  }
}

# <U+E0041>hidden of h_names
tool "hidden" {
  description = "Does it."
  mcp "h_names" {
    call = "\U000e0041hidden"
  }
}

# 日本 of h_names
tool "x" {
  description = "Does it."
  mcp "h_names" {
    call = "日本"
  }
}

# 日本語 of h_names
tool "h_names" {
  description = "Does it."
  mcp "h_names" {
    call = "日本語"
  }
}

# - of h_names
tool "h_names_2" {
  description = "Does it."
  mcp "h_names" {
    call = "-"
  }
}

# 1abc of h_names
tool "x_1abc" {
  description = "Does it."
  mcp "h_names" {
    call = "1abc"
  }
}

# $${x} of h_names
tool "h_names_x" {
  description = "Does it."
  mcp "h_names" {
    call = "\u0024$${x}"
  }
}

# for of h_names
tool "for" {
  description = "Does it."
  mcp "h_names" {
    call = "for"
  }
}

# null of h_names
tool "null" {
  description = "Does it."
  mcp "h_names" {
    call = "null"
  }
}

# \u0022 of h_names
tool "u0022" {
  description = "Does it."
  mcp "h_names" {
    call = "\\u0022"
  }
}

# a<U+0000>b of h_names
tool "h_names_a_b_5" {
  description = "Does it."
  mcp "h_names" {
    call = "a\u0000b"
  }
}

# "} tool "x" { of h_names
tool "tool_x" {
  description = "Does it."
  mcp "h_names" {
    call = "\"} tool \"x\" {"
  }
}
