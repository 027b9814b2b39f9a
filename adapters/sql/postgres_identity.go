package sql

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// setIdentityTexts are the statements that set values for the transaction, by their number: the values of session, and
// the role. Names and values are parameters.
var setIdentityTexts = func() (texts [maxSession + 2]string) {
	for count := range texts {
		calls := make([]string, count)
		for i := range calls {
			name, value := strconv.Itoa(2*i+1), strconv.Itoa(2*i+2)
			calls[i] = "pg_catalog.set_config($" + name + ", $" + value + ", true)"
		}
		texts[count] = "SELECT " + strings.Join(calls, ", ")
	}
	return texts
}()

// roleSetting is the name of the setting that is the role.
var roleSetting = []byte("role")

// identityParams returns the names and values that an identity sets, the role last; nil for none.
func (p *postgresDatabase) identityParams(as identity) (params [][]byte) {
	if as.values == nil && as.role == "" {
		return nil
	}
	params = make([][]byte, 0, 2*len(as.values)+2)
	for i, value := range as.values {
		params = append(params, p.callerSettings[i], []byte(value))
	}
	if as.role != "" {
		params = append(params, roleSetting, []byte(as.role))
	}
	return params
}

// markIdentity marks the error of the statement that takes the identity if the server refuses what it says.
func markIdentity(err error) error {
	report := new(pgconn.PgError)
	if errors.As(err, &report) && slices.Contains([]string{"22", "28", "42"}, report.Code[:2]) {
		return &identityError{err}
	}
	return err
}

// identityError is the error of the statement that takes the identity of a transaction, after which nothing was
// executed.
type identityError struct{ cause error }

func (e *identityError) Error() string { return e.cause.Error() }
func (e *identityError) Unwrap() error { return e.cause }
