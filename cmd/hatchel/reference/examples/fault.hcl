resource "invoice" {
  uri_template = "shop://invoices/{id}"
  step "invoice" {
    sql "shop" {
      query = "SELECT text FROM invoices WHERE id = ${input.id}"
    }
  }
  step "missing" {
    when = "step.invoice.row == null"
    fault { message = "There is no invoice ${input.id}" }
  }
  text = step.invoice.row.text
}
