package sql

import (
	"strconv"
	"strings"
	"time"
)

// forcedSettings are the settings that the lexer of sqltext and the type converters depend on.
var forcedSettings = [][2]string{
	{"standard_conforming_strings", "on"}, {"client_encoding", "UTF8"}, {"DateStyle", "ISO, YMD"},
	{"IntervalStyle", "iso_8601"}, {"bytea_output", "hex"}, {"extra_float_digits", "1"}, {"array_nulls", "on"},
	{"xmloption", "content"},
}

// sessionState selects what the names in a statement depend on, and no transaction of ours may leave changed.
const sessionState = "pg_catalog.current_setting('search_path'), pg_catalog.current_setting('role'), " +
	"pg_catalog.current_setting('TimeZone')"

// postgresSettings returns the statement that is sent before each statement of a tool: an earlier statement of the
// transaction may call a function that changes a setting. The settings end with the transaction. Its row has whether
// the role is a superuser, and the sessionState.
func postgresSettings(c *serverConnection) string {
	settings := forcedSettings[:len(forcedSettings):len(forcedSettings)]
	if c.TimeZone != "" {
		settings = append(settings, [2]string{"TimeZone", postgresTimeZone(c.TimeZone)})
	}
	if c.Timeout > 0 {
		timeout := max(1, c.Timeout.Round(time.Millisecond).Milliseconds())
		settings = append(settings, [2]string{"statement_timeout", strconv.FormatInt(timeout, 10)})
	}
	var b strings.Builder
	b.WriteString("SELECT pg_catalog.current_setting('is_superuser'), " + sessionState)
	for _, s := range settings { // no value has a quote or a backslash
		b.WriteString(", pg_catalog.set_config('" + s[0] + "', '" + s[1] + "', true)")
	}
	return b.String()
}

// postgresTimeZone returns a time zone in the notation of PostgreSQL, which reads +05:30 as west of Greenwich.
func postgresTimeZone(zone string) string {
	switch zone[0] {
	case '+':
		return "<" + zone + ">-" + zone[1:]
	case '-':
		return "<" + zone + ">+" + zone[1:]
	}
	return zone
}
