tool "list_pages" {
  description = "List the pages of the shop."
  sql "shop" {
    query = "SELECT title, url FROM pages ORDER BY title LIMIT 100"
  }
  returns = list(object({ title = string, url = string }))
  view "table" {
    column "url" {
      title = "Address"
      link  = true
    }
  }
}
