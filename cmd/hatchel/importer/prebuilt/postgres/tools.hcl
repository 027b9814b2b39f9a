secret "database_url" { env = "DATABASE_URL" }

# The role of the URL should be able to read what agents may see, and nothing else. A superuser cannot run execute_sql.
connection "postgres" "db" {
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
  input "query" { type = string("The statement, without EXPLAIN") }
  sql "db" { statement = "EXPLAIN (FORMAT JSON) ${input.query}" }
}

tool "list_tables" {
  description = "List tables and views with their comments, sizes, columns and keys. Use it before you write SQL."
  input "table_names" { type = optional(list(string("Name of a table, without its schema")), []) }
  sql "db" {
    query = <<-SQL
      SELECT n.nspname AS schema, c.relname AS name,
        CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END AS kind,
        obj_description(c.oid, 'pg_class') AS comment, GREATEST(c.reltuples, 0)::bigint AS rows_estimated,
        (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
            'not_null', a.attnotnull, 'comment', col_description(c.oid, a.attnum)) ORDER BY a.attnum)
          FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
        (SELECT json_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname) FROM pg_constraint k
          WHERE k.conrelid = c.oid) AS constraints
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
        %{if length(input.table_names) > 0} AND c.relname IN ${input.table_names} %{endif}
      ORDER BY 1, 2
    SQL
  }
}

tool "list_schemas" {
  description = "List the schemas of the database with their owners and numbers of tables."
  sql "db" {
    query = <<-SQL
      SELECT n.nspname AS name, pg_get_userbyid(n.nspowner) AS owner, count(c.oid) AS tables
      FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
      WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
      GROUP BY 1, 2 ORDER BY 1
    SQL
  }
}

tool "list_views" {
  description = "List the views of the database with their definitions."
  input "limit" { type = optional(integer("Views at most", { min = 1, max = 500 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT schemaname AS schema, viewname AS name, viewowner AS owner, definition FROM pg_views
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2 LIMIT ${input.limit}
    SQL
  }
}

tool "list_indexes" {
  description = "List indexes with their definitions, sizes and numbers of scans. An index without scans may be superfluous."
  input "table" { type = optional(string("Only indexes of this table")) }
  input "limit" { type = optional(integer("Indexes at most", { min = 1, max = 500 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT s.schemaname AS schema, s.relname AS table, s.indexrelname AS name, pg_get_indexdef(s.indexrelid) AS definition,
        pg_size_pretty(pg_relation_size(s.indexrelid)) AS size, s.idx_scan AS scans
      FROM pg_stat_user_indexes s
      WHERE true %{if input.table != null} AND s.relname = ${input.table} %{endif}
      ORDER BY 1, 2, 3 LIMIT ${input.limit}
    SQL
  }
}

tool "list_triggers" {
  description = "List the triggers of tables with their definitions and whether they are enabled."
  input "limit" { type = optional(integer("Triggers at most", { min = 1, max = 500 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT n.nspname AS schema, c.relname AS table, t.tgname AS name, pg_get_triggerdef(t.oid) AS definition,
        t.tgenabled <> 'D' AS enabled
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE NOT t.tgisinternal ORDER BY 1, 2, 3 LIMIT ${input.limit}
    SQL
  }
}

tool "list_sequences" {
  description = "List sequences with their limits and last values."
  input "limit" { type = optional(integer("Sequences at most", { min = 1, max = 500 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT schemaname AS schema, sequencename AS name, data_type::text AS type, min_value, max_value, last_value
      FROM pg_sequences ORDER BY 1, 2 LIMIT ${input.limit}
    SQL
  }
}

tool "list_active_queries" {
  description = "List the statements that run now, longest first, with what they wait for."
  input "limit" { type = optional(integer("Statements at most", { min = 1, max = 200 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT pid, usename AS user, datname AS database, application_name, wait_event_type, wait_event, query_start,
        extract(epoch FROM clock_timestamp() - query_start)::float8 AS seconds, query
      FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()
      ORDER BY query_start LIMIT ${input.limit}
    SQL
  }
}

tool "long_running_transactions" {
  description = "List transactions that have been open for a while, oldest first. They hold locks and prevent clean-up."
  input "min_seconds" { type = optional(integer("Age in seconds at least", { min = 0 }), 300) }
  input "limit" { type = optional(integer("Transactions at most", { min = 1, max = 200 }), 50) }
  sql "db" {
    query = <<-SQL
      SELECT pid, usename AS user, datname AS database, application_name, state, xact_start,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds, wait_event_type, wait_event, query
      FROM pg_stat_activity
      WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()
        AND extract(epoch FROM clock_timestamp() - xact_start) >= ${input.min_seconds}
      ORDER BY xact_start LIMIT ${input.limit}
    SQL
  }
}

tool "list_locks" {
  description = "List the locks of sessions, and which sessions wait for a lock of another one."
  input "limit" { type = optional(integer("Locks at most", { min = 1, max = 500 }), 200) }
  sql "db" {
    query = <<-SQL
      SELECT l.pid, a.usename AS user, l.locktype, l.mode, l.granted, l.relation::regclass::text AS relation,
        to_json(pg_blocking_pids(l.pid)) AS waits_for, a.query
      FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.pid <> pg_backend_pid() ORDER BY l.granted, l.pid, 3, 4 LIMIT ${input.limit}
    SQL
  }
}

tool "replication_stats" {
  description = "Show how far each replica is behind the primary, in bytes."
  sql "db" {
    query = <<-SQL
      SELECT pid, application_name, client_addr::text AS client, state, sync_state,
        pg_wal_lsn_diff(sent_lsn, write_lsn) AS write_lag, pg_wal_lsn_diff(write_lsn, flush_lsn) AS flush_lag,
        pg_wal_lsn_diff(flush_lsn, replay_lsn) AS replay_lag, pg_wal_lsn_diff(sent_lsn, replay_lsn) AS total_lag
      FROM pg_stat_replication ORDER BY pid
    SQL
  }
}

tool "database_overview" {
  description = "Show version, size, age and connections of the database."
  sql "db" {
    query = <<-SQL
      SELECT current_database() AS database, version() AS version, pg_is_in_recovery() AS replica,
        pg_postmaster_start_time() AS started, pg_size_pretty(pg_database_size(current_database())) AS size,
        (SELECT count(*) FROM pg_stat_activity) AS connections, current_setting('max_connections')::int AS max_connections
    SQL
  }
  result = "output.row"
}

tool "list_available_extensions" {
  description = "List the extensions that could be installed on this server."
  sql "db" { query = "SELECT name, default_version, comment FROM pg_available_extensions ORDER BY name" }
}

tool "list_installed_extensions" {
  description = "List the installed extensions with version and schema."
  sql "db" {
    query = <<-SQL
      SELECT e.extname AS name, e.extversion AS version, n.nspname AS schema, pg_get_userbyid(e.extowner) AS owner
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY 1
    SQL
  }
}

tool "list_column_cardinality" {
  description = "Estimate how many different values the columns of a table have, from the statistics of the database."
  input "table" { type = string("Name of the table") }
  input "schema" { type = optional(string("Name of the schema"), "public") }
  sql "db" {
    query = <<-SQL
      SELECT attname AS column, n_distinct, null_frac AS fraction_of_nulls FROM pg_stats
      WHERE schemaname = ${input.schema} AND tablename = ${input.table} ORDER BY 1
    SQL
  }
}
