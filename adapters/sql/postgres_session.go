package sql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
)

// forcedSettings are the settings that the lexer of sqltext and the type converters depend on.
var forcedSettings = [][2]string{
	{"standard_conforming_strings", "on"}, {"client_encoding", "UTF8"}, {"DateStyle", "ISO, YMD"},
	{"IntervalStyle", "iso_8601"}, {"bytea_output", "hex"}, {"extra_float_digits", "1"}, {"array_nulls", "on"},
	{"xmloption", "content"},
}

// pgSession is what is known of a connection. On a direct one, which is a session of the server, settings and prepared
// statements are kept. Behind a pooler nothing is.
type pgSession struct {
	direct     bool
	superuser  bool
	statements *simplelru.LRU[string, *pgStatement] // by statementKey
	evicted    []string                             // names to deallocate before the next statement is prepared
}

const pgSessionKey = "hatchel"

func sessionOf(conn *pgconn.PgConn) *pgSession { return conn.CustomData()[pgSessionKey].(*pgSession) }

// openSession checks that a new connection has transactions and accepts the settings. The connection is direct if the
// process that serves a transaction is the one that has accepted the connection: a pooler has other numbers.
func (p *postgresDatabase) openSession(ctx context.Context, conn *pgconn.PgConn) error {
	s := &pgSession{}
	begun, err := conn.Exec(ctx, "BEGIN READ ONLY; "+p.settings+"; SELECT pg_catalog.pg_backend_pid()").ReadAll()
	if err == nil {
		_, err = conn.Exec(ctx, "ROLLBACK").ReadAll()
	}
	if err != nil {
		return err
	}
	s.superuser = string(begun[1].Rows[0][0]) == "on"
	s.direct = string(begun[2].Rows[0][0]) == strconv.FormatUint(uint64(conn.PID()), 10)
	conn.CustomData()[pgSessionKey] = s
	if !s.direct {
		return nil
	}
	s.statements = newLRU(maxPrepared*max(1, len(p.config.Role.Texts())), func(_ string, st *pgStatement) {
		s.evicted = append(s.evicted, st.description.Name)
	})
	_, err = conn.Exec(ctx, p.sessionSettings).ReadAll()
	return err
}

// prepare returns a prepared statement of the session by its statementKey. Its name is a digest of the key, so that two
// statements never have the same name.
func (s *pgSession) prepare(ctx context.Context, conn *pgconn.PgConn, key, text string) (*pgStatement, error) {
	if st, ok := s.statements.Get(key); ok {
		return st, nil
	}
	digest := sha256.Sum256([]byte(key))
	name := "hatchel_" + hex.EncodeToString(digest[:16])
	for _, evicted := range append(s.evicted, name) {
		if err := conn.Deallocate(ctx, evicted); err != nil {
			return nil, err
		}
	}
	s.evicted = nil
	d, err := conn.Prepare(ctx, name, text, nil)
	if err != nil {
		return nil, err
	}
	st := newPgStatement(d, text)
	st.description = d
	if lookup := catalogLookup(append(fieldTypes(d.Fields), d.ParamOIDs...)); lookup != "" {
		result := conn.ExecParams(ctx, lookup, nil, nil, nil, nil).Read()
		if result.Err != nil {
			return nil, result.Err
		}
		for _, row := range result.Rows {
			st.catalog.add(row)
		}
	}
	s.statements.Add(key, st)
	return st, nil
}

// sessionSettings are the settings that decide what a statement means and which rows it sees. Behind a pooler they are
// again after a transaction what they were before it, as are the names in session.
var sessionSettings = func() []string {
	names := []string{
		"role", "search_path", "TimeZone", "row_security", "default_text_search_config", "lc_monetary", "lc_numeric",
		"lc_time", "transform_null_equals", "timezone_abbreviations", "statement_timeout", "lock_timeout",
		"default_transaction_isolation", "default_transaction_read_only", "default_transaction_deferrable",
		"synchronous_commit",
	}
	for _, s := range forcedSettings {
		names = append(names, s[0])
	}
	return names
}()

// sessionState selects the values of settings. A name of a session argument that no transaction has set is empty, as it
// is after the first one that sets it.
func sessionState(names []string) string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "pg_catalog.current_setting('" + name + "')"
		if i >= len(sessionSettings) {
			values[i] = "COALESCE(pg_catalog.current_setting('" + name + "', true), '')"
		}
	}
	return strings.Join(values, ", ")
}

// cleanSession ends what a transaction may leave in its session. It resets no setting, and keeps prepared statements.
const cleanSession = "CLOSE ALL; UNLISTEN *; DISCARD SEQUENCES; DISCARD TEMP"

// resetSession is cleanSession for a session that nobody else uses, whose settings are reset too.
const resetSession = cleanSession + "; " + unlockAll + "; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; "

// restoreSettings returns a statement that sets those settings that have not the given values any more. No setting
// changes what it means.
func restoreSettings(names, before []string) string {
	values := make([]string, len(before))
	for i, value := range before {
		const format = "('%s', pg_catalog.convert_from(pg_catalog.decode('%x', 'hex'), 'UTF8'))"
		values[i] = fmt.Sprintf(format, names[i], value)
	}
	return "SELECT pg_catalog.set_config(name, value, false) FROM (VALUES " + strings.Join(values, ", ") +
		") AS before (name, value) WHERE COALESCE(pg_catalog.current_setting(name, true), '') " +
		"OPERATOR(pg_catalog.<>) value"
}

// postgresSettings returns the statement that is sent before each statement of a tool: an earlier statement of the
// transaction may call a function that changes a setting. The settings end with the transaction. Its row has whether
// the role is a superuser, and the values of the settings with the given names.
func postgresSettings(c *serverConnection, names []string) string {
	return "SELECT pg_catalog.current_setting('is_superuser'), " + sessionState(names) + ", " + setSettings(c, "true")
}

// setSettings returns an expression that sets the settings, for the transaction or the session.
func setSettings(c *serverConnection, isLocal string) string {
	settings := forcedSettings[:len(forcedSettings):len(forcedSettings)]
	if c.TimeZone != "" {
		settings = append(settings, [2]string{"TimeZone", postgresTimeZone(c.TimeZone)})
	}
	if c.Timeout > 0 {
		timeout := max(1, c.Timeout.Round(time.Millisecond).Milliseconds())
		settings = append(settings, [2]string{"statement_timeout", strconv.FormatInt(timeout, 10)})
	}
	calls := make([]string, len(settings))
	for i, s := range settings { // no value has a quote or a backslash
		calls[i] = "pg_catalog.set_config('" + s[0] + "', '" + s[1] + "', " + isLocal + ")"
	}
	return "pg_catalog.concat(" + strings.Join(calls, ", ") + ")" // one column, which is not read
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
