package sql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestOffsetsAreFoundInTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-01-01T17:30:00Z": true, "2026-01-01T17:30:00+05:30": true, "2026-01-01 17:30:00.123456-08": true,
		"2026-01-01 17:30+0530": true, "20260101T173000Z": true, "20260101T173000+05": true, "17:30:00Z": true,
		"17:30:00 +02:00": true, "2026-01-01 17:30:00 Europe/Berlin": true, "2026-01-01 05:30 PM EST": true,
		"2026-01-01 12:00:00+00 BC": true, "2026-01-01 12:00:00 utc": true, "040506+08": true, "T040506Z": true, "20260101 120000-05": true, "040506.25 PST": true,
		"Thu Jan 01 12:00:00 2026 PST": true, "Thu Jan 01 12:00:00.5 2026 +0200": true, "040506": false, "20260101 120000": false,
		"Thu Jan 01 12:00:00 2026": false, "20260101": false, "120000 AM": false, "12:00:00 2026-01-01": false, "12:00 2026 BC": false, "2026-01-01Z": true, "2026-01-01+05:00": true,
		`["2026-01-01 12:00:00+05","2026-01-02 12:00:00"]`: true, `{"2026-01-01 12:00:00","2026-01-02 12:00:00Z"}`: true,
		"2026-01-01": false, "2026-01-01T17:30:00": false, "2026-01-01 17:30:00.5": false, "0044-03-15 12:00:00 BC": false,
		"5:30 PM": false, "infinity": false, "-infinity": false, "now": false, "20260101T173000": false, "Jan 1 2026 12:00": false,
		`["2026-01-01 12:00:00",)`: false, "2026-01-01 05:30 AM BC": false, "24:00:00": false, "2026-01": false, "": false,
		"294276-12-31 12:00:00": false, "[2026-01-01,2026-02-01)": false,
	} {
		if got := hasOffset(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// localCall is a value that is sent to a parameter of a type, and what is then read back. The time zone of the session
// is Asia/Kolkata.
type localCall struct{ typ, sent, want string }

const refusedOffset = "input.x has the offset or the name of a time zone"

func TestAnOffsetForALocalTimeOfPostgreSQLIsConvertedOrRefused(t *testing.T) {
	const text, list = "string", "list(string)"
	calls := map[string][]localCall{
		text: {
			{"timestamp", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00"`},
			{"timestamp", `"2026-07-01 17:30:00.123456+05:30"`, `"2026-07-01T17:30:00.123456"`},
			{"timestamp", `"2026-07-01 14:00:00 Europe/Berlin"`, `"2026-07-01T17:30:00"`},
			{"timestamp", `"2026-07-01T17:30:00"`, `"2026-07-01T17:30:00"`},
			{"timestamp", `"infinity"`, `"infinity"`}, {"timestamp", `"0044-03-15 12:00:00 BC"`, `"0044-03-15 12:00:00 BC"`},
			{"timestamptz", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00+05:30"`},
			{"offset_range", `"[2026-07-01T12:00:00Z,)"`, refusedOffset}, {"offset_row", `"(2026-07-01T12:00:00Z,x)"`, refusedOffset},
			{"offset_row", `"(2026-07-01T12:00:00,x)"`, `{"at":"2026-07-01T12:00:00","t":"x"}`},
			{"offset_stamp", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00"`},
			{"text", `"2026-07-01T12:00:00Z"`, `"2026-07-01T12:00:00Z"`},
			{"time", `"12:00:00Z"`, refusedOffset}, {"time", `"040506+08"`, refusedOffset},
			{"timestamp", `"Wed Jul 01 12:00:00 2026 UTC"`, `"2026-07-01T17:30:00"`}, {"timestamp", `"20260701 120000Z"`, `"2026-07-01T17:30:00"`}, {"time", `"12:00:00+02:00"`, refusedOffset},
			{"time", `"12:00:00.5"`, `"12:00:00.5"`}, {"time", `"24:00:00"`, `"24:00:00"`},
			{"timetz", `"12:00:00Z"`, `"12:00:00Z"`}, {"timetz", `"12:00:00+02:00"`, `"12:00:00+02:00"`},
			{"date", `"2026-07-01T23:30:00-05:00"`, refusedOffset}, {"date", `"2026-07-01"`, `"2026-07-01"`},
			{"date", `"infinity"`, `"infinity"`}, {"date", `"0044-03-15 BC"`, `"0044-03-15 BC"`},
			{"tsrange", `"[2026-07-01T12:00:00Z,)"`, refusedOffset},
			{"daterange", `"[2026-07-01T12:00:00Z,)"`, refusedOffset},
			{"tsmultirange", `"{[2026-07-01T12:00:00Z,)}"`, refusedOffset},
			{"tstzrange", `"[2026-07-01T12:00:00Z,)"`, `"[\"2026-07-01 17:30:00+05:30\",)"`},
		},
		"any": {
			{"offset_row", `{"at":"2026-07-01T12:00:00Z"}`, refusedOffset}, {"offset_row", `{"t":"12:00:00Z"}`, `{"at":null,"t":"12:00:00Z"}`},
			{"offset_both", `{"at":"2026-07-01T12:00:00Z","z":"2026-07-01T12:00:00Z"}`, refusedOffset},
			{"offset_both", `{"at":"2026-07-01T12:00:00","z":"2026-07-01T12:00:00Z"}`, `{"at":"2026-07-01T12:00:00","z":"2026-07-01T17:30:00+05:30"}`},
			{"timestamp", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00"`},
		},
		list: {
			{"timestamp[]", `["2026-07-01T12:00:00Z","2026-07-01T12:00:00","infinity"]`, `["2026-07-01T17:30:00","2026-07-01T12:00:00","infinity"]`},
			{"offset_stamp[]", `["2026-07-01T12:00:00Z"]`, `["2026-07-01T17:30:00"]`},
			{"offset_stamps", `["2026-07-01T12:00:00Z"]`, `["2026-07-01T17:30:00"]`},
			{"offset_row[]", `["(2026-07-01T12:00:00Z,x)"]`, refusedOffset},
			{"time[]", `["12:00:00Z"]`, refusedOffset}, {"time[]", `["12:00:00"]`, `["12:00:00"]`},
			{"timetz[]", `["12:00:00+02:00"]`, `["12:00:00+02:00"]`}, {"date[]", `["2026-07-01","2026-07-01T01:00:00Z"]`, refusedOffset},
			{"timestamptz[]", `["2026-07-01T12:00:00Z"]`, `["2026-07-01T17:30:00+05:30"]`},
		},
	}
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		for _, text := range []string{
			"CREATE DOMAIN offset_stamp AS timestamp", "CREATE DOMAIN offset_stamps AS timestamp[]", "CREATE TYPE offset_row AS (at timestamp, t text)",
			"CREATE TYPE offset_range AS RANGE (subtype = timestamp)", "CREATE TYPE offset_both AS (at timestamp, z timestamptz)",
		} {
			direct.run(t, text)
		}
		for input, calls := range calls {
			for n, c := range calls {
				if s.url != direct.url && n%4 > 0 {
					continue // what a pooler changes is when a statement is described
				}
				table := fmt.Sprintf("offsets_%d_%d", len(input), n)
				direct.run(t, "CREATE TABLE "+table+" (v "+c.typ+")")
				b := adaptertest.Bind(t, s.sourceWith(`time_zone = "Asia/Kolkata"`, `input "x" { type = `+input+` }`,
					`exec = "INSERT INTO `+table+` VALUES (${input.x}) RETURNING v"`))
				for range 2 { // the statement is new, and then it is known
					expectLocal(t, b, c)
				}
				b.Close()
			}
		}
	})
}

func expectLocal(t *testing.T, b *adaptertest.BoundTool, c localCall) {
	t.Helper()
	out, err := b.Do(t.Context(), `{"x":`+c.sent+`}`)
	if got := describeAnswer(out, err); got != `{"v":`+c.want+`}<nil>` && (c.want != refusedOffset || !strings.HasPrefix(got, c.want)) {
		t.Errorf("%s from %s is %s, want %s", c.typ, c.sent, got, c.want)
	}
}

// A prepared statement keeps the types of its parameters, and one that is sent through a pooler gets those of the table.
func TestAnOffsetIsNotIgnoredAfterAColumnHasLostItsTimeZone(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		direct.run(t, "CREATE TABLE offsets (v timestamptz)")
		b := adaptertest.Bind(t, s.sourceWith(`time_zone = "Asia/Kolkata"`, `input "x" { type = string }`,
			`exec = "INSERT INTO offsets VALUES (${input.x}) RETURNING v"`))
		expectLocal(t, b, localCall{"timestamptz", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00+05:30"`})
		direct.run(t, "ALTER TABLE offsets ALTER v TYPE timestamp USING NULL")
		expectLocal(t, b, localCall{"timestamp", `"2026-07-01T12:00:00Z"`, `"2026-07-01T17:30:00"`})
	})
}

func TestAnOffsetForALocalTimeOfMariaDBIsRefused(t *testing.T) {
	s := connect(t, "mysql")
	table := s.createTable(t, "d DATETIME(6), t TIMESTAMP NULL, a DATE, c TIME(6), v VARCHAR(60)")
	s.run(t, "INSERT INTO "+table+" VALUES ('2026-07-01 12:00:00', '2026-07-01 12:00:00', '2026-07-01', '12:00:00', 'x')")
	for _, c := range []localCall{
		{"d", "2026-07-01T12:00:00Z", refusedOffset}, {"d", "2026-07-01 12:00:00+05:30", refusedOffset}, {"d", "2026-07-01T12:00:00", ""},
		{"t", "2026-07-01T12:00:00Z", refusedOffset}, {"t", "2026-07-01T12:00:00", ""}, {"a", "2026-07-01T12:00:00Z", refusedOffset},
		{"c", "12:00:00Z", refusedOffset}, {"c", "12:00:00", ""}, {"v", "2026-07-01T12:00:00Z", ""},
	} {
		for _, statement := range []string{
			`query = "SELECT count(*) AS n FROM TABLE WHERE CONCAT_WS('', v, ${input.v}) <> '' AND COLUMN >= ${input.x}"`, `exec = "INSERT INTO TABLE (v, COLUMN) VALUES (${input.v}, ${input.x})"`,
			`exec = "UPDATE TABLE SET v = ${input.v} WHERE COLUMN = ${input.x}"`, `query = "SELECT count(*) AS n FROM TABLE WHERE COLUMN IN ${[input.x]}"`,
		} {
			if c.typ == "v" {
				statement = strings.Replace(statement, "(v, COLUMN) VALUES (${input.v}, ${input.x})", "(COLUMN) VALUES (${input.x})", 1)
			}
			b := s.bind(t, `input "x" { type = string }
				input "v" { type = optional(string, "2026-01-01T00:00:00+01:00") }`, strings.NewReplacer("TABLE", table, "COLUMN", c.typ).Replace(statement))
			_, err := b.Do(t.Context(), `{"x":"`+c.sent+`"}`)
			if got := fmt.Sprint(err); got != "<nil>" && (c.want == "" || !strings.Contains(got, "] has the offset") && !strings.HasPrefix(got, c.want)) ||
				err == nil && c.want != "" {
				t.Errorf("%s with %s: %s: %v", statement, c.sent, got, errors.Unwrap(err))
			}
			b.Close()
		}
	}
}
