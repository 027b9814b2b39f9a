package sql

import (
	"encoding/json"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// directAndPooled runs a test on the PostgreSQL server, and through a pooler that has no sessions.
func directAndPooled(t *testing.T, test func(*testing.T, server)) {
	s := connect(t, "postgres")
	t.Run("direct", func(t *testing.T) { test(t, s) })
	t.Run("pooled", func(t *testing.T) { test(t, s.startPooler(t, "pool_mode = transaction")) })
}

func TestValuesThatAreMadeOfOthersAreListsAndObjects(t *testing.T) {
	s := connect(t, "postgres")
	for _, text := range []string{
		"DROP SCHEMA IF EXISTS made CASCADE", "CREATE SCHEMA made",
		`CREATE TYPE made.mood AS ENUM ('sad', 'so "so"', 'a,b', 'NULL')`,
		"CREATE DOMAIN made.mail AS text CHECK (VALUE LIKE '%@%')",
		"CREATE DOMAIN made.moods AS made.mood[]",
		"CREATE TYPE made.size AS (w float8, h numeric(10,2))",
		`CREATE TYPE made.item AS ("the name" text, mood made.mood, at timestamp, tags text[], size made.size, mail made.mail)`,
		"CREATE TYPE made.span AS RANGE (subtype = float8)",
		"CREATE TABLE made.t (a int, b bool)", "ALTER TABLE made.t DROP COLUMN a", "ALTER TABLE made.t ADD c int",
	} {
		s.run(t, text)
	}
	defer s.run(t, "DROP SCHEMA made CASCADE")
	const item = `ROW('a "b" \ (c),', 'so "so"', '2026-01-14 10:00', ARRAY['x,y', NULL, ''], ROW('NaN', 1.5), 'a@b')::made.item`
	const itemJSON = `{"at":"2026-01-14T10:00:00","mail":"a@b","mood":"so \"so\"","size":{"h":"1.50","w":"NaN"},"tags":["x,y",null,""],"the name":"a \"b\" \\ (c),"}`
	for expr, want := range map[string]string{
		"ARRAY['sad', 'so \"so\"', 'a,b', 'NULL', NULL]::made.mood[]": `["sad","so \"so\"","a,b","NULL",null]`,
		"ARRAY[['sad'], ['a,b']]::made.mood[]":                        `[["sad"],["a,b"]]`, "'{}'::made.mood[]": "[]",
		"ARRAY['sad']::made.moods":                               `["sad"]`,
		"ARRAY['a@b', NULL]::made.mail[]":                        `["a@b",null]`,
		"ARRAY['1 day 2 hours'::interval]":                       `["P1DT2H"]`,
		"ARRAY['10:00'::time, NULL]":                             `["10:00:00",null]`,
		"ARRAY['10.0.0.0/8'::cidr]":                              `["10.0.0.0/8"]`,
		"ARRAY[int4range(1,5), 'empty']":                         `["[1,5)","empty"]`,
		"ARRAY[made.span(1,5)]":                                  `["[1,5)"]`,
		"ARRAY[box(point(1,2), point(0,0)), '(3,3),(2,2)']":      `["(1,2),(0,0)","(3,3),(2,2)"]`,
		"ARRAY['$1.50'::money]":                                  `["$1.50"]`,
		"ARRAY['pg_class'::regclass]":                            `["pg_class"]`,
		"ARRAY[ROW(1, 'a')]":                                     `["(1,a)"]`,
		"ROW(1, 'a')":                                            `"(1,a)"`,
		item:                                                     itemJSON,
		"ARRAY[" + item + ", NULL]":                              "[" + itemJSON + ",null]",
		"NULL::made.item":                                        "null",
		"ROW(NULL, 1)::made.size":                                `{"h":"1.00","w":null}`,
		"ROW('', NULL, NULL, '{}', NULL, NULL)::made.item":       `{"at":null,"mail":null,"mood":null,"size":null,"tags":[],"the name":""}`,
		"(SELECT t FROM made.t RIGHT JOIN (SELECT 1) x ON true)": "null",
		"ROW(true, 1)::made.t":                                   `{"b":true,"c":1}`,
		"1::oid::regtype":                                        `"1"`,
	} {
		text, err := json.Marshal("SELECT " + expr + " AS v")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(expr, func(t *testing.T) {
			b := s.bind(t, "", "query = "+string(text))
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"v":`+want+`}`))
		})
	}
	t.Run("a pooled connection, and a type that changes", func(t *testing.T) {
		directAndPooled(t, func(t *testing.T, s server) {
			b := s.bind(t, "", `query = "SELECT ROW(1, 2)::made.size AS v, ARRAY['sad']::made.mood[] AS m"`)
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"v":{"h":"2.00","w":1},"m":["sad"]}`))
			s.run(t, "ALTER TYPE made.size RENAME ATTRIBUTE w TO wide")
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"v":{"h":"2.00","wide":1},"m":["sad"]}`))
			s.run(t, "ALTER TYPE made.size RENAME ATTRIBUTE wide TO w")
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"v":{"h":"2.00","w":1},"m":["sad"]}`))
		})
	})
	t.Run("the described type", func(t *testing.T) {
		rows := mustProbe(t, s.bind(t, "", `query = "SELECT ROW(1, 2)::made.size AS v, ARRAY['sad']::made.mood[] AS m"`))
		wantEqual(t, rows, `list(object({ v = nullable(object({ w = nullable(one_of(number, enum("NaN", "Infinity", "-Infinity"))), `+
			`h = nullable(string) })), m = nullable(list(any)) }))`)
	})
}

// mustProbe returns the type of the rows of a query.
func mustProbe(t *testing.T, b *adaptertest.BoundTool) string {
	t.Helper()
	rows, err := b.Action.(*action).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows.String()
}

func TestNaNAndInfinityAreNotNull(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		s := connect(t, "postgres")
		name := s.createTable(t, "f8 float8, f4 float4, n numeric, a float8[], na numeric[], d date, ts timestamptz")
		for _, decimals := range []string{"text", "number"} {
			bind := func(inputs, body string) *adaptertest.BoundTool {
				return adaptertest.Bind(t, s.sourceWith(`decimals = "`+decimals+`"`, inputs, body))
			}
			read := bind("", `query = "SELECT f8, f4, n, a, na FROM `+name+`"`)
			find := bind(`input "x" { type = any }`, `query = "SELECT count(*) AS n FROM `+name+` WHERE f8 = ${input.x} AND f4 = ${input.x} AND n = ${input.x}"`)
			for _, v := range []string{"NaN", "Infinity", "-Infinity"} {
				s.run(t, "DELETE FROM "+name)
				s.run(t, "INSERT INTO "+name+" VALUES "+strings.ReplaceAll("('V', 'V', 'V', '{V,NULL}', '{V}')", "V", v))
				wantEqual(t, mustCall(t, read, `{}`), oneRow(strings.ReplaceAll(`{"f8":"V","f4":"V","n":"V","a":["V",null],"na":["V"]}`, "V", v)))
				wantEqual(t, mustCall(t, find, `{"x":"`+v+`"}`), oneRow(`{"n":1}`))
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		b := adaptertest.Bind(t, sqliteSource(t, "", `query = "SELECT 9e999 AS a, -9e999 AS b, 9e999 - 9e999 AS c, json_array(9e999) ->> '$[0]' AS d"`))
		wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":"9e999","b":"-9e999","c":null,"d":"9e999"}`))
		for _, v := range []string{"9e999", "-9e999"} {
			b = adaptertest.Bind(t, sqliteSource(t, `input "x" { type = string }`, `exec = [
				"CREATE TABLE f (a REAL, b NUMERIC)",
				"INSERT INTO f VALUES (${input.x}, ${input.x})",
				"UPDATE f SET a = a WHERE a = ${input.x} AND b = ${input.x} AND typeof(a) = 'real' AND typeof(b) = 'real' RETURNING a, b",
			]`))
			if out := mustCall(t, b, `{"x":"`+v+`"}`); !strings.Contains(out, `[{"a":"`+v+`","b":"`+v+`"}]`) {
				t.Error(out)
			}
		}
	})
}
