package sql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// jsonValues are values of type any.
var jsonValues = []string{`"abc"`, `"5"`, `"null"`, `"{\"a\":1}"`, `"é\"\\\n"`, `""`, "5", "1.5", "true", "[]", "[1,2]", `["a",[null,"b"]]`, "{}", `{"a":["b",null]}`, "12345678901234567890123"}

func TestAnyIsJSONForAParameterOfTypeJSON(t *testing.T) {
	directAndPooled(t, func(t *testing.T, s server) {
		s.run(t, "DROP DOMAIN IF EXISTS json_doc")
		s.run(t, "CREATE DOMAIN json_doc AS jsonb")
		defer s.run(t, "DROP DOMAIN json_doc")
		for _, column := range []string{"jsonb", "json", "json_doc"} {
			name := s.createTable(t, "id int, v "+column)
			both := strings.ReplaceAll(`exec = [
				"DELETE FROM TABLE", "INSERT INTO TABLE VALUES (1, ${input.v}) RETURNING v",
				"UPDATE TABLE SET v = ${output.results[1].row.v} RETURNING v",
				"UPDATE TABLE SET v = v WHERE v::jsonb = ${input.v}::jsonb AND v::jsonb IN ${[input.v]} RETURNING v",
				"INSERT INTO TABLE VALUES ${[[2, input.v]]} RETURNING v",
			]`, "TABLE", name)
			b := s.bind(t, `input "v" { type = any }`, both)
			for _, v := range jsonValues {
				out := mustCall(t, b, `{"v":`+v+`}`)
				if n := strings.Count(out, `"rows":[{"v":`+v+`}]`); n != 4 {
					t.Errorf("%s %s: %d of 4 are right: %s", column, v, n, out)
				}
			}
			s.run(t, "DROP TABLE "+name)
		}
		name := s.createTable(t, "a jsonb[], n jsonb, j jsonb")
		b := s.bind(t, `input "a" { type = list(any) }
			input "t" { type = list(string) }
			input "o" { type = object({ x = any }) }
			input "n" { type = nullable(any) }
			input "s" { type = string }`,
			`exec = "INSERT INTO `+name+` VALUES (${input.a}, ${input.n}, ${jsonencode(input.n)}) RETURNING a, n IS NULL AS sql_null, j IS NULL AS json_null, ${input.t}::jsonb AS t, ${input.o}::jsonb AS o, ${input.s}::jsonb AS s, ${input.a}::jsonb AS l"`)
		wantRow(t, mustCall(t, b, `{"a":["5",5,[1],{"b":"c"},null],"t":["5"],"o":{"x":"5"},"n":null,"s":"[5]"}`),
			`{"a":["5",5,[1],{"b":"c"},null],"sql_null":true,"json_null":false,"t":["5"],"o":{"x":"5"},"s":[5],"l":["5",5,[1],{"b":"c"},null]}`)
	})
}

// wantRow compares the row that a statement returns.
func wantRow(t *testing.T, out, row string) {
	t.Helper()
	if !strings.Contains(out, `"row":`+row+`,`) {
		t.Errorf("got  %s\nwant %s", out, row)
	}
}

func TestListsAndObjectsAreJSONWhereParametersHaveNoType(t *testing.T) {
	statement := `query = "SELECT CAST(${input.v} AS CHAR(200)) AS v, ${jsonencode(input.v)} AS j"`
	check := func(t *testing.T, b *adaptertest.BoundTool) {
		for _, v := range []string{"[]", `["a",[null]]`, `{"a":"b"}`} {
			text := strings.ReplaceAll(v, `"`, `\"`)
			wantEqual(t, mustCall(t, b, `{"v":`+v+`}`), oneRow(`{"v":"`+text+`","j":"`+text+`"}`))
		}
		wantEqual(t, mustCall(t, b, `{"v":"5"}`), oneRow(`{"v":"5","j":"\"5\""}`))
	}
	t.Run("mysql", func(t *testing.T) {
		s := connect(t, "mysql")
		check(t, s.bind(t, `input "v" { type = any }`, statement))
		name := s.createTable(t, "v JSON")
		b := s.bind(t, `input "v" { type = any }`, `exec = "INSERT INTO `+name+` VALUES (${jsonencode(input.v)}) RETURNING v"`)
		for _, v := range jsonValues {
			if out := mustCall(t, b, `{"v":`+v+`}`); !strings.Contains(out, `"v":`+v) && !strings.Contains(out, `"v":"`) {
				t.Error(out)
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		check(t, adaptertest.Bind(t, sqliteSource(t, `input "v" { type = any }`, statement)))
		b := adaptertest.Bind(t, sqliteSource(t, `input "v" { type = any }`, `exec = "INSERT INTO items (name, doc) VALUES ('x', json(${jsonencode(input.v)})) RETURNING doc"`))
		for _, v := range jsonValues[:len(jsonValues)-1] { // the column, which has the affinity NUMERIC, rounds the last
			if out := mustCall(t, b, `{"v":`+v+`}`); !strings.Contains(out, `{"doc":`+v+`}`) {
				t.Error(out)
			}
		}
		b = adaptertest.Bind(t, sqliteSource(t, `input "v" { type = any }`, `query = "SELECT 1 AS a WHERE 1 IN (${input.v})"`))
		if got := mustFail(t, b, `{"v":[1]}`); got != "input.v must be one value here, not a list" {
			t.Error(got)
		}
	})
}

func TestObjectsAndListsAreBoundAsTheTypesOfTheDatabase(t *testing.T) {
	directAndPooled(t, func(t *testing.T, s server) {
		for _, text := range []string{
			"DROP SCHEMA IF EXISTS bound CASCADE", "CREATE SCHEMA bound", `CREATE TYPE bound.mood AS ENUM ('sad', 'so "so"')`,
			`CREATE TYPE bound.inner AS (n numeric, doc jsonb, tags text[])`, `CREATE DOMAIN bound.moods AS bound.mood[]`,
			`CREATE TYPE bound.item AS ("the name" text, mood bound.mood, i bound.inner, n int)`,
			"CREATE TABLE bound.t (item bound.item, items bound.item[], moods bound.moods, boxes box[], iv interval[], r int4range[])",
		} {
			s.run(t, text)
		}
		defer s.run(t, "DROP SCHEMA bound CASCADE")
		const inputs = `input "item" { type = any }
			input "items" { type = list(any) }
			input "moods" { type = list(string) }
			input "boxes" { type = list(string) }
			input "iv" { type = list(string) }
			input "r" { type = list(string) }`
		write := s.bind(t, inputs, `exec = "INSERT INTO bound.t VALUES (${input.item}, ${input.items}, ${input.moods}, ${input.boxes}, ${input.iv}, ${input.r}) RETURNING *"`)
		find := s.bind(t, inputs, `query = "SELECT count(*) AS n FROM bound.t WHERE item = ${input.item}::bound.item AND items = ${input.items} AND moods = ${input.moods} AND boxes[1] = (${input.boxes}::box[])[1] AND iv = ${input.iv} AND r = ${input.r}"`)
		const item = `{"i":{"doc":{"x":["5"]},"n":"1.50","tags":["a,b","\"",null]},"mood":"so \"so\"","n":null,"the name":"a \\ \"b\" (,)"}`
		const row = `{"item":` + item + `,"items":[` + item + `,null],"moods":["sad","so \"so\""],"boxes":["(1,2),(0,0)","(3,3),(2,2)"],"iv":["P1DT2H"],"r":["[1,5)"]}`
		wantRow(t, mustCall(t, write, row), row)
		wantEqual(t, mustCall(t, find, row), oneRow(`{"n":1}`))
		bare := s.bind(t, inputs, `query = "SELECT count(*) AS n FROM bound.t WHERE item = ${input.item}"`)
		_, err := bare.Do(t.Context(), row)
		var f *adapters.Fault
		if !errors.As(err, &f) || f.Message != "input.item must have the type of a row here" || !strings.Contains(f.Hint, "${input.item}::") {
			t.Error(err)
		}
		bad := strings.Replace(row, `"n":null`, `"m":1`, 1)
		rows := s.bind(t, `input "i" { type = any }`, `query = "SELECT (${input.i}::bound.inner)::text AS v, 1 AS n"`)
		wantEqual(t, mustCall(t, rows, `{"i":{"n":1}}`), oneRow(`{"v":"(1,,)","n":1}`))
		s.run(t, "ALTER TYPE bound.inner ADD ATTRIBUTE more int CASCADE")
		wantEqual(t, mustCall(t, rows, `{"i":{"n":1}}`), oneRow(`{"v":"(1,,,)","n":1}`))
		s.run(t, "ALTER TYPE bound.inner ADD ATTRIBUTE last int CASCADE")
		wantEqual(t, mustCall(t, rows, `{"i":{"last":1}}`), oneRow(`{"v":"(,,,,1)","n":1}`))
		wantEqual(t, mustFail(t, write, bad), `input.item has the member "m", and the type of the database has ["the name" "mood" "i" "n"]`)
	})
}

func TestAFractionIsNotRoundedToAnInteger(t *testing.T) {
	directAndPooled(t, func(t *testing.T, s server) {
		name := s.createTable(t, "n int, s smallint, b bigint")
		s.run(t, "INSERT INTO "+name+" VALUES (1, 1, 1000000000000000)")
		const inputs = `input "x" { type = number }
			input "l" { type = optional(list(number), []) }`
		for _, condition := range []string{"n = ${input.x}", "s < ${input.x}", "b + ${input.x} > 0", "n IN ${[input.x]}", "n IN ${input.l}", "n BETWEEN 0 AND ${input.x}", "n > 0 %{if input.x > 0} AND n < ${input.x} %{endif}"} {
			b := s.bind(t, inputs, `query = "SELECT n FROM `+name+` WHERE `+condition+`"`)
			_, err := b.Do(t.Context(), `{"x":1.5,"l":[1.5]}`)
			message, cast := "input.x must be an integer here, not 1.5", " ${input.x}::numeric "
			if strings.Contains(condition, "[input.x]") {
				message, cast = "[input.x] must have integers here, not 1.5", "= ANY(${[input.x]}::numeric[])"
			} else if strings.Contains(condition, "input.l") {
				message, cast = "input.l must have integers here, not 1.5", "= ANY(${input.l}::numeric[])"
			}
			var f *adapters.Fault
			if !errors.As(err, &f) || f.Message != message || !strings.Contains(f.Hint, cast) {
				t.Errorf("%s: %v: %+v", condition, err, f)
			}
			mustCall(t, b, `{"x":1,"l":[1]}`)
		}
		b := s.bind(t, inputs, `query = "SELECT count(*) AS n FROM `+name+` WHERE n < ${input.x}::numeric AND b = ${input.l[0]}"`)
		wantEqual(t, mustCall(t, b, `{"x":1.5,"l":[1e15]}`), oneRow(`{"n":1}`))
		b = s.bind(t, inputs, `query = "SELECT n FROM `+name+` WHERE n = ANY(${input.l}::numeric[])"`)
		wantEqual(t, mustCall(t, b, `{"x":1,"l":[1,1.5]}`), oneRow(`{"n":1}`))
		b = s.bind(t, `input "r" { type = any }`, `query = "SELECT (${input.r}::`+name+`).s AS s"`)
		wantEqual(t, mustFail(t, b, `{"r":{"s":1.5}}`), `input.r must have an integer as "s", not 1.5`)
		b = s.bind(t, inputs, fmt.Sprintf(`query = "SELECT n FROM %s LIMIT ${input.x}"`, name))
		wantEqual(t, mustFail(t, b, `{"x":1.5}`), "input.x must be an integer here, not 1.5")
		b = s.bind(t, inputs, fmt.Sprintf(`exec = "INSERT INTO %s (n) VALUES (${input.x})"`, name))
		wantEqual(t, mustFail(t, b, `{"x":1.5}`), "input.x must be an integer here, not 1.5")
		wantEqual(t, mustFail(t, b, `{"x":1e30}`), "a number is out of range for its column")
	})
}

func TestAFractionForALimitOfSQLiteIsExplained(t *testing.T) {
	b := adaptertest.Bind(t, sqliteSource(t, `input "x" { type = number }`, `query = "SELECT id FROM items LIMIT ${input.x}"`))
	_, err := b.Do(t.Context(), `{"x":1.5}`)
	var f *adapters.Fault
	if !errors.As(err, &f) || f.Message != sqliteNotInteger || !strings.Contains(f.Hint, "CAST(") {
		t.Errorf("%v: %+v", err, f)
	}
}
