tool "list_orders" {
  description = "List orders by number, in pages."
  page {
    size  = 50
    total = 2000
    keys  = { id = integer }
  }
  sql "shop" {
    query = <<-SQL
      SELECT id, status, total FROM orders
      %{if page.after != null} WHERE id > ${page.after.id} %{endif}
      ORDER BY id LIMIT ${page.limit}
    SQL
  }
}
