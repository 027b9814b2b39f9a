# One tool for each place that a caller's text can stand in; each shows what has arrived there.

variable "mirror_url" { type = string }

connection "http" "mirror" {
  base_url = var.mirror_url
}

connection "sqlite" "memory" {
  file = "echo.db"
  mode = "rw"
}

tool "word" {
  description = "A word of a command."
  max_text    = "1MiB"
  input "s" { type = string }
  shell { command = ["printf", "--", "%s", input.s] }
  result = "output.stdout"
}

tool "glued" {
  description = "A part of a word."
  max_text    = "1MiB"
  input "s" { type = string }
  shell { command = ["printf", "%s", "<${input.s}>"] }
  result = "output.stdout"
}

tool "piped" {
  description = "A word of a pipe."
  max_text    = "1MiB"
  input "s" { type = string }
  shell { pipe = [["printf", "--", "%s", input.s], ["cat"]] }
  result = "output.stdout"
}

tool "stdin" {
  description = "What a program reads."
  max_text    = "1MiB"
  input "s" { type = string }
  shell {
    command = ["cat"]
    stdin   = input.s
  }
  result = "output.stdout"
}

tool "env" {
  description = "A variable of the environment."
  max_text    = "1MiB"
  input "s" { type = string }
  shell {
    script = "printf '%s' \"$TEXT\""
    env    = { TEXT = input.s }
  }
  result = "output.stdout"
}

tool "script" {
  description = "A word of a script, alone and between other text."
  max_text    = "1MiB"
  input "s" { type = string }
  shell {
    script = <<-SH
      x=${input.s}
      for y in ${input.s}; do
        [ "$x" = "$y" ] || exit 1
      done
      case ${input.s} in
        "$x") printf '%s' ${input.s} ;;
        *) exit 2 ;;
      esac
    SH
  }
  result = "output.stdout"
}

tool "heredoc" {
  description = "Text within a script."
  max_text    = "1MiB"
  input "s" { type = string }
  shell {
    script = <<-SH
      cat <<END
      <${input.s}>
      END
    SH
  }
  result = "output.stdout"
}

tool "selected" {
  description = "A value of a query."
  max_text    = "1MiB"
  input "s" { type = string }
  sql "memory" { query = "SELECT ${input.s} AS s, '$' || ${input.s} AS t WHERE ${input.s} IN ${[input.s, "x"]}" }
  result = "output.row?.s"
}

tool "segment" {
  description = "A segment of a path."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" { get = "/path/${input.s}/end" }
  result = "output.body.segment"
}

tool "segments" {
  description = "Segments of a path."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" { get = "/path/${path(input.s)}/end" }
  result = "output.body.segment"
}

tool "typed_query" {
  description = "A value of a query string that is written in the URL."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" { get = "/query?a=1&s=${input.s}&b=2" }
  result = "output.body.query"
}

tool "query" {
  description = "A value of the query."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" {
    get   = "/query"
    query = { s = input.s }
  }
  result = "output.body.query"
}

tool "header" {
  description = "A header."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" {
    get     = "/header"
    headers = { x-text = "<${input.s}>" }
  }
  result = "output.body.header"
}

tool "form" {
  description = "A field of a form."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" {
    post = "/form"
    form = { s = input.s }
  }
  result = "output.body.form"
}

tool "json" {
  description = "A value and a key of a JSON body."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" {
    post = "/json"
    json = { (input.s) = input.s, list = ["<${input.s}>"] }
  }
  result = "output.body.json"
}

tool "body" {
  description = "A body."
  max_text    = "1MiB"
  input "s" { type = string }
  http "mirror" {
    post    = "/body"
    headers = { content-type = "text/plain" }
    body    = input.s
  }
  result = "output.body.body"
}

tool "text" {
  description = "A text."
  max_text    = "1MiB"
  input "s" { type = string }
  text = "<${input.s}>"
}

tool "computed" {
  description = "A program."
  max_text    = "1MiB"
  input "s" { type = string }
  result = "{x: [input.s]}.x[0]"
}
