package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/lazyregexp"
)

// Prove implements adapters.Prover.
func (m *mysqlDatabase) Prove(ctx context.Context, actions []adapters.Action) (faults, warnings error) {
	return prove(ctx, m, m.identifier, actions)
}

// proveLogin implements identityDatabase. The rights of a role are added to those of the login.
func (m *mysqlDatabase) proveLogin(ctx context.Context, p *proof) error {
	return m.read(ctx, identity{}, func(tx transaction) error {
		p.warnings = nil
		user, err := textsOf(ctx, tx, "SELECT CURRENT_USER()")
		if err != nil {
			return err
		}
		p.quote = quoteMySQLName
		p.user = user[0][0]
		name, host, _ := strings.Cut(p.user, "@")
		p.login = fmt.Sprintf("'%s'@'%s'", name, host)
		if p.role == nil {
			return nil
		}
		grants, err := textsOf(ctx, tx, "SHOW GRANTS FOR CURRENT_USER()")
		if err != nil {
			return err
		}
		for _, grant := range grants {
			rights, _, _ := strings.Cut(strings.TrimPrefix(grant[0], "GRANT "), " TO ") // what follows may be a digest
			if what, _, ok := strings.Cut(rights, " ON "); !ok || what == "USAGE" {
				continue // of a role, or no rights
			}
			p.warnings.Refuse(true, p.place(), "The login %q has rights without a role, which each role adds to: %s. "+
				"Revoke them, or calls of every role have them.", p.user, rights)
		}
		return nil
	})
}

// comparedVariable matches a column that a statement compares with a variable, without a collation of its own.
var comparedVariable = lazyregexp.New("(?i)(" + namePart + ")\\s*<?=>?\\s*@([a-z0-9_]+)(\\s+COLLATE\\b)?|" +
	"@([a-z0-9_]+)(\\s+COLLATE\\s+[a-z0-9_]+)?\\s*<?=>?\\s*(?:(?:" + namePart + ")\\s*\\.\\s*)*(" + namePart + ")")

// ignoredCase selects the collation of a column if it ignores case.
const ignoredCase = "SELECT collation_name FROM information_schema.columns WHERE table_schema = " +
	"COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ? AND column_name = ? " +
	"AND collation_name LIKE '%!_ci' ESCAPE '!'"

// proveRights implements identityDatabase. A column may take the values of two callers for the same one.
func (m *mysqlDatabase) proveRights(ctx context.Context, p *proof, _ identity, tx transaction) error {
	for _, statement := range p.statements {
		for _, found := range comparedVariable.FindAllStringSubmatch(withoutText(statement, p.dialect, nil), -1) {
			column, variable, collated := found[1], found[2], found[3] != ""
			if column == "" {
				column, variable, collated = found[6], found[4], found[5] != ""
			}
			at := slices.IndexFunc(p.session, func(e hcl.Entry) bool { return strings.EqualFold(e.Name, variable) })
			if at < 0 || collated {
				continue
			}
			column = strings.Trim(column, "`")
			for _, table := range p.tables(statement) {
				schema, name, _ := schemaAndName(table)
				collation, err := textsOf(ctx, tx, ignoredCase, schema, name, column)
				if err != nil {
					return err
				}
				if e := p.session[at]; len(collation) > 0 {
					p.warn(e.Key, fmt.Sprintf(sameForColumn, e.Name, table, column, collation[0][0]))
				}
			}
		}
	}
	return nil
}

const sameForColumn = "A caller whose %[1]s is \"ACME\" also reads the rows of \"acme\": the column %[2]s.%[3]s has " +
	"the collation %[4]s, which ignores case. Give the column the collation utf8mb4_bin, or write " +
	"@%[1]s COLLATE utf8mb4_bin."

func (m *mysqlDatabase) identityQuery() string {
	query := "SELECT CURRENT_ROLE()"
	for _, name := range m.variables {
		query += ", @" + name
	}
	return query
}

// keepsValues implements identityDatabase: each transaction sets all variables anew.
func (m *mysqlDatabase) keepsValues() bool { return true }
