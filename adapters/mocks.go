package adapters

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"hatchel/hcl/schema"
)

// Mocks answers in place of services, databases and programs when tools are tested. It replaces the transport only:
// what a backend does before a request and after its answer is real. With Mocks that are not live, no connection is
// opened, no program is started and no file outside of the configuration directory is written. Its methods may be
// called concurrently. The error of a request that has no answer is a *Fault, which ends the call.
type Mocks interface {
	// Live reports whether what no mock answers is asked for real.
	Live() bool
	// RoundTrip answers an HTTP request. It does not follow redirects.
	RoundTrip(r *HTTPRequest) (*http.Response, error)
	// Seed makes a database in memory if the mocks declare one, and reports whether they do. It then calls open once,
	// which makes the database with the statements of its connection.
	Seed(db Database, open func() (Memory, error)) (inMemory bool)
	// Begin begins a transaction of a database.
	Begin(db Database, readOnly bool) Transaction
	// Run answers in place of a program. The error is that of ctx if ctx ends first.
	Run(ctx context.Context, p *Program) (*Exit, error)
	// CopyDirectory returns the private copy of an absolute directory of the configuration.
	CopyDirectory(path string) (string, error)
}

// HTTPRequest is one request as it would be sent.
type HTTPRequest struct {
	Connection string // the name of the connection; empty for none
	BaseURL    string // of the connection, without a trailing slash
	*http.Request
	RequestDetails
	ReadOnly bool // it changes nothing
	// Send asks the service. It is called for live mocks only.
	Send func(*http.Request) (*http.Response, error)
}

// RequestDetails are what a backend knows of an HTTP request besides the request.
type RequestDetails struct {
	Secrets []string     // texts in the request that must not be shown
	Answer  *schema.Type // of the body of the response; nil if it is not read as JSON
}

// Database is the database of a connection.
type Database struct {
	Connection string
	Kind       string // of the connection, such as "sqlite"
	HasInit    bool   // the connection has statements that make its tables
}

// Memory is a database in memory. Its methods are not called concurrently.
type Memory interface {
	// Execute executes statements.
	Execute(statements string) error
	// Query returns the rows of a query.
	Query(text string) ([]map[string]any, error)
}

// Transaction is one transaction of a database. Its methods are not called concurrently.
type Transaction interface {
	// Live reports whether the statements are executed by the real database, which rolls the transaction back.
	Live() bool
	// Execute answers a statement. It returns no result for one that the real database executes, or one in memory.
	// The error is a *SQLError if the database rejects the statement, and any other error if its connection fails.
	Execute(ctx context.Context, s *Statement) (*SQLResult, error)
	// Executed is called with the answer of the real database to a statement, or with its error, which is a *SQLError
	// if the database rejects the statement. The answer is nil if it does not have all rows.
	Executed(s *Statement, answer *SQLResult, err error)
	// Unreachable is called if the real database does not begin the transaction.
	Unreachable(err error)
	// End is called when the transaction has ended.
	End(committed bool)
}

// Statement is one statement with its bound values, which have the types that package sqltext binds.
type Statement struct {
	Text    string
	Args    []any
	HasRows bool // the answer has rows
}

// SQLResult is the answer to a statement.
type SQLResult struct {
	Columns  []string
	Rows     [][]any // values of the language, in the order of the columns
	Affected int
	LastID   any // int or nil
}

// SQLError is the answer of a database that rejects a statement. Code is that of the database: an SQLSTATE of
// PostgreSQL, an error number of MySQL or a result code of SQLite; it may be empty. State is the SQLSTATE of MySQL.
// Name is the column or the constraint, and Hint the suggestion, that PostgreSQL reports besides its message.
type SQLError struct{ Code, Message, State, Name, Hint string }

func (e *SQLError) Error() string { return e.Message }

// Program is a program as it would be started. The programs of a pipe run one after the other.
type Program struct {
	Connection string   // the name of the connection; empty for none
	Argv       []string // of a script, with its interpreter
	Script     string   // the text of a script; empty for anything else
	ScriptFile string   // the file name of a script, as it is declared; empty for anything else
	Dir        string   // the working directory, as it is declared
	Env        []EnvVar // without what is inherited
	Stdin      []byte   // nil for none
	WritesJSON bool     // the standard output is read as JSON
	Secrets    []string // texts in the program that must not be shown
	// Start runs the program. It is called for live mocks only.
	Start func(context.Context) (*Exit, error)
}

// EnvVar is a variable of an environment.
type EnvVar struct{ Name, Value string }

// Exit is what a program has written, and its exit code.
type Exit struct {
	Stdout, Stderr []byte
	Code           int
}

// copyOf returns a function that returns the private copy of a directory of the configuration, which is made when it
// is first needed. It returns nil without mocks.
func (e Env) copyOf(path string) func() (string, error) {
	if e.Mocks == nil {
		return nil
	}
	return sync.OnceValues(func() (string, error) {
		if rel, err := filepath.Rel(e.Dir, path); err != nil || !filepath.IsLocal(rel) {
			return "", &Fault{Message: fmt.Sprintf("the directory %s is not in the configuration directory, so a test "+
				"cannot use it; make the directory a variable, and set it in the test", path)}
		}
		return e.Mocks.CopyDirectory(path)
	})
}
