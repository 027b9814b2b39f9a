package sql

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"hatchel/internal/lazyregexp"
)

// become sets the role of a transaction. It is sent each time: a function that runs with the rights of its caller
// may have set another one, also from a view, whose name does not show it.
func (c *mysqlConn) become(ctx context.Context, role string) error {
	err := c.exec(ctx, "SET ROLE "+quoteMySQLName(role))
	if err == nil && !c.selected && c.database.name != "" {
		err = c.selectDatabase(ctx)
	}
	return markMySQLIdentity(err)
}

// selectDatabase selects the database of the url. A login may have no rights without a role, so a connection does not
// open with it.
func (c *mysqlConn) selectDatabase(ctx context.Context) error {
	err := c.exec(ctx, "USE "+quoteMySQLName(c.database.name))
	c.selected = err == nil
	return err
}

// trySelectDatabase selects the database of the url if the login may use it without a role.
func (c *mysqlConn) trySelectDatabase(ctx context.Context) error {
	err := c.selectDatabase(ctx)
	if e := new(mysql.MySQLError); errors.As(err, &e) && e.Number == noDatabaseRights {
		return nil
	}
	return err
}

// Errors of a role and its database. The last three are of a role that does not exist, or that the login does not have:
// of MariaDB, and of MySQL.
const (
	noDatabase, noDatabaseRights            = 1049, 1044
	noMariaDBRole, noMySQLRole, noRoleGrant = 1959, 3523, 3530
)

// markMySQLIdentity marks the error of taking a role if the server refuses what was said.
func markMySQLIdentity(err error) error {
	if e := new(mysql.MySQLError); errors.As(err, &e) {
		switch e.Number {
		case noDatabase, noDatabaseRights, noMariaDBRole, noMySQLRole, noRoleGrant:
			return &identityError{err}
		}
	}
	return err
}

// quoteMySQLName quotes a name for every sql_mode.
func quoteMySQLName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// setVariables sets the settings and the variables of a transaction with one prepared statement. The values are sent
// as hexadecimal digits, which mean the same in each character set that an earlier transaction may have left. So they
// have the collation of the settings also if they are null, and the server refuses a comparison with another one when
// it prepares a statement.
func (c *mysqlConn) setVariables(
	ctx context.Context, as identity, readOnly int, limit time.Duration,
) error {
	if c.prologue == nil {
		text := c.accessSettings("?", "?", "?")
		for _, name := range c.database.variables {
			text += ", @" + name + " = CONVERT(UNHEX(?) USING utf8mb4)"
		}
		prepared, err := c.raw.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		c.prologue = prepared
	}
	args := make([]driver.NamedValue, 2+len(c.database.variables))
	args[0].Value, args[1].Value = int64(readOnly), limit.Milliseconds()
	if c.isMariaDB {
		args[1].Value = limit.Seconds()
	}
	var digits []byte
	for i, v := range as.values {
		from := len(digits)
		digits = hex.AppendEncode(digits, []byte(v))
		args[2+i].Value = digits[from:]
	}
	for i := range args {
		args[i].Ordinal = i + 1
	}
	_, err := c.prologue.(driver.StmtExecContext).ExecContext(ctx, args)
	return err
}

// listsVariables selects 1 if the server tells a session which user variables it has, as MariaDB does.
const listsVariables = "(SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'information_schema' " +
	"AND table_name = 'USER_VARIABLES')"

// leftVariables is no sql_mode, and so the server refuses it.
const leftVariables = "user variables are left"

// modeWithoutVariables returns an expression that is the sql_mode of a transaction. The server refuses it if the
// session has a user variable that no transaction sets: a function of a view or a trigger may have kept there what it
// has found for an earlier caller. The names of variables are compared without regard to case.
func (m *mysqlDatabase) modeWithoutVariables() string {
	where := ""
	if len(m.variables) > 0 {
		where = " WHERE variable_name NOT IN ('" + strings.Join(m.variables, "', '") + "')"
	}
	left := "EXISTS(SELECT 1 FROM information_schema.user_variables" + where + ")"
	return "IF(" + left + ", '" + leftVariables + "', '" + sqlMode + "')"
}

// hasLeftVariables reports whether an error says that an earlier transaction has left variables in a session.
func hasLeftVariables(err error) bool {
	e := new(mysql.MySQLError)
	return errors.As(err, &e) && e.Number == wrongSetting && strings.Contains(e.Message, leftVariables)
}

// wrongSetting is the code of the error that a setting cannot have a value.
const wrongSetting = 1231

// withoutVariables removes the variables that each transaction sets from a text without quoted parts.
func (m *mysqlDatabase) withoutVariables(text string) string {
	if m.variables == nil {
		return text
	}
	return userVariable.ReplaceAllStringFunc(text, func(found string) string {
		if slices.Contains(m.variables, strings.ToLower(found[1:])) {
			return ""
		}
		return found
	})
}

var userVariable = lazyregexp.New(`@[\pL\pN_$.]+`)
