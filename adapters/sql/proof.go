package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/lazyregexp"
)

// proof asks one database whether what a connection declares about its callers holds there: the login may take each
// role, the values of session arrive and do not stay, and the rights of the role do not pass the policies by.
type proof struct {
	*identifier
	statements       []string // of the tools
	user, login      string   // the login, and how GRANT names it
	taken            bool     // a name of session is that of something else
	quote            func(name string) string
	faults, warnings adapters.Checks
}

// identityDatabase is a database that can be asked about identities. The methods report what they find to the proof;
// their errors are those of a database that does not answer.
type identityDatabase interface {
	database
	// proveLogin reports what does not depend on the role, and sets user and login of the proof.
	proveLogin(ctx context.Context, p *proof) error
	// proveRights reports what the rights of an identity pass by, in a transaction of it.
	proveRights(ctx context.Context, p *proof, as identity, tx transaction) error
	// identityQuery selects the current role, and then the values of session.
	identityQuery() string
	// keepsValues reports whether the end of a transaction leaves the values of session.
	keepsValues() bool
}

// prove reports to the author what is wrong with the identities of calls.
func prove(
	ctx context.Context, db identityDatabase, i *identifier, actions []adapters.Action,
) (faults, warnings error) {
	if i == nil || i.role == nil && len(i.session) == 0 {
		return nil, nil // all calls run as the login
	}
	p := &proof{identifier: i}
	for _, a := range actions {
		if a, ok := a.(*action); ok {
			p.statements = append(p.statements, a.texts()...)
		}
	}
	slices.Sort(p.statements)
	p.statements = slices.Compact(p.statements)
	err := db.proveLogin(ctx, p)
	for _, as := range i.identities() {
		if err == nil {
			err = p.prove(ctx, db, as)
		}
	}
	if err != nil {
		return errors.Join(p.faults.Err(), pingError(ctx, err)), p.warnings.Err()
	}
	return p.faults.Err(), p.warnings.Err()
}

// probeValue is what a proof sends as each value of session.
const probeValue = "hatchel validate"

// prove reports what is wrong with one identity.
func (p *proof) prove(ctx context.Context, db identityDatabase, as identity) error {
	err := db.read(ctx, as, func(tx transaction) error {
		_, err := textsOf(ctx, tx, "SELECT 1")
		return err
	})
	if errors.As(err, new(*identityError)) {
		p.refuseRole(as.role, err)
		return nil
	}
	if err != nil {
		return err
	}
	if p.taken {
		return nil // the server would refuse the values
	}
	known := as
	for range p.session {
		known.values = append(known.values, probeValue)
	}
	faults, warnings := p.faults, p.warnings
	err = db.read(ctx, known, func(tx transaction) error {
		p.faults, p.warnings = faults, warnings // the transaction may run again
		if _, err := textsOf(ctx, tx, "SELECT 1"); err != nil {
			return err
		}
		if err := p.proveValues(ctx, db, as, tx); err != nil {
			return err
		}
		return db.proveRights(ctx, p, as, tx)
	})
	if errors.As(err, new(*identityError)) {
		p.faults.Refuse(true, p.place(), "The database refuses the values of session: %s.", quoteEngine(err.Error()))
		return nil
	}
	if err != nil || db.keepsValues() {
		return err
	}
	return db.read(ctx, identity{instance: as.instance}, func(tx transaction) error {
		after, err := textsOf(ctx, tx, db.identityQuery())
		if err != nil {
			return err
		}
		for i, e := range p.session {
			const text = "The value of %s stays after its transaction, so another caller would find it."
			p.faults.Refuse(after[0][1+i] == probeValue, e.Key, text, e.Name)
		}
		return nil
	})
}

// proveValues reports values of session that do not arrive at a statement which is not the first one.
func (p *proof) proveValues(ctx context.Context, db identityDatabase, as identity, tx transaction) error {
	found, err := textsOf(ctx, tx, db.identityQuery())
	if err != nil {
		return err
	}
	const text = "%s does not reach the second statement of a transaction. A pooler or a proxy in between must keep " +
		"a connection for each transaction, as pool_mode = transaction of PgBouncer does."
	for i, e := range p.session {
		p.faults.Refuse(found[0][1+i] != probeValue, e.Key, text, "The value of "+e.Name)
	}
	p.faults.Refuse(as.role != "" && !isRole(found[0][0], as.role), p.place(), text, "The role "+as.role)
	return nil
}

// isRole reports whether a text names a role. MySQL quotes its name and adds the host.
func isRole(found, role string) bool {
	return found == role || strings.HasPrefix(found, quoteMySQLName(role)+"@")
}

// refuseRole reports a role that the login cannot take, or that cannot use the database of the url.
func (p *proof) refuseRole(role string, err error) {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	errors.As(err, &maria)
	switch {
	case errors.As(err, &postgres) && postgres.Code == "22023":
		p.faults.Refuse(true, p.place(), "There is no role %s: CREATE ROLE %[2]s; GRANT %[2]s TO %s", role,
			p.grantName(role), p.login)
	case maria != nil && (maria.Number == noDatabase || maria.Number == noDatabaseRights):
		p.faults.Refuse(true, p.place(), "The role %s may not use the database of the url: %s.", role,
			quoteEngine(maria.Message))
	default:
		p.faults.Refuse(true, p.place(), "The login %q may not become %s: GRANT %s TO %s", p.user, role,
			p.grantName(role), p.login)
	}
}

// grantName returns the name of a role as GRANT has it.
func (p *proof) grantName(role string) string {
	if plainRole.MatchString(role) {
		return role
	}
	return p.quote(role)
}

var plainRole = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

// place is the argument that chooses the rights of a call.
func (p *proof) place() hcl.Range {
	if p.role != nil {
		return p.role.Range
	}
	return p.session[0].Key
}

// inVain says in a message what is in vain when the policies are passed by.
func (p *proof) inVain() string {
	names := p.names()
	last := len(names) - 1
	switch last {
	case -1:
		return "no policy restricts it"
	case 0:
		return names[0] + " filters nothing"
	}
	return fmt.Sprintf("%s and %s filter nothing", strings.Join(names[:last], ", "), names[last])
}

// textsOf returns the rows of a query. Null is an empty text.
func textsOf(ctx context.Context, tx transaction, query string, args ...any) (rows [][]string, err error) {
	e := &execution{text: query, args: args, isQuery: true, result: &resultSet{maxRows: 1000}}
	if err := tx.run(ctx, e); err != nil {
		return nil, err
	}
	width := len(e.result.columns.columns)
	for i := range e.result.rows {
		row := make([]string, width)
		for j, v := range e.result.cells[i*width : (i+1)*width] {
			row[j], _ = v.(string)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// texts returns each rendering of the statements that sqltext samples.
func (b *block) texts() (all []string) {
	for _, s := range b.statements() {
		for _, sample := range s.Samples() {
			all = append(all, sample.Text)
		}
	}
	return all
}

// tables returns the tables of statements, as they name them.
func (p *proof) tables(statements ...string) (names []string) {
	for _, text := range statements {
		for _, found := range tablesOf(text, p.dialect) {
			names = append(names, found...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// schemaAndName returns the parts of a name of tablesOf. The schema is empty if the statement does not say it.
func schemaAndName(table string) (schema, name string, ok bool) {
	parts := nameParts.FindAllString(table, -1)
	for i, part := range parts {
		if part[0] == '"' {
			parts[i] = strings.ReplaceAll(part[1:len(part)-1], `""`, `"`)
		}
	}
	switch len(parts) {
	case 1:
		return "", parts[0], true
	case 2:
		return parts[0], parts[1], true
	}
	return "", "", false
}

// warn reports something that does not depend on the role once.
func (p *proof) warn(at hcl.Range, text string) {
	known := slices.ContainsFunc(p.warnings, func(err error) bool { return err.Error() == text })
	p.warnings.Refuse(!known, at, "%s", text)
}
