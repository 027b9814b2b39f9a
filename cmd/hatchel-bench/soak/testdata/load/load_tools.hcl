connection "sqlite" "board" {
  file = "board.db"
  init = file("board.sql")
}

tool "say_hello" {
  description = "Say hello."
  input "name" { type = string }
  text = "Hello ${input.name}"
}

tool "office_lookup" {
  description = "Look up a line of the board."
  input "id" { type = integer }
  sql "board" { query = "SELECT id, revision FROM board WHERE id = ${input.id}" }
}

tool "post" {
  description = "Put the next revision on the board."
  sql "board" { exec = "UPDATE board SET revision = revision + 1 WHERE id = 1" }
}

toolset "office" {
  tools     = ["office_*"]
  prompts   = ["office_*"]
  resources = ["board", "notice", "page"]
}
