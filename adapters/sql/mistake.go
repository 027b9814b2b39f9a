package sql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

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

	statementPooling = mistake("the pooler in front of the database has pool_mode = statement, which has no " +
		"transactions; set pool_mode = transaction or pool_mode = session for this database")
)

// postgresMistakes are the mistakes by SQLSTATE.
var postgresMistakes = map[string]mistake{
	"28000": "the database does not let this user in: the user, the database or the TLS options of the url are wrong",
	"28P01": wrongCredentials, "3D000": wrongDatabase,
	"42501": "the user of the url may not connect to the database",
	"42704": wrongOption, "22023": wrongOption,
}

// poolerMistakes are the mistakes by what PgBouncer says; all have the same SQLSTATE.
var poolerMistakes = []struct {
	text string
	mistake
}{
	{"statement pooling mode", statementPooling},
	{"unsupported startup parameter", wrongOption},
	{"no such database", wrongDatabase}, {"no such user", wrongCredentials}, {"password authentication", wrongCredentials},
	{"SSL required", wrongTLS},
}

// mistakeOf returns the mistake that an error of connecting reports, or "" if the error may pass.
func mistakeOf(err error) mistake {
	var postgres *pgconn.PgError
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
	case isTLSError(err):
		return wrongTLS
	}
	return found
}

// isTLSError reports whether client and server do not agree on TLS. Package pgconn has no type for the refusal.
func isTLSError(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(tls.RecordHeaderError)) ||
		strings.Contains(err.Error(), "server refused TLS connection")
}
