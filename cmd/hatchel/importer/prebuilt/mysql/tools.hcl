secret "database_url" { env = "DATABASE_URL" }

# The account of the URL should be able to read what agents may see, and nothing else.
connection "mysql" "db" {
  url  = secret.database_url
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
  description = "Show the plan of one SQL statement, as JSON, without running it."
  input "sql_statement" { type = string("The statement, without EXPLAIN") }
  sql "db" { statement = "EXPLAIN FORMAT=JSON ${input.sql_statement}" }
}

tool "list_tables" {
  description = "List the columns of tables and views with their types, keys and comments. Use it before you write SQL."
  input "table_names" { type = optional(list(string("Name of a table")), []) }
  sql "db" {
    query = <<-SQL
      SELECT t.TABLE_NAME AS `table`, t.TABLE_TYPE AS kind, t.TABLE_COMMENT AS table_comment, c.COLUMN_NAME AS `column`,
        c.COLUMN_TYPE AS type, c.IS_NULLABLE AS nullable, c.COLUMN_KEY AS key_part, c.EXTRA AS extra, c.COLUMN_COMMENT AS comment
      FROM information_schema.TABLES t JOIN information_schema.COLUMNS c
        ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
      WHERE t.TABLE_SCHEMA = DATABASE()
        %{if length(input.table_names) > 0} AND t.TABLE_NAME IN ${input.table_names} %{endif}
      ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION
    SQL
  }
}

tool "list_active_queries" {
  description = "List the statements that run now, longest first. Accounts without the PROCESS privilege see their own."
  input "min_seconds" { type = optional(integer("Seconds at least", { min = 0 }), 0) }
  input "limit" { type = optional(integer("Statements at most", { min = 1, max = 200 }), 10) }
  sql "db" {
    query = <<-SQL
      SELECT ID AS id, USER AS user, HOST AS host, DB AS db, COMMAND AS command, TIME AS seconds, STATE AS state, INFO AS query
      FROM information_schema.PROCESSLIST
      WHERE COMMAND <> 'Sleep' AND ID <> CONNECTION_ID() AND TIME >= ${input.min_seconds}
      ORDER BY TIME DESC LIMIT ${input.limit}
    SQL
  }
}

tool "list_tables_missing_unique_indexes" {
  description = "List tables that have neither a primary key nor a unique index, so that duplicates cannot be excluded."
  input "limit" { type = optional(integer("Tables at most", { min = 1, max = 500 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT t.TABLE_NAME AS `table`, t.TABLE_ROWS AS rows_estimated FROM information_schema.TABLES t
      WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE'
        AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS s
          WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.NON_UNIQUE = 0)
      ORDER BY t.TABLE_NAME LIMIT ${input.limit}
    SQL
  }
}

tool "list_table_fragmentation" {
  description = "List tables with the share of their space that is allocated and unused."
  input "min_free_bytes" { type = optional(integer("Unused bytes at least", { min = 0 }), 1) }
  input "limit" { type = optional(integer("Tables at most", { min = 1, max = 500 }), 10) }
  sql "db" {
    query = <<-SQL
      SELECT TABLE_NAME AS `table`, DATA_LENGTH AS data_bytes, INDEX_LENGTH AS index_bytes, DATA_FREE AS free_bytes,
        ROUND(100 * DATA_FREE / NULLIF(DATA_LENGTH + INDEX_LENGTH, 0), 2) AS free_percent
      FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND DATA_FREE >= ${input.min_free_bytes}
      ORDER BY free_bytes DESC LIMIT ${input.limit}
    SQL
  }
}
