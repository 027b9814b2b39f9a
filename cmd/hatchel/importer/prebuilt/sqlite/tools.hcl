variable "database" {
  type        = string
  default     = "database.db"
  description = "The database file, relative to this directory"
  env         = "SQLITE_DATABASE"
}

connection "sqlite" "db" {
  file = var.database
  mode = "ro"
}

tool "execute_sql" {
  description = "Run one read-only SQL statement and return its rows. Look at list_tables for names first."
  input "sql" { type = string("One complete SELECT statement with its values in it") }
  sql "db" {
    statement = input.sql
    max_rows  = 500
  }
}

tool "get_query_plan" {
  description = "Show the plan of one SQL statement without running it."
  input "query" { type = string("The statement, without EXPLAIN") }
  sql "db" { statement = "EXPLAIN QUERY PLAN ${input.query}" }
}

tool "list_tables" {
  description = "List the columns of tables and views with their types and keys. Use it before you write SQL."
  input "table_names" { type = optional(list(string("Name of a table")), []) }
  sql "db" {
    query = <<-SQL
      SELECT m.name AS "table", m.type AS kind, p.name AS "column", p.type AS type, p."notnull" AS not_null,
        p.pk AS key_position, p.dflt_value AS default_value
      FROM sqlite_master m JOIN pragma_table_info(m.name) p
      WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'
        %{if length(input.table_names) > 0} AND m.name IN ${input.table_names} %{endif}
      ORDER BY m.name, p.cid
    SQL
  }
}
