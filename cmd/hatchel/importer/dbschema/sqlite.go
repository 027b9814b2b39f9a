package dbschema

import (
	"context"
	"maps"
	"strings"

	"hatchel/internal/lazyregexp"
)

type sqlite struct{}

// sqliteTables are the tables and views of the database. Those in which the virtual tables of FTS and R-Tree keep their
// data are none: only the virtual table may change them.
const sqliteTables = ` FROM sqlite_master m
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND m.name NOT IN (SELECT s.name || '_' || j.value FROM sqlite_master s JOIN json_each('["config", "content", "data",
      "docsize", "idx", "instance", "node", "parent", "row", "rowid", "segdir", "segments", "stat"]') j
    WHERE s.type = 'table' AND s.sql LIKE 'CREATE VIRTUAL%') `

// columns reads each table on its own: a view or a virtual table that SQLite cannot prepare fails only its own query.
func (d sqlite) columns(ctx context.Context, q Query) (rows []map[string]any, err error) {
	tables, err := q(ctx, `SELECT m.name AS table_name, m.type = 'view' AS is_view`+sqliteTables+`ORDER BY m.name`)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		columns, err := q(ctx, sqliteColumns(str(t, "table_name")))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || len(columns) == 0 {
			columns = []map[string]any{{}}
		}
		for _, c := range columns {
			row := map[string]any{}
			maps.Copy(row, c)
			row["table_schema"], row["table_name"], row["is_view"] = "", t["table_name"], t["is_view"]
			rows = append(rows, row)
		}
	}
	addRefs(d, rows)
	return rows, nil
}

// sqliteColumns returns the query for the columns of a table.
func sqliteColumns(table string) string {
	name := "'" + strings.ReplaceAll(table, "'", "''") + "'"
	return `SELECT p.name AS column_name, p.type AS data_type, NOT (p."notnull" OR p.pk > 0) AS nullable,
  p.dflt_value IS NOT NULL AND upper(p.dflt_value) <> 'NULL' AS has_default,
  p.dflt_value AS default_value,
  p.hidden > 1 OR (p.pk = 1 AND upper(p.type) = 'INTEGER'
    AND (SELECT count(*) FROM pragma_table_info(` + name + `) k WHERE k.pk > 0) = 1
    AND NOT EXISTS (SELECT 1 FROM pragma_index_list(` + name + `) l WHERE l.origin = 'pk')) AS generated
FROM pragma_table_xinfo(` + name + `) p WHERE p.hidden <> 1 ORDER BY p.cid`
}

func (sqlite) indexes(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `SELECT * FROM (SELECT '' AS table_schema, m.name AS table_name, '' AS index_name, 1 AS is_primary,
  1 AS is_unique, p.name AS column_name, p.pk AS position
FROM (SELECT m.name`+sqliteTables+`AND m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%') m
JOIN pragma_table_info(m.name) p WHERE p.pk > 0
UNION ALL
SELECT '', m.name, l.name, 0, l."unique", i.name, i.seqno
FROM (SELECT m.name`+sqliteTables+`AND m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%') m
JOIN pragma_index_list(m.name) l
JOIN pragma_index_info(l.name) i WHERE l.origin <> 'pk' AND NOT l.partial)
ORDER BY table_name, is_primary DESC, is_unique DESC, index_name, position`)
}

func (sqlite) checks(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `SELECT '' AS table_schema, m.name AS table_name, m.sql AS clause`+sqliteTables+
		`AND m.type = 'table' AND m.sql IS NOT NULL ORDER BY m.name`)
}

var (
	sqliteBool = lazyregexp.New(`^BOOL(?:EAN)?\s*(?:\(|$)`)
	// sqliteInteger matches the names of integers in other databases.
	sqliteInteger = lazyregexp.New(`\b(?:TINY|SMALL|MEDIUM|BIG)?INT(?:EGER)?[0-9]*\b`)
)

// classify follows the rules of type affinity, after the usual names of types.
func (sqlite) classify(_ map[string]any, c *column) {
	typ := strings.ToUpper(c.typ)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(typ, part) {
				return true
			}
		}
		return false
	}
	switch {
	case sqliteBool.MatchString(typ): // others are answered as numbers
		c.kind = boolean
	case sqliteInteger.MatchString(typ):
		c.kind, c.large = integer, true
	case has("INT"): // SQLite takes FLOATING POINT for an integer, and stores any number in it
		c.kind = loose
	case has("DATETIME", "TIMESTAMP"):
		c.kind = local
	case has("DATE"):
		c.kind = date
	case has("CHAR", "TEXT", "CLOB"):
		c.kind = text
	case typ == "JSON":
		c.kind = document
	case has("BLOB"):
		c.kind, c.refusal = binary, "and tools have no bytes"
	case has("REAL", "FLOA", "DOUB", "DEC", "NUM"):
		c.kind = number
	case has("TIME"):
		c.kind = clock
	default: // SQLite makes a number of a text that looks like one
		c.kind = loose
	}
}

func (sqlite) quote(name string) string { return quoteIfNeeded(name, `"`) }
