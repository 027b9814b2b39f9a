package sql

import (
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestBigIntegersAreTextOnRequest(t *testing.T) {
	const numbers = `"a":9007199254740991,"b":9007199254740992,"c":-9223372036854775808,"d":1`
	const texts = `"a":9007199254740991,"b":"9007199254740992","c":"-9223372036854775808","d":1`
	const values = "VALUES (9007199254740991, 9007199254740992, -9223372036854775808, 1)"
	check := func(t *testing.T, name string, bind func(arguments, inputs, body string) *adaptertest.BoundTool) {
		read := `query = "SELECT a, b, c, d FROM ` + name + ` WHERE d = 1"`
		for arguments, want := range map[string]string{"": numbers, `integers = "number"`: numbers, `integers = "text"`: texts} {
			wantEqual(t, mustCall(t, bind(arguments, "", read), `{}`), oneRow("{"+want+"}"))
		}
		find := bind("", `input "x" { type = string }`, `query = "SELECT count(*) AS n FROM `+name+` WHERE c = ${input.x}"`)
		wantEqual(t, mustCall(t, find, `{"x":"-9223372036854775808"}`), oneRow(`{"n":1}`))
		wantEqual(t, mustCall(t, find, `{"x":"-9223372036854775807"}`), oneRow(`{"n":0}`))
		write := bind("", `input "x" { type = string }`, `exec = "UPDATE `+name+` SET b = ${input.x} WHERE c = ${input.x}"`)
		mustCall(t, write, `{"x":"-9223372036854775808"}`)
		out := mustCall(t, bind(`integers = "text"`, "", read), `{}`)
		if !strings.Contains(out, `"b":"-9223372036854775808"`) {
			t.Error(out)
		}
	}
	eachServer(t, func(t *testing.T, s server) {
		name := s.createTable(t, "a BIGINT, b BIGINT, c BIGINT, d BIGINT")
		s.run(t, "INSERT INTO "+name+" "+values)
		bind := func(arguments, inputs, body string) *adaptertest.BoundTool {
			return adaptertest.Bind(t, s.sourceWith(arguments, inputs, body))
		}
		check(t, name, bind)
		switch s.kind {
		case "postgres":
			b := bind(`integers = "text"`, "", `query = "SELECT ARRAY[9007199254740993, 1] AS a, ARRAY[ARRAY[9007199254740993]] AS b"`)
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":["9007199254740993",1],"b":[["9007199254740993"]]}`))
			b = bind(`integers = "text"`, "", `query = "SELECT 1::bigint AS a, 1 AS b, ARRAY[1::bigint] AS c, ARRAY[1.5::float8] AS d"`)
			wantEqual(t, mustProbe(t, b), "list(object({ a = nullable(one_of(integer, string)), b = nullable(integer), "+
				"c = nullable(list(any)), d = nullable(list(any)) }))")
		case "mysql":
			b := bind(`integers = "text"`, "", `query = "SELECT 18446744073709551615 AS a, CAST(1 AS UNSIGNED) AS b"`)
			wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":"18446744073709551615","b":1}`))
			b = adaptertest.Bind(t, s.sourceWith(`mode = "ro"
				integers = "text"`, `input "sql" { type = string }`, `statement = input.sql`))
			wantEqual(t, mustCall(t, b, `{"sql":"SELECT 9007199254740993 AS a, 1 AS b"}`), oneRow(`{"a":"9007199254740993","b":1}`))
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		source := sqliteSource(t, "", `query = "SELECT 1 AS a"`)
		bind := func(arguments, inputs, body string) *adaptertest.BoundTool {
			s := source
			s.HCL = strings.Replace(s.HCL, `file = "shop.db"`, "file = \"shop.db\"\n"+arguments, 1)
			s.HCL = strings.Replace(s.HCL, `query = "SELECT 1 AS a"`, body, 1)
			s.HCL = strings.Replace(s.HCL, `description = "A tool."`, "description = \"A tool.\"\n"+inputs, 1)
			return adaptertest.Bind(t, s)
		}
		mustCall(t, bind("", "", `exec = ["CREATE TABLE big (a INTEGER, b BIGINT, c INT, d)", "INSERT INTO big `+values+`"]`), `{}`)
		check(t, "big", bind)
	})
}
