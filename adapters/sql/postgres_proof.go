package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"hatchel/adapters"
)

const ownedName = "%s is a setting of an extension that the server has loaded. Choose another prefix, such as " +
	`"app.tenant".`

// Prove implements adapters.Prover.
func (p *postgresDatabase) Prove(ctx context.Context, actions []adapters.Action) (faults, warnings error) {
	return prove(ctx, p, p.identifier, actions)
}

// proveLogin implements identityDatabase.
func (p *postgresDatabase) proveLogin(ctx context.Context, found *proof) error {
	return p.read(ctx, identity{}, func(tx transaction) error {
		found.faults, found.warnings = nil, nil
		login, err := textsOf(ctx, tx, "SELECT session_user::text, pg_catalog.quote_ident(session_user::text)")
		if err != nil {
			return err
		}
		found.quote = func(name string) string { return pgx.Identifier{name}.Sanitize() }
		found.user, found.login = login[0][0], login[0][1]
		owned, err := textsOf(ctx, tx, "SELECT name FROM pg_catalog.pg_settings WHERE name LIKE '%.%'")
		if err != nil {
			return err
		}
		for _, e := range found.session {
			taken := slices.ContainsFunc(owned, func(row []string) bool { return strings.EqualFold(row[0], e.Name) })
			found.faults.Refuse(taken, e.Key, ownedName, e.Name)
			found.taken = found.taken || taken
		}
		return p.proveUse(ctx, found, tx)
	})
}

// passed are the ways in which rows of a table pass policies by: {other} is the view or the parent of the table, and
// {reader} the role that reads it.
var passed = map[string]string{
	"owner": "The policies of {table} do not apply to {reader}, which owns it or has the rights of its owner: " +
		"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
	"view": "The view {other} reads {table} with the rights of {reader}, to which the policies of that table do " +
		"not apply: ALTER VIEW {other} SET (security_invoker = true)",
	"stored": "The materialized view {other} stores rows of {table}, to which the policies of that table do not " +
		"apply. Read the table, or a view.",
	"disabled": "The policies of {table} do not apply, because it has no row-level security: " +
		"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
	"child": "The policies of {other} do not apply to {table} when it is read by its own name. Read {other}, or give " +
		"{table} policies: ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
}

// usedRelations selects the tables and views that statements name, and what the views read: by whom, by which view, and
// whether a materialized view has stored it.
const usedRelations = `WITH RECURSIVE used (rel, reader, view, stored) AS (
	SELECT found.oid, me.oid, NULL::oid, false
	FROM unnest($1::text[], $2::text[]) AS named (schema, name)
	CROSS JOIN LATERAL (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname = named.name AND (n.nspname = named.schema OR
			named.schema = '' AND n.nspname = ANY (pg_catalog.current_schemas(true)))
		ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1) AS found
	JOIN pg_catalog.pg_roles me ON me.rolname = current_user
	UNION
	SELECT d.refobjid, CASE WHEN v.relkind = 'v' AND EXISTS (SELECT FROM pg_catalog.pg_options_to_table(v.reloptions) o
		WHERE o.option_name = 'security_invoker' AND o.option_value::boolean) THEN me.oid ELSE v.relowner END,
		CASE WHEN used.stored THEN used.view ELSE v.oid END, used.stored OR v.relkind = 'm'
	FROM used JOIN pg_catalog.pg_class v ON v.oid = used.rel AND v.relkind IN ('v', 'm')
	JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid
	JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
		AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.oid
	JOIN pg_catalog.pg_roles me ON me.rolname = current_user
)`

// passedPolicies selects the tables of tools whose policies do not apply to who reads them: the current role, or the
// owner of a view in between. A view reads as its owner, unless it has security_invoker; a materialized view has
// been read by its owner. The policies of a table do not apply to roles with the rights of its owner, unless they are
// forced, nor to what is read of its partitions by their names.
const passedPolicies = usedRelations + `, above (rel, parent) AS (
	SELECT inhrelid, inhparent FROM pg_catalog.pg_inherits WHERE inhrelid IN (SELECT rel FROM used)
	UNION
	SELECT above.rel, i.inhparent FROM above JOIN pg_catalog.pg_inherits i ON i.inhrelid = above.parent
), found (kind, rel, other, reader) AS (
	SELECT CASE WHEN used.stored THEN 'stored' WHEN reader.rolname <> current_user THEN 'view'
		WHEN reader.rolsuper OR reader.rolbypassrls THEN 'bypassed' ELSE 'owner' END,
		t.oid, used.view, reader.rolname
	FROM used JOIN pg_catalog.pg_class t ON t.oid = used.rel AND t.relkind IN ('r', 'p') AND t.relrowsecurity
	JOIN pg_catalog.pg_roles reader ON reader.oid = used.reader
	WHERE used.stored OR reader.rolsuper OR reader.rolbypassrls
		OR NOT t.relforcerowsecurity AND pg_catalog.pg_has_role(reader.oid, t.relowner, 'USAGE')
	UNION
	SELECT 'disabled', t.oid, NULL, NULL FROM used
	JOIN pg_catalog.pg_class t ON t.oid = used.rel AND NOT t.relrowsecurity
	WHERE EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = t.oid)
	UNION
	SELECT 'child', t.oid, parent.oid, NULL FROM used
	JOIN pg_catalog.pg_class t ON t.oid = used.rel AND NOT t.relrowsecurity
	JOIN above ON above.rel = t.oid
	JOIN pg_catalog.pg_class parent ON parent.oid = above.parent AND parent.relrowsecurity
	WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = t.oid)
)
SELECT kind, rel::regclass::text, other::regclass::text, reader::text FROM found ORDER BY 1, 2, 3`

// unfiltered selects a table of tools if a value of session can have no effect on any of them, as far as the catalog
// says: there is no policy, no view and no trigger, and no default value and no function that reads a setting.
const unfiltered = usedRelations + `
SELECT min(t.oid::regclass::text) FROM used JOIN pg_catalog.pg_class t ON t.oid = used.rel
HAVING bool_and(t.relkind = 'r' AND NOT t.relispartition AND NOT t.relrowsecurity
	AND t.relnamespace <> 'pg_catalog'::regnamespace
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = t.oid)
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g WHERE g.tgrelid = t.oid AND NOT g.tgisinternal)
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_attrdef d WHERE d.adrelid = t.oid
		AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%current_setting%'))
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc f WHERE f.pronamespace <> 'pg_catalog'::regnamespace
		AND f.prosrc LIKE '%current_setting%')
	AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user)`

// proveUse reports values of session that nothing reads.
func (p *postgresDatabase) proveUse(ctx context.Context, found *proof, tx transaction) error {
	reads := func(text string) bool { return strings.Contains(strings.ToLower(text), "current_setting") }
	if len(found.session) == 0 || slices.ContainsFunc(found.statements, reads) {
		return nil
	}
	schemas, names := found.relations()
	rows, err := textsOf(ctx, tx, unfiltered, any(schemas), any(names))
	if err != nil || len(rows) == 0 || rows[0][0] == "" {
		return err
	}
	const text = "No table of the tools has a policy, so %s. Let a policy of each table with rows of several callers " +
		"read it, as in ALTER TABLE %s ENABLE ROW LEVEL SECURITY; CREATE POLICY … USING (… = current_setting('%s'))"
	found.warnings.Refuse(true, found.session[0].Key, text, found.inVain(), rows[0][0], found.session[0].Name)
	return nil
}

// relations returns the schemas and names of the tables of the statements.
func (p *proof) relations() (schemas, names []any) {
	for _, table := range p.tables(p.statements...) {
		if schema, name, ok := schemaAndName(table); ok {
			schemas, names = append(schemas, schema), append(names, name)
		}
	}
	return schemas, names
}

// proveRights implements identityDatabase.
func (p *postgresDatabase) proveRights(ctx context.Context, found *proof, as identity, tx transaction) error {
	schemas, names := found.relations()
	rows, err := textsOf(ctx, tx, passedPolicies, any(schemas), any(names))
	if err != nil {
		return err
	}
	bypassed := false
	for _, row := range rows {
		if row[0] == "bypassed" {
			bypassed = true
			continue
		}
		text := strings.NewReplacer("{table}", row[1], "{other}", row[2], "{reader}", row[3]).Replace(passed[row[0]])
		found.warn(found.place(), text)
	}
	role, err := textsOf(ctx, tx, "SELECT rolname::text, CASE WHEN rolsuper THEN 'yes' END, CASE WHEN rolbypassrls "+
		"THEN 'yes' END FROM pg_catalog.pg_roles WHERE rolname = current_user")
	if err != nil || len(role) == 0 {
		return err
	}
	who, checks := "The role "+role[0][0], &found.faults
	if as.role == "" {
		who = "The login " + role[0][0]
		if !bypassed { // statements may filter with the values
			checks = &found.warnings
		}
	}
	switch {
	case role[0][1] != "":
		checks.Refuse(true, found.place(), "%s is a superuser, so %s.", who, found.inVain())
	case role[0][2] != "":
		checks.Refuse(true, found.place(), "%s bypasses row-level security, so %s.", who, found.inVain())
	}
	return nil
}

func (p *postgresDatabase) identityQuery() string {
	query := "SELECT current_user::text"
	for _, name := range p.sessionNames[len(sessionSettings):] {
		query += ", pg_catalog.current_setting('" + name + "', true)"
	}
	return query
}

func (p *postgresDatabase) keepsValues() bool { return false }
