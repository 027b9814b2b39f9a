package sql

import (
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Codes of SQLite's authorizer that the driver has no names for.
const (
	authorizeFunction  = 31
	authorizeRecursive = 33
)

// authorize lets a reader prepare what reads and nothing else: no change, no ATTACH, which could open another file, no PRAGMA that sets something,
// no transaction.
func (c *liteConn) authorize(op int, first, second, _ string) int {
	if c.trusted.Load() {
		return sqlite3.SQLITE_OK
	}
	switch op {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, authorizeRecursive:
		return sqlite3.SQLITE_OK
	case authorizeFunction:
		name := strings.ToLower(second)
		if name == "load_extension" || name == "authenticate" || strings.HasPrefix(name, "auth_") || strings.HasPrefix(name, "fts3_tokenizer") {
			return sqlite3.SQLITE_DENY
		}
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_PRAGMA:
		name := strings.ToLower(first)
		if describing[name] || second == "" && telling[name] {
			return sqlite3.SQLITE_OK
		}
	}
	return sqlite3.SQLITE_DENY
}

// describing are the pragmas that only ever tell about the schema, with an argument too; telling are those that set something when they have one.
var (
	describing = map[string]bool{
		"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true, "index_xinfo": true, "foreign_key_list": true,
		"database_list": true, "collation_list": true, "function_list": true, "compile_options": true, "foreign_key_check": true,
	}
	telling = map[string]bool{"user_version": true, "schema_version": true, "encoding": true, "application_id": true, "page_count": true, "page_size": true, "journal_mode": true, "data_version": true}
)
