package sql

import (
	"errors"
	"slices"
	"strings"

	"hatchel/internal/neterror"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// mistake is why no connection can be made until somebody corrects the configuration. It is a clause without names
// and addresses.
type mistake string

func (m mistake) Error() string { return string(m) }

const (
	wrongCredentials = mistake("the database rejects the user or the password of the url")
	wrongDatabase    = mistake("the server has no database with the name that the url has")
	wrongTLS         = mistake("the TLS options of the url do not fit the server")
	wrongOption      = mistake("the server, or the pooler in front of it, rejects an option of the url")
	notAdmitted      = mistake("the database does not let this user in: the user, the database or the TLS options of " +
		"the url are wrong")

	statementPooling = mistake("the pooler in front of the database has pool_mode = statement, which has no " +
		"transactions; set pool_mode = transaction or pool_mode = session for this database")
)

// refusedToken is the mistake that the token of an auth block is refused, although it was renewed.
func refusedToken(cloud string) mistake {
	return mistake("the database refused the token of " + cloud + refusedTokenEnd)
}

const refusedTokenEnd = ": is IAM login on for this user?"

// correction returns what an operator changes; empty if the report of the server says it.
func (m mistake) correction() string {
	if strings.HasSuffix(string(m), refusedTokenEnd) {
		return string(m)
	}
	return corrections[m]
}

// corrections are what an operator changes after a mistake whose report does not say it.
var corrections = map[mistake]string{
	wrongCredentials: "correct the user or the password in the url",
	wrongDatabase:    "correct the name after the last slash of the url, or create the database",
	wrongTLS: "turn TLS on at the server and name its certificate authority in the url, or turn it off there with " +
		"sslmode=disable (PostgreSQL) or tls=false (MySQL and MariaDB) in a network that you trust",
	wrongOption: "correct the option or remove it from the url; a setting that a pooler refuses is set for the " +
		"role, as in ALTER ROLE hatchel SET search_path = shop",
	notAdmitted: "correct the user and the TLS options in the url, or add a line for them to pg_hba.conf",
}

// postgresMistakes are the mistakes by SQLSTATE.
var postgresMistakes = map[string]mistake{
	"28000": notAdmitted,
	"28P01": wrongCredentials, "3D000": wrongDatabase,
	"42501": "the user of the url may not connect to the database",
	"42704": wrongOption, "22023": wrongOption,
}

// mysqlMistakes are the mistakes by the number of the error.
var mysqlMistakes = map[uint16]mistake{
	1045: wrongCredentials, 1524: wrongCredentials, 1698: wrongCredentials, 1820: wrongCredentials,
	1862: wrongCredentials,
	3118: wrongCredentials, 4151: wrongCredentials, 1044: wrongDatabase, 1049: wrongDatabase,
	1130: "the database does not let this machine in",
	1251: "the server requires a method of authentication that the url does not allow", 1275: wrongOption,
	1064: wrongOption, 1115: wrongOption, 1193: wrongOption, 1227: wrongOption, 1231: wrongOption, 1232: wrongOption,
	1238: wrongOption, 1273: wrongOption, 1298: "the database does not know the time zone",
}

// driverMistakes are errors of the driver for MySQL about the options of the url.
var driverMistakes = []error{mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword,
	mysql.ErrUnknownPlugin, mysql.ErrOldProtocol}

// poolerMistakes are the mistakes by what PgBouncer says; all have the same SQLSTATE.
var poolerMistakes = []struct {
	text string
	mistake
}{
	{"statement pooling mode", statementPooling},
	{"unsupported startup parameter", wrongOption},
	{"no such database", wrongDatabase}, {"no such user", wrongCredentials},
	{"authentication failed", wrongCredentials}, // of a password, SASL, PAM or a certificate
	{"SSL required", wrongTLS}, {"bouncer config error", wrongDatabase},
}

// mistakeOf returns the mistake that an error of connecting reports, or "" if the error may pass.
func mistakeOf(err error) mistake {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	var found mistake
	switch {
	case err == nil || errors.As(err, &found):
	case errors.As(err, &postgres) && postgres.Code == "08P01":
		for _, m := range poolerMistakes {
			if strings.Contains(postgres.Message, m.text) {
				return m.mistake
			}
		}
	case errors.As(err, &postgres):
		return postgresMistakes[postgres.Code]
	case errors.As(err, &maria):
		return mysqlMistakes[maria.Number]
	case slices.ContainsFunc(driverMistakes, func(e error) bool { return errors.Is(err, e) }):
		return wrongOption
	case isTLSError(err):
		return wrongTLS
	}
	return found
}

// isTLSError reports whether client and server do not agree on TLS. Package pgconn has no type for the refusal.
func isTLSError(err error) bool {
	return neterror.Of(err).IsTLS() || errors.Is(err, mysql.ErrNoTLS) ||
		strings.Contains(err.Error(), "server refused TLS connection")
}
