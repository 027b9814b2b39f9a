package sql

import (
	"regexp"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Operations of SQLite's authorizer that the driver does not name.
const (
	authorizeFunction  = 31
	authorizeRecursive = 33
)

// authorize is the authorizer of a reader. It refuses everything that does more than read: writes,
// transactions, ATTACH, which could open another file, and every PRAGMA that sets something.
func (c *sqliteConn) authorize(op int, first, second, _ string) int {
	if c.preparingControl.Load() {
		return sqlite3.SQLITE_OK
	}
	switch op {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, authorizeRecursive:
		return sqlite3.SQLITE_OK
	case authorizeFunction:
		if !deniedFunctions.MatchString(second) {
			return sqlite3.SQLITE_OK
		}
	case sqlite3.SQLITE_PRAGMA:
		name := strings.ToLower(first)
		if schemaPragmas[name] || second == "" && settingPragmas[name] {
			return sqlite3.SQLITE_OK
		}
	}
	return sqlite3.SQLITE_DENY
}

var (
	// deniedFunctions load code or change what the session may do.
	deniedFunctions = regexp.MustCompile(`(?i)^(load_extension|authenticate|auth_|fts3_tokenizer)`)
	// schemaPragmas report the schema, with or without an argument.
	schemaPragmas = wordSet("table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list " +
		"database_list collation_list function_list compile_options foreign_key_check")
	// settingPragmas report a setting, and change it if they have an argument.
	settingPragmas = wordSet("user_version schema_version encoding application_id page_count page_size " +
		"journal_mode data_version")
)
