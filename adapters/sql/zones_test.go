package sql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"hatchel/adapters/adaptertest"
)

// zoned are expressions whose answer has, or has not, the time zone of the session, Asia/Kolkata.
var zoned = map[string]string{
	"'2026-07-01 12:00:00Z'::timestamptz":                          `"2026-07-01T17:30:00+05:30"`,
	"'2026-07-01 12:00:00.123456Z'::timestamptz":                   `"2026-07-01T17:30:00.123456+05:30"`,
	"'2026-07-01 12:00:00'::timestamp":                             `"2026-07-01T12:00:00"`,
	"'2026-07-01 20:00:00Z'::timestamptz::date":                    `"2026-07-02"`,
	"'2026-07-01 20:00:00Z'::timestamptz::time":                    `"01:30:00"`,
	"'2026-07-01 20:00:00Z'::timestamptz::timetz":                  `"01:30:00+05:30"`,
	"'12:00+02'::timetz":                                           `"12:00:00+02:00"`,
	"'infinity'::timestamptz":                                      `"infinity"`,
	"'-infinity'::timestamptz":                                     `"-infinity"`,
	"'infinity'::date":                                             `"infinity"`,
	"'2026-07-01 20:00:00Z'::timestamptz::text":                    `"2026-07-02 01:30:00+05:30"`,
	"'2026-07-01'::date::timestamptz":                              `"2026-07-01T00:00:00+05:30"`,
	"ARRAY['2026-07-01 12:00:00Z'::timestamptz, 'infinity', NULL]": `["2026-07-01T17:30:00+05:30","infinity",null]`,
	"to_jsonb('2026-07-01 12:00:00Z'::timestamptz)":                `"2026-07-01T17:30:00+05:30"`,
	"row_to_json(row('2026-07-01 12:00:00Z'::timestamptz, '2026-07-01 12:00:00'::timestamp))": `{"f1":"2026-07-01T17:30:00+05:30","f2":"2026-07-01T12:00:00"}`,
	"row('2026-07-01 12:00:00Z'::timestamptz)::text":                                          `"(\"2026-07-01 17:30:00+05:30\")"`,
	"row('2026-07-01 12:00:00Z'::timestamptz)":                                                `"(\"2026-07-01 17:30:00+05:30\")"`,
	"tstzrange('2026-07-01 12:00:00Z', NULL)":                                                 `"[\"2026-07-01 17:30:00+05:30\",)"`,
	"to_char('2026-07-01 12:00:00Z'::timestamptz, 'HH24:MI TZH:TZM')":                         `"17:30 +05:30"`,
	"date_trunc('day', '2026-07-01 20:00:00Z'::timestamptz)":                                  `"2026-07-02T00:00:00+05:30"`,
	"extract(hour FROM '2026-07-01 12:00:00Z'::timestamptz)::int":                             `17`,
	"${\"2026-07-01T12:00:00Z\"}::timestamptz":                                                `"2026-07-01T17:30:00+05:30"`,
	"${\"2026-07-01T12:00:00\"}::timestamptz":                                                 `"2026-07-01T12:00:00+05:30"`,
	"'1900-01-01 00:00:00Z'::timestamptz":                                                     `"1900-01-01T05:21:10+05:21:10"`,
	"'0044-03-15 12:00:00Z BC'::timestamptz":                                                  `"0044-03-15 17:53:28+05:53:28 BC"`,
	"'294276-12-31 12:00:00Z'::timestamptz":                                                   `"294276-12-31 17:30:00+05:30"`,
}

// Each way to set a zone leads to the same answers.
func TestEveryTypeIsAnsweredInTheZoneOfTheSession(t *testing.T) {
	eachRoute(t, func(t *testing.T, direct ownServer, s server) {
		check := func(name string, s server, more string) {
			t.Helper()
			for expression, want := range zoned {
				b := adaptertest.Bind(t, s.sourceWith(more, "", "query = <<-SQL\nSELECT "+expression+" AS v\nSQL"))
				out, err := b.Do(t.Context(), `{}`)
				if err != nil {
					t.Errorf("%s: %s: %v: %v", name, expression, err, errors.Unwrap(err))
				} else if got := describeAnswer(out, nil); got != `{"v":`+want+`}<nil>` {
					t.Errorf("%s: %s is %s, want %s", name, expression, got, want)
				}
				b.Close()
			}
		}
		check("argument", s, `time_zone = "Asia/Kolkata"`)
		inURL := s
		inURL.url += "&TimeZone=" + url.QueryEscape("Asia/Kolkata")
		check("URL", inURL, "")
		direct.exec(t, "ALTER DATABASE "+direct.name+" SET TimeZone = 'Asia/Kolkata'")
		if s == direct.server { // a pooler keeps the sessions that it has
			check("database", s, "")
			direct.exec(t, "ALTER DATABASE "+direct.name+" SET TimeZone = 'UTC'")
			direct.exec(t, "ALTER ROLE "+direct.name+" SET TimeZone = 'Asia/Kolkata'")
			check("role", s, "")
			direct.exec(t, "ALTER ROLE "+direct.name+" RESET TimeZone")
			options := s
			options.url += "&options=-c%20TimeZone%3DAsia%2FKolkata"
			check("options", options, "")
			t.Setenv("PGTZ", "Asia/Kolkata")
			check("PGTZ", s, "")
		}
	})
}

var mariaDBZoned = map[string]string{
	"CAST('2026-07-01 12:00:00' AS DATETIME)":                          `"2026-07-01T12:00:00"`,
	"FROM_UNIXTIME(1782907200)":                                        `"2026-07-01T17:30:00"`,
	"(SELECT ts FROM stamps WHERE n = 1)":                              `"2026-07-01T17:30:00"`,
	"(SELECT dt FROM stamps WHERE n = 1)":                              `"2026-07-01T12:00:00"`,
	"(SELECT d FROM stamps WHERE n = 1)":                               `"2026-07-01"`,
	"(SELECT ti FROM stamps WHERE n = 1)":                              `"-838:59:59"`,
	"(SELECT ts FROM stamps WHERE n = 2)":                              `"0000-00-00 00:00:00"`,
	"(SELECT dt FROM stamps WHERE n = 2)":                              `"0000-00-00 00:00:00"`,
	"(SELECT d FROM stamps WHERE n = 2)":                               `"0000-00-00"`,
	"CAST((SELECT ts FROM stamps WHERE n = 1) AS CHAR)":                `"2026-07-01 17:30:00"`,
	"(SELECT JSON_OBJECT('a', ts) FROM stamps WHERE n = 1)":            `"{\"a\": \"2026-07-01 17:30:00\"}"`,
	"UNIX_TIMESTAMP('2026-07-01 17:30:00')":                            `1782907200`,
	"TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())":                    `330`,
	"(SELECT n FROM stamps WHERE ts = ${\"2026-07-01 17:30:00\"})":     `1`,
	"CONVERT_TZ('2026-07-01 12:00:00', '+00:00', @@session.time_zone)": `"2026-07-01T17:30:00"`,
}

func TestEveryTypeOfMariaDBIsAnsweredInTheZoneOfTheSession(t *testing.T) {
	m := startMariaDB(t)
	m.exec(t, "CREATE TABLE hatchel.stamps (n INTEGER, ts TIMESTAMP NULL, dt DATETIME, d DATE, ti TIME)")
	conn, err := m.root.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{
		"SET time_zone = '+00:00', sql_mode = ''",
		"INSERT INTO hatchel.stamps VALUES (1, '2026-07-01 12:00:00', '2026-07-01 12:00:00', '2026-07-01', '-838:59:59')",
		"INSERT INTO hatchel.stamps VALUES (2, 0, 0, 0, 0)",
	} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, options, more string) {
		t.Helper()
		s := m.server(m.address)
		s.url += options
		for expression, want := range mariaDBZoned {
			b := adaptertest.Bind(t, s.sourceWith(more, "", "query = <<-SQL\nSELECT "+expression+" AS v\nSQL"))
			out, err := b.Do(t.Context(), `{}`)
			if err != nil {
				t.Errorf("%s: %s: %v: %v", name, expression, err, errors.Unwrap(err))
			} else if got := describeAnswer(out, nil); got != fmt.Sprintf(`{"v":%s}<nil>`, want) {
				t.Errorf("%s: %s is %s, want %s", name, expression, got, want)
			}
			b.Close()
		}
	}
	check("argument", "", `time_zone = "+05:30"`)
	check("URL", "?time_zone="+url.QueryEscape("'+05:30'"), "")
	m.exec(t, "SET GLOBAL time_zone = '+05:30'")
	check("server", "", "")
}
