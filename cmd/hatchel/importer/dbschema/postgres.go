package dbschema

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

type postgres struct{}

// userTables are the conditions on a relation c in a namespace n that the role can read.
const userTables = ` c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend x
    WHERE x.classid = 'pg_catalog.pg_class'::regclass AND x.objid = c.oid AND x.deptype = 'e') `

// mayWrite returns the expression for why no row of a relation c can be inserted or updated: event and command are
// those of the catalogs of rules and policies, and bit is that of pg_relation_is_updatable.
func mayWrite(verb, event, command, bit string) string {
	return `CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite r
      WHERE r.ev_class = c.oid AND r.ev_type = '` + event + `' AND r.is_instead AND r.ev_enabled <> 'D')
    THEN 'a rule does something else instead'
  WHEN pg_catalog.pg_relation_is_updatable(c.oid, false) & ` + bit + ` = 0 THEN 'the relation does not take it'
  WHEN NOT has_any_column_privilege(c.oid, '` + verb + `') THEN 'the role may not ` + strings.ToLower(verb) + ` rows'
  WHEN pg_catalog.row_security_active(c.oid) AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_policy p
      WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd IN ('*', '` + command + `')
        AND EXISTS (SELECT 1 FROM unnest(p.polroles) o WHERE o = 0 OR pg_catalog.pg_has_role(o, 'USAGE')))
    THEN 'row-level security has no policy that allows it' END`
}

// insertTrigger is the condition on a trigger g of a relation c that changes the rows which are inserted.
const insertTrigger = ` g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & 7 = 7 `

func (postgres) columns(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `WITH RECURSIVE leaf (column_type, oid, is_list) AS (
  SELECT oid, oid, false FROM pg_catalog.pg_type
  UNION SELECT leaf.column_type, CASE WHEN p.typtype = 'd' THEN p.typbasetype ELSE p.typelem END,
    leaf.is_list OR p.typtype <> 'd'
  FROM leaf JOIN pg_catalog.pg_type p ON p.oid = leaf.oid
  WHERE p.typtype = 'd' OR p.typinput = 'pg_catalog.array_in'::regproc)
SELECT c.nspname AS table_schema, c.relname AS table_name, c.relkind IN ('v', 'm') AS is_view,
  c.qualified, c.no_insert, c.no_update, c.fills, c.row_security, c.write_note,
  CASE WHEN c.qualified THEN quote_ident(c.nspname) || '.' ELSE '' END || quote_ident(c.relname) AS table_ref,
  pg_catalog.obj_description(c.oid, 'pg_class') AS table_comment,
  a.attname AS column_name, quote_ident(a.attname) AS column_ref,
  pg_catalog.format_type(a.atttypid, a.atttypmod) AS data_type,
  b.typname::text AS base_type, b.typtype::text AS base_kind, b.oid < 16384 AS builtin,
  CASE WHEN leaf.is_list THEN greatest(a.attndims, t.typndims, 1) ELSE 0 END AS dimensions,
  b.oid >= 16384 AND b.typtype NOT IN ('e', 'r', 'm') AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_opclass o
    JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
    WHERE o.opcdefault AND o.opcintype = b.oid) AS lacks_order,
  CASE WHEN NOT leaf.is_list AND b.typname IN ('varchar', 'bpchar') THEN
    CASE WHEN a.atttypmod > 4 THEN a.atttypmod - 4 WHEN t.typtypmod > 4 THEN t.typtypmod - 4 END END AS max_length,
  NOT (a.attnotnull OR t.typnotnull) AS nullable, a.atthasdef OR t.typdefault IS NOT NULL AS has_default,
  CASE WHEN a.attgenerated = '' THEN COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid), t.typdefault) END
    AS default_value,
  a.attgenerated <> '' OR a.attidentity <> ''
    OR COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false) AS generated,
  NOT has_column_privilege(c.oid, a.attnum, 'INSERT') AS insert_denied,
  NOT has_column_privilege(c.oid, a.attnum, 'UPDATE') AS update_denied,
  EXISTS (SELECT 1 FROM pg_catalog.pg_depend x JOIN pg_catalog.pg_class s ON s.oid = x.refobjid
    WHERE x.classid = 'pg_catalog.pg_attrdef'::regclass AND x.objid = d.oid
      AND x.refclassid = 'pg_catalog.pg_class'::regclass
      AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE, UPDATE') END) AS default_denied,
  pg_catalog.col_description(c.oid, a.attnum) AS comment,
  v.labels AS enum_values, v.number AS enum_number
FROM (SELECT c.oid, c.relname, c.relkind, n.nspname, NOT pg_catalog.pg_table_is_visible(c.oid) AS qualified,
    CASE WHEN c.relkind = 'p' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits p WHERE p.inhparent = c.oid)
      THEN 'the table is partitioned and has no partition' ELSE `+mayWrite("INSERT", "3", "a", "8")+` END AS no_insert,
    `+mayWrite("UPDATE", "2", "w", "4")+` AS no_update,
    EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE`+insertTrigger+`) AS fills,
    pg_catalog.row_security_active(c.oid) AS row_security,
    concat_ws('; ',
      (SELECT 'the rule ' || min(r.rulename) || ' does more than the statement' FROM pg_catalog.pg_rewrite r
        WHERE r.ev_class = c.oid AND r.ev_type IN ('2', '3') AND NOT r.is_instead AND r.ev_enabled <> 'D'
        HAVING count(*) > 0),
      (SELECT 'the trigger ' || min(g.tgname) || ' may insert no row, and then insert returns null'
        FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
        WHERE`+insertTrigger+`AND f.prosrc ~* 'return\s+null' HAVING count(*) > 0)) AS write_note
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE`+userTables+`OFFSET 0) c
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN leaf ON leaf.column_type = t.oid JOIN pg_catalog.pg_type b ON b.oid = leaf.oid
  AND b.typtype <> 'd' AND b.typinput <> 'pg_catalog.array_in'::regproc
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN (SELECT o.enumtypid, count(*) AS number,
    (json_agg(o.enumlabel ORDER BY o.enumsortorder)
      FILTER (WHERE o.position <= `+strconv.Itoa(maxValues)+`))::text AS labels
  FROM (SELECT l.*, row_number() OVER (PARTITION BY l.enumtypid ORDER BY l.enumsortorder) AS position
    FROM pg_catalog.pg_enum l) o GROUP BY o.enumtypid) v ON v.enumtypid = b.oid
ORDER BY c.nspname, c.relname, a.attnum`)
}

func (postgres) indexes(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `SELECT n.nspname AS table_schema, c.relname AS table_name, i.indexrelid::text AS index_name,
  i.indisprimary AS is_primary, i.indisunique AND i.indexprs IS NULL AS is_unique, a.attname AS column_name
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, position)
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname IN ('btree', 'hash', 'brin') -- others do not compare with =
WHERE i.indisvalid AND i.indpred IS NULL AND k.position <= i.indnkeyatts AND`+userTables+
		`ORDER BY n.nspname, c.relname, NOT i.indisprimary, NOT i.indisunique, i.indexrelid, k.position`)
}

func (postgres) checks(ctx context.Context, q Query) ([]map[string]any, error) {
	return q(ctx, `SELECT n.nspname AS table_schema, c.relname AS table_name, pg_get_constraintdef(k.oid) AS clause,
  NULL AS domain_of
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND`+userTables+`
UNION ALL
SELECT n.nspname, c.relname, pg_get_constraintdef(k.oid), a.attname
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_attribute a ON a.atttypid = k.contypid
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND k.contypid <> 0 AND a.attnum > 0 AND NOT a.attisdropped AND`+userTables+`
ORDER BY 1, 2, 3`)
}

// postgresKinds are the kinds of the types of PostgreSQL. A type that is not listed is text: it is read and written in
// its own notation.
var postgresKinds = map[string]kind{
	"int2": integer, "int4": integer, "int8": integer, "oid": integer,
	"float4": number, "float8": number, "numeric": decimal,
	"bool": boolean, "date": date, "time": clock, "timetz": offsetClock, "timestamp": local, "timestamptz": instant,
	"uuid": uuid, "json": document, "jsonb": document, "bytea": binary,
	"text": text, "varchar": text, "bpchar": text, "name": text, "citext": text, "char": text,
}

// postgresUnequal are types without = or without an order, or whose = compares something else, such as areas.
var postgresUnequal = []string{"json", "xml", "jsonpath", "point", "line", "lseg", "box", "path", "polygon", "circle",
	"refcursor", "xid", "cid", "aclitem", "txid_snapshot", "pg_snapshot", "int2vector", "gtsvector", "pg_node_tree"}

func (postgres) classify(row map[string]any, c *column) {
	base := str(row, "base_type")
	var known bool
	if c.kind, known = postgresKinds[base]; !known {
		c.kind, c.notation = text, "type "+plain(base)
	}
	c.dimensions, c.large = count(row, "dimensions"), base == "int8"
	c.unequal = slices.Contains(postgresUnequal, base)
	c.unequal = c.unequal || truth(row, "lacks_order") // a type of an extension
	switch {
	case str(row, "base_kind") == "c":
		c.kind, c.refusal = binary, "which is a composite type"
	case c.kind == binary:
		c.refusal = "and tools have no bytes"
	case strings.HasPrefix(base, "reg") && truth(row, "builtin"): // = compares their numbers
		c.compare = "%s::pg_catalog." + base
	}
	c.maxLength, c.number = count(row, "max_length"), count(row, "enum_number")
	if v := str(row, "enum_values"); v != "" && json.Unmarshal([]byte(v), &c.values) == nil {
		c.kind, c.notation = text, ""
	}
}

func (postgres) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// lengthOf returns the number in parentheses of a type such as varchar(80), or 0.
func lengthOf(typ string) int {
	_, rest, _ := strings.Cut(typ, "(")
	n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), ")")))
	return max(n, 0)
}
