package sqltext

import (
	"fmt"
	"testing"
)

// everyday are statements as people write them: each must compile without a word of complaint.
var everyday = map[Dialect][]string{
	SQLite: {
		"SELECT a, count(*) AS n FROM t WHERE d BETWEEN ${s} AND ${s} GROUP BY a HAVING count(*) > ${n} ORDER BY n DESC LIMIT ${n} OFFSET ${n}",
		"WITH x(a) AS (SELECT a FROM t WHERE b > ${n}), y AS (SELECT a FROM u) SELECT * FROM x JOIN y USING (a) WHERE x.a LIKE '%' || ${s} || '%' ESCAPE '\\'",
		"WITH RECURSIVE c(n) AS (VALUES(${n}) UNION ALL SELECT n + 1 FROM c WHERE n < ${n}) SELECT n FROM c",
		"INSERT INTO t (a, b) VALUES (${s}, ${n}) ON CONFLICT DO UPDATE SET b = excluded.b + ${n} WHERE t.b < ${n} RETURNING a, b;",
		"INSERT OR REPLACE INTO t(a, b) VALUES (${s}, coalesce(${n}, 0))",
		"INSERT INTO t SELECT a, ${n}, ${s}, NULL FROM u WHERE a IN (SELECT a FROM u WHERE b = ${n})",
		"UPDATE t SET a = ${s}, b = b + ${n}, c = CASE WHEN b > ${n} THEN ${s} ELSE c END WHERE (a, b) = (${s}, ${n})",
		"DELETE FROM t WHERE a = ${s} AND NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b IN ${i})",
		"SELECT value FROM json_each(${s}) WHERE value GLOB ${s}",
		"SELECT * FROM t, u AS v WHERE t.a = v.a AND t.b IN (1, ${n}, 3) AND t.a || ${s} = ${s} || v.a",
		"SELECT a, row_number() OVER (PARTITION BY a ORDER BY b DESC ROWS BETWEEN ${n} PRECEDING AND CURRENT ROW) FROM t",
		"SELECT strftime('%Y-%m', d) AS month, sum(b) FILTER (WHERE b > ${n}) FROM t WHERE d >= date(${s}, '-1 month') GROUP BY 1 ORDER BY abs(b - ${n}), 1",
		"SELECT a FROM t WHERE (${s} = '' OR a = ${s}) AND b IS ${n} AND c IS NOT ${s} UNION SELECT ${s} ORDER BY 1",
		"SELECT CAST(${s} AS INTEGER), -${n}, +${n}, ${n}%2, iif(${n} > 1, ${s}, 'x'), a COLLATE NOCASE = ${s} FROM t",
		"UPDATE t SET b = ${n} FROM u WHERE u.a = t.a AND u.b = ${n}",
		"SELECT ${s} AS label, a AS [my col], b AS `back` FROM t ORDER BY CASE ${e} WHEN 'a' THEN a ELSE b END",
		"SELECT a FROM t WHERE c ->> '$.name' = ${s} AND c -> ${s} IS NOT NULL",
		"EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = ${s}",
		"VALUES (${s}, ${n})",
		"SELECT a -- the name: isn't it?\nFROM t /* don't */ WHERE a = ${s} -- ok?",
	},
	PostgreSQL: {
		"SELECT a, count(*) AS n FROM t WHERE d BETWEEN ${s} AND ${s} GROUP BY a HAVING count(*) > ${n} ORDER BY n DESC LIMIT ${n} OFFSET ${n}",
		"SELECT a FROM t WHERE a ILIKE '%' || ${s} || '%' AND d > now() - ${s}::interval AND d >= CAST(${s} AS date) AND b = ANY(${i})",
		"INSERT INTO t (a, b) VALUES (${s}, ${n}) RETURNING a, b;",
		"INSERT INTO t (a, b) SELECT x, ${n} FROM unnest(${l}::text[]) AS x WHERE x NOT IN ${l}",
		"INSERT INTO t (a, b) VALUES ${r}",
		"UPDATE t SET a = ${s}, b = t.b + ${n} FROM u WHERE u.a = t.a AND u.b = ${n} RETURNING t.*",
		"DELETE FROM t USING u WHERE u.a = t.a AND u.b = ${n}",
		"WITH gone AS (DELETE FROM t WHERE a = ${s} RETURNING *) SELECT count(*) FROM gone",
		"SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC NULLS LAST FETCH FIRST ${n} ROWS ONLY",
		"SELECT extract(epoch FROM d), substring(a FROM ${n} FOR ${n}), trim(BOTH ${s} FROM a), position(${s} IN a), overlay(a PLACING ${s} FROM ${n}) FROM t",
		"SELECT date_trunc(${s}, d::timestamp) AT TIME ZONE ${s}, array_agg(a ORDER BY b) FILTER (WHERE b > ${n}) FROM t GROUP BY 1",
		"SELECT c::jsonb -> 'x' ->> ${s}, c::jsonb #>> ${l}, c::jsonb @> ${s}::jsonb, c::jsonb ? ${s} FROM t WHERE c::jsonb ?| ${l}",
		"SELECT a FROM t WHERE (${s} IS NULL OR a = ${s}) AND a IS NOT DISTINCT FROM ${s} AND a ~* ${s} AND a !~ ${s} AND a SIMILAR TO ${s}",
		"SELECT (ARRAY[${n}, ${n}::int])[1:2], (string_to_array(t.a, ','))[${n}] FROM t, LATERAL (SELECT ${n}::int AS k) x, generate_series(1, ${n}::int) AS g",
		"SELECT make_interval(days => ${n}), format('%s-%I', a, ${s}::text), E'it\\'s', $q$it's $1 ?$q$ FROM t",
		"SELECT a, rank() OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY b) ORDER BY strpos(a, ${s}) DESC, a < ${s}",
		"SELECT to_tsvector('simple', a) @@ plainto_tsquery(${s}) FROM t WHERE a LIKE ANY(${l}) FOR UPDATE SKIP LOCKED",
		"SELECT a FROM t TABLESAMPLE BERNOULLI (${n}) WHERE b NOT BETWEEN ${n} AND ${n}",
		"MERGE INTO t USING u ON t.a = u.a WHEN MATCHED AND u.b > ${n} THEN UPDATE SET b = ${n}, c = ${s} WHEN NOT MATCHED THEN INSERT (a, b) VALUES (u.a, ${n})",
		"SELECT a FROM ONLY t WHERE (a, b) > (${s}, ${n}) ORDER BY a, b LIMIT ${n}",
	},
	MySQL: {
		"SELECT a, COUNT(*) AS n FROM t WHERE d BETWEEN ${s} AND ${s} GROUP BY a HAVING COUNT(*) > ${n} ORDER BY n DESC LIMIT ${n}, ${n}",
		"SELECT a FROM t WHERE a LIKE CONCAT('%', ${s}, '%') AND d > NOW() - INTERVAL ${n} DAY AND d < DATE_ADD(d, INTERVAL ${n} MONTH)",
		"INSERT INTO t (a, b) VALUES (${s}, ${n}) ON DUPLICATE KEY UPDATE b = VALUES(b), c = ${s}, a = CONCAT(a, ${s})",
		"INSERT INTO t SET a = ${s}, b = ${n}",
		"INSERT IGNORE INTO t (a, b) VALUES ${r}",
		"REPLACE INTO t (a, b) VALUES (${s}, ${n})",
		"UPDATE t JOIN u ON u.a = t.a SET t.b = ${n}, t.c = ${s} WHERE u.b IN ${i} AND u.a NOT IN ${l}",
		"DELETE FROM t WHERE a = ${s} ORDER BY b LIMIT ${n}",
		"SELECT JSON_EXTRACT(c, ${s}), IF(b > ${n}, ${s}, 'x'), b DIV ${n}, b MOD ${n}, BINARY ${s}, CONVERT(${s} USING utf8mb4) FROM t",
		"SELECT a FROM t WHERE a <=> ${s} AND a RLIKE ${s} AND (a, b) IN (SELECT a, b FROM u WHERE b = ${n}) AND NOT ${n} # done",
		"SELECT GROUP_CONCAT(DISTINCT a ORDER BY b DESC SEPARATOR ', '), SUBSTRING(a FROM ${n} FOR ${n}), TRIM(LEADING ${s} FROM a) FROM t",
		"SELECT `a` AS `my \"col\"`, \"it's\", 'a\\'b' FROM t AS x WHERE x.a = ${s} COLLATE utf8mb4_bin",
		"WITH x AS (SELECT a FROM t WHERE b = ${n}) SELECT * FROM x UNION ALL SELECT ${s}",
		"SELECT EXTRACT(YEAR FROM d), CAST(${s} AS DATE), TIMESTAMPDIFF(DAY, d, ${s}) FROM t FOR UPDATE",
	},
}

func TestEverydayStatementsCompileAndPrepare(t *testing.T) {
	types := parseTypes(t, valueTypes)
	prepare := servers(t)
	for d, list := range everyday {
		for _, source := range list {
			p, diags := Compile(parse(t, source, types), d)
			for _, diag := range diags {
				t.Errorf("%s: %s\n\t%s: %s", d, source, diag.Summary, diag.Detail)
			}
			if p == nil || prepare[d] == nil {
				continue
			}
			for _, s := range p.Samples() {
				if n, err := prepare[d](s.Text); err != nil || n != s.Params {
					t.Errorf("%s: %s\n\t%d parameters, want %d, %v", d, s.Text, n, s.Params, err)
				}
			}
		}
	}
}

// A row with many optional columns has no more meanings than one with few.
func TestRowsMayHaveManyOptionalColumns(t *testing.T) {
	columns, values := "", ""
	for i := range 300 {
		columns += fmt.Sprintf("\n%%{if y}, c%d%%{endif}", i)
		values += "\n%{if y}, ${x}%{endif}"
	}
	source := "INSERT INTO t (id" + columns + "\n) VALUES (${x}" + values + "\n) RETURNING id"
	tree := parse(t, source, parseTypes(t, "x string\ny bool"))
	for name, d := range dialects {
		if _, diags := Compile(tree, d); len(diags) > 0 {
			t.Errorf("%s: %v", name, diags[0])
		}
	}
}
