package sql

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

// columnSample is a type of a column and values of it, as SQL writes them.
type columnSample struct {
	typ     string
	values  []string
	bind    string // how a tool binds a value of it; input.v by default
	compare string // how a tool compares a value; %s, which is bound, by default
	noEqual bool   // the database cannot compare it with =
	noList  bool   // nor its lists
}

// roundTrips are the columns of one database.
type roundTrips struct {
	db     database // without the checks of a configuration
	source func(inputs, body string) adaptertest.Source
	lists  bool // the database has lists of each type
	table  int
}

func newRoundTrips(t *testing.T, source func(inputs, body string) adaptertest.Source) *roundTrips {
	b := adaptertest.Bind(t, source("", `query = "SELECT 1 AS one"`))
	t.Cleanup(func() { b.Close() })
	return &roundTrips{db: b.Handle("db").(database), source: source}
}

// run executes a statement and returns its first row.
func (r *roundTrips) run(t *testing.T, text string) (row []any, err error) {
	t.Helper()
	err = r.db.write(t.Context(), func(tx transaction) error {
		e := &execution{text: text, isQuery: strings.HasPrefix(text, "SELECT"), result: &resultSet{maxRows: 1}}
		err := tx.run(t.Context(), e)
		row = e.result.cells
		return err
	})
	return row, err
}

// check writes each value, reads it, writes what was read into another row, and finds both rows by it. On PostgreSQL it
// does so with a list of the value, too.
func (r *roundTrips) check(t *testing.T, c columnSample) {
	t.Helper()
	r.table++
	table := fmt.Sprintf("round_trip_%d", r.table)
	columns, names, inputs := "v "+c.typ, "v", `input "v" { type = any }`
	bound := "${" + cmp.Or(c.bind, "input.v") + "}"
	compare := cmp.Or(c.compare, "%s")
	condition, seed := "v = "+fmt.Sprintf(compare, bound), "%[1]s"
	if r.lists {
		columns, names, inputs = "a "+c.typ+"[], "+columns, "a, v", inputs+"\n"+`input "a" { type = list(any) }`
		list := "${input.a}"
		if c.bind != "" {
			list = "${[for e in input.a : e == null ? null : " + strings.ReplaceAll(c.bind, "input.v", "e") + "]}"
		}
		if !c.noList {
			condition += " AND a = " + fmt.Sprintf(compare, list)
		}
		if strings.Contains(compare, "::") {
			condition += "[]"
		}
		bound, seed = list+", "+bound, "ARRAY[CAST(%[1]s AS "+c.typ+"), NULL], "+seed
	}
	if c.noEqual {
		condition = "id <> 3"
	}
	for _, text := range []string{"DROP TABLE IF EXISTS " + table, "CREATE TABLE " + table + " (id INTEGER NOT NULL, " + columns + ")"} {
		if _, err := r.run(t, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	t.Cleanup(func() { _, _ = r.run(t, "DROP TABLE "+table) })
	b := adaptertest.Bind(t, r.source(inputs, `exec = ["INSERT INTO `+table+` (id, `+names+`) VALUES (2, `+bound+`)",
		"SELECT `+names+` FROM `+table+` WHERE id = 2", "DELETE FROM `+table+` WHERE `+condition+`"]`))
	defer b.Close()
	for _, v := range c.values {
		_, err := r.run(t, "DELETE FROM "+table)
		if err == nil {
			_, err = r.run(t, "INSERT INTO "+table+" (id, "+names+") VALUES (1, "+fmt.Sprintf(seed, v)+")")
		}
		if err != nil {
			t.Errorf("%s: writing %s: %v", c.typ, v, err)
			continue
		}
		read, err := r.run(t, "SELECT "+names+" FROM "+table)
		if err != nil {
			t.Errorf("%s: reading %s: %v", c.typ, v, err)
			continue
		}
		sent := `{"v":` + string(appendCell(nil, read[len(read)-1])) + `}`
		if r.lists {
			sent = `{"a":` + string(appendCell(nil, read[0])) + `,` + sent[1:]
		}
		out, err := b.Do(t.Context(), sent)
		if err != nil {
			t.Errorf("%s: %s is read as %s, which is refused: %v: %v", c.typ, v, sent, err, errors.Unwrap(err))
			continue
		}
		again, err := value.AppendJSON(nil, resultOf(t, out, 1)["row"])
		if string(again) != sent || err != nil {
			t.Errorf("%s: %s is read as %s, and what is written of that as %s, %v", c.typ, v, sent, again, err)
		}
		if found := resultOf(t, out, 2)["affected"]; found != 2 {
			t.Errorf("%s: %s is read as %s, which finds %v of 2 rows", c.typ, v, sent, found)
		}
	}
}

// resultOf returns the output of a statement of a list.
func resultOf(t *testing.T, out map[string]any, n int) map[string]any {
	t.Helper()
	resolved, err := value.Resolve(out["results"])
	if err != nil {
		t.Fatal(err)
	}
	return resolved.([]any)[n].(map[string]any)
}

// localTimes are values of a type for dates and times of PostgreSQL.
var localTimes = []string{"'2026-07-01 12:00:00'", "'2026-07-01 12:00:00.123456'", "'infinity'", "'-infinity'", "'0044-03-15 12:00:00 BC'", "'294276-12-31 12:00:00'"}

// postgresSamples are the types of the catalog, of which each has to be here, and some that users make of them.
var postgresSamples = []columnSample{
	{typ: "bool", values: []string{"true", "false"}},
	{typ: "int2", values: []string{"-32768"}}, {typ: "int4", values: []string{"2147483647"}},
	{typ: "int8", values: []string{"9223372036854775807", "9007199254740993"}},
	{typ: "oid", values: []string{"4294967295"}}, {typ: "xid", values: []string{"'7'"}}, {typ: "cid", values: []string{"'7'"}},
	{typ: "xid8", values: []string{"'18446744073709551615'"}}, {typ: "tid", values: []string{"'(1,2)'"}}, {typ: "pg_lsn", values: []string{"'16/B374D848'"}},
	{typ: "float4", values: []string{"'NaN'", "'-Infinity'", "0.1", "1e-30"}}, {typ: "float8", values: []string{"'NaN'", "'Infinity'", "0.1", "1e300", "0.30000000000000004"}},
	{typ: "numeric", values: []string{"'NaN'", "'Infinity'", "1.50", "12345678901234567890.123456789", "0", "-0.1"}}, {typ: "numeric(10,2)", values: []string{"1.5"}},
	{typ: "money", values: []string{"1234.5"}},
	{typ: "text", values: []string{"'a'", "''", "'5'", "'null'", `'{"a":1}'`, "'[1]'", "'{a}'", "'Grüße'"}},
	{typ: "varchar", values: []string{"'a '"}}, {typ: "varchar(9)", values: []string{"'a '"}}, {typ: "bpchar", values: []string{"'a'"}},
	{typ: "char(3)", values: []string{"'a'"}}, {typ: "name", values: []string{"'a'"}}, {typ: `"char"`, values: []string{"'x'"}},
	{typ: "bytea", values: []string{`'\xdeadbeef'`, "''"}, bind: "base64bytes(input.v)"},
	{typ: "uuid", values: []string{"'123e4567-e89b-12d3-a456-426614174000'"}},
	{typ: "date", values: []string{"'2026-07-01'", "'infinity'", "'-infinity'", "'0044-03-15 BC'", "'5874897-12-31'"}},
	{typ: "time", values: []string{"'12:00'", "'12:00:00.000001'", "'24:00'"}},
	{typ: "timetz", values: []string{"'12:00+02'", "'12:00:00.5-05:30'", "'12:00Z'", "'00:00:00+15:59:59'"}},
	{typ: "timestamp", values: localTimes}, {typ: "timestamp(0)", values: localTimes[:2]}, {typ: "timestamptz", values: localTimes},
	{typ: "interval", values: []string{"'1 day 2 hours'", "'-1 year 3 months -4.5 seconds'", "'0'", "'100 hours'"}},
	{typ: "json", values: []string{`'{"a": [1, null]}'`}, noEqual: true},
	{typ: "jsonb", values: []string{`'{"a": [1, null]}'`, "'5'", "'[]'", "'[1, 2]'", "'true'", "'1.50'", `'"5"'`, `'"a"'`}},
	{typ: "xml", values: []string{"'<a>1</a>'"}, noEqual: true},
	{typ: "jsonpath", values: []string{"'$.a'"}, noEqual: true},
	{typ: "inet", values: []string{"'10.0.0.1'", "'10.0.0.1/8'", "'::1'"}}, {typ: "cidr", values: []string{"'10.0.0.0/8'"}},
	{typ: "macaddr", values: []string{"'08:00:2b:01:02:03'"}}, {typ: "macaddr8", values: []string{"'08:00:2b:01:02:03:04:05'"}},
	{typ: "bit", values: []string{"B'1'"}}, {typ: "bit(5)", values: []string{"B'10101'"}}, {typ: "varbit", values: []string{"B'10101'", "B''"}},
	{typ: "tsvector", values: []string{"to_tsvector('english', 'a fat cat''s hat')"}}, {typ: "tsquery", values: []string{"'fat & !cat'"}},
	{typ: "point", values: []string{"'(1,2.5)'"}, noEqual: true}, {typ: "line", values: []string{"'{1,2,3}'"}, noList: true}, {typ: "lseg", values: []string{"'[(0,0),(1,1)]'"}, noList: true},
	{typ: "box", values: []string{"'(1,1),(0,0)'"}, noList: true}, {typ: "path", values: []string{"'((0,0),(1,1))'"}, noList: true}, {typ: "circle", values: []string{"'<(0,0),1>'"}, noList: true},
	{typ: "polygon", values: []string{"'((0,0),(1,1),(1,0))'"}, noEqual: true},
	{typ: "int4range", values: []string{"'[1,5)'", "'empty'", "'(,)'"}}, {typ: "int8range", values: []string{"'[1,5)'"}}, {typ: "numrange", values: []string{"'[1.5,2.5]'"}},
	{typ: "tsrange", values: []string{"'[2026-07-01 12:00,infinity)'"}}, {typ: "tstzrange", values: []string{"'[2026-07-01 12:00Z,)'"}}, {typ: "daterange", values: []string{"'[2026-07-01,2026-08-01)'"}},
	{typ: "int4multirange", values: []string{"'{[1,5),[7,9)}'", "'{}'"}}, {typ: "int8multirange", values: []string{"'{[1,5)}'"}}, {typ: "nummultirange", values: []string{"'{[1.5,2.5]}'"}},
	{typ: "tsmultirange", values: []string{"'{[2026-07-01 12:00,infinity)}'"}}, {typ: "tstzmultirange", values: []string{"'{[2026-07-01 12:00Z,)}'"}}, {typ: "datemultirange", values: []string{"'{[2026-07-01,)}'"}},
	{typ: "aclitem", values: []string{"('=r/' || current_user)::aclitem"}}, {typ: "oidvector", values: []string{"'1 2'"}}, {typ: "int2vector", values: []string{"'1 2'"}, noEqual: true},
	{typ: "refcursor", values: []string{"'c'"}, noEqual: true}, {typ: "txid_snapshot", values: []string{"'10:20:10,14'"}, noEqual: true}, {typ: "pg_snapshot", values: []string{"'10:20:10,14'"}, noEqual: true},
	{typ: "regclass", values: []string{"'pg_class'"}, compare: "%s::regclass"}, {typ: "regcollation", values: []string{`'"C"'`}, compare: "%s::regcollation"}, {typ: "regconfig", values: []string{"'english'"}, compare: "%s::regconfig"}, {typ: "regdictionary", values: []string{"'simple'"}, compare: "%s::regdictionary"},
	{typ: "regnamespace", values: []string{"'pg_catalog'"}, compare: "%s::regnamespace"}, {typ: "regoper", values: []string{"'||/'"}, compare: "%s::regoper"}, {typ: "regoperator", values: []string{"'*(integer,integer)'"}, compare: "%s::regoperator"},
	{typ: "regproc", values: []string{"'now'"}, compare: "%s::regproc"}, {typ: "regprocedure", values: []string{"'abs(integer)'"}, compare: "%s::regprocedure"}, {typ: "regrole", values: []string{"current_user::regrole"}, compare: "%s::regrole"}, {typ: "regtype", values: []string{"'integer'"}, compare: "%s::regtype"},
	{typ: "round_domain", values: []string{"3"}}, {typ: "round_stamp", values: localTimes},
	{typ: "round_row", values: []string{"(1, 'a b', '2026-07-01 12:00:00', ARRAY[1,2])", "(NULL, NULL, NULL, NULL)"}, compare: "%s::round_row"},
	{typ: "round_range", values: []string{"'[2026-07-01 12:00,)'"}},
	{typ: "round_enum", values: []string{"'a'", "'b c'"}},
}

// typesWithoutInput are those of the catalog that no statement can write.
const typesWithoutInput = "gtsvector pg_brin_bloom_summary pg_brin_minmax_multi_summary pg_dependencies pg_mcv_list pg_ndistinct pg_node_tree"

// TestEveryTypeOfPostgreSQLKeepsItsValues reads the types from the catalog, so a new one has to be added above.
func TestEveryTypeOfPostgreSQLKeepsItsValues(t *testing.T) {
	o := ownDatabase(t)
	o.run(t, "CREATE DOMAIN round_domain AS integer CHECK (VALUE > 0)")
	o.run(t, "CREATE DOMAIN round_stamp AS timestamp")
	o.run(t, "CREATE TYPE round_row AS (n integer, t text, at timestamp, list integer[])")
	o.run(t, "CREATE TYPE round_range AS RANGE (subtype = timestamp)")
	o.run(t, "CREATE TYPE round_enum AS ENUM ('a', 'b c')")
	rows, err := o.admin.Query(t.Context(), "SELECT typname FROM pg_catalog.pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typcategory <> 'A' AND typrelid = 0")
	if err != nil {
		t.Fatal(err)
	}
	known := typesWithoutInput
	for _, c := range postgresSamples {
		known += " " + strings.Trim(c.typ, `"`)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(" "+known+" ", " "+name+" ") {
			t.Errorf("no value of the type %s is tried", name)
		}
	}
	r := newRoundTrips(t, o.source)
	r.lists = true
	for _, c := range postgresSamples {
		r.check(t, c)
	}
}

// mysqlSamples are the types of MariaDB.
var mysqlSamples = []columnSample{
	{typ: "BOOLEAN", values: []string{"TRUE", "FALSE", "7"}}, {typ: "TINYINT", values: []string{"-128"}}, {typ: "TINYINT UNSIGNED", values: []string{"255"}},
	{typ: "SMALLINT", values: []string{"-32768"}}, {typ: "MEDIUMINT", values: []string{"8388607"}}, {typ: "INT ZEROFILL", values: []string{"7"}},
	{typ: "BIGINT", values: []string{"9223372036854775807", "9007199254740993"}}, {typ: "BIGINT UNSIGNED", values: []string{"18446744073709551615"}},
	{typ: "FLOAT", values: []string{"0.1", "1e30"}, compare: "CAST(%s AS FLOAT)"}, {typ: "DOUBLE", values: []string{"0.1", "1e300", "0.30000000000000004"}},
	{typ: "DECIMAL(30,10)", values: []string{"12345678901234567890.1234567891", "-0.1", "0"}}, {typ: "DECIMAL(10,2)", values: []string{"1.5"}},
	{typ: "BIT(1)", values: []string{"b'1'"}}, {typ: "BIT(53)", values: []string{"b'101'"}},
	{typ: "YEAR", values: []string{"2026", "0"}}, {typ: "DATE", values: []string{"'2026-07-01'", "'1000-01-01'"}},
	{typ: "TIME", values: []string{"'12:00:00'", "'-838:59:59'"}}, {typ: "TIME(6)", values: []string{"'12:00:00.000001'", "'100:00:00.5'"}},
	{typ: "DATETIME", values: []string{"'2026-07-01 12:00:00'"}}, {typ: "DATETIME(6)", values: []string{"'2026-07-01 12:00:00.123456'", "'2026-07-01 12:00:00'", "'9999-12-31 23:59:59'"}},
	{typ: "TIMESTAMP NULL", values: []string{"'2026-07-01 12:00:00'"}}, {typ: "TIMESTAMP(3) NULL", values: []string{"'2026-07-01 12:00:00.123'"}},
	{typ: "CHAR(9)", values: []string{"'a'", "''"}}, {typ: "VARCHAR(9)", values: []string{"'a '", "'5'"}}, {typ: "TINYTEXT", values: []string{"'Grüße'"}},
	{typ: "TEXT", values: []string{"'null'"}}, {typ: "MEDIUMTEXT", values: []string{"'a'"}}, {typ: "LONGTEXT", values: []string{"'a'"}},
	{typ: "ENUM('a','b')", values: []string{"'b'"}}, {typ: "SET('a','b')", values: []string{"'a,b'", "''"}},
	{typ: "JSON", values: []string{"'{\"a\": [1, null]}'", "'5'", "'[]'"}}, {typ: "UUID", values: []string{"'123e4567-e89b-12d3-a456-426614174000'"}},
	{typ: "INET4", values: []string{"'10.0.0.1'"}}, {typ: "INET6", values: []string{"'::1'"}},
	{typ: "BINARY(4)", values: []string{"x'deadbeef'"}, bind: "base64bytes(input.v)"}, {typ: "VARBINARY(9)", values: []string{"x'deadbeef'", "''"}, bind: "base64bytes(input.v)"},
	{typ: "TINYBLOB", values: []string{"x'00ff'"}, bind: "base64bytes(input.v)"}, {typ: "BLOB", values: []string{"x'00ff'"}, bind: "base64bytes(input.v)"},
	{typ: "MEDIUMBLOB", values: []string{"x'00ff'"}, bind: "base64bytes(input.v)"}, {typ: "LONGBLOB", values: []string{"x'00ff'"}, bind: "base64bytes(input.v)"},
	{typ: "GEOMETRY", values: []string{"ST_GeomFromText('POINT(1 2)')"}, bind: "base64bytes(input.v)"}, {typ: "POINT", values: []string{"ST_GeomFromText('POINT(1 2)')"}, bind: "base64bytes(input.v)"},
}

func TestEveryTypeOfMariaDBKeepsItsValues(t *testing.T) {
	r := newRoundTrips(t, connect(t, "mysql").source)
	for _, c := range mysqlSamples {
		r.check(t, c)
	}
}

// sqliteSamples are types as people declare them. SQLite stores any value in any of them.
var sqliteSamples = func() (columns []columnSample) {
	times := []string{"'2026-01-01 12:00:00'", "'2026-01-01T12:00:00Z'", "'2026-01-01 12:00:00.123+02:00'", "'2026-01-01'", "'12:00'", "1767225600", "1767225600123", "2461042.5", "'2026-01-01 12:00'"}
	for _, typ := range []string{"DATETIME", "TIMESTAMP", "DATE", "TIME", "timestamp with time zone", "TIMESTAMPTZ", "datetime(3)", ""} {
		columns = append(columns, columnSample{typ: typ, values: times})
	}
	for _, typ := range []string{"BOOLEAN", "BOOL"} {
		columns = append(columns, columnSample{typ: typ, values: []string{"1", "0", "TRUE", "'true'", "2", "1.0", "0.5"}})
	}
	for _, typ := range []string{"INTEGER", "BIGINT", "REAL", "NUMERIC", "DECIMAL(10,2)", "FLOAT", "STRING", "UUID", "TEXT", "VARCHAR(9)", "ANY"} {
		columns = append(columns, columnSample{typ: typ, values: []string{"1", "-9223372036854775808", "9007199254740993", "1.5", "1e300", "'007'", "'a'", "''", "'9007199254740993.5'"}})
	}
	return append(columns, columnSample{typ: "JSON", values: []string{`'{"a":[1,null]}'`, "'5'", "5", "1.5"}},
		columnSample{typ: "BLOB", values: []string{"x'00ff'", "x''"}, bind: "base64bytes(input.v)"})
}()

func TestEveryTypeOfSQLiteKeepsItsValues(t *testing.T) {
	dir := t.TempDir()
	r := newRoundTrips(t, func(inputs, body string) adaptertest.Source {
		return adaptertest.Source{Set: testSet, Dir: dir, HCL: `
connection "sqlite" "db" { file = "db.sqlite" }
tool "t" {
  description = "A tool."
  ` + inputs + `
  sql "db" {
    ` + body + `
  }
}`}
	})
	for _, c := range sqliteSamples {
		r.check(t, c)
	}
}
