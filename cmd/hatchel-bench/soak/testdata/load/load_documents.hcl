resource "board" {
  uri     = "load://board"
  refresh = "1s"
  sql "board" { query = "SELECT 'Revision ' || printf('%04d', revision) AS text FROM board WHERE id = 1" }
}

resource "page" {
  uri_template = "load://page/{number}"
  input "number" { type = integer }
  file {
    directory = "pages"
    read      = "${input.number}.txt"
  }
}
