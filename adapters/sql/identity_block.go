package sql

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

// Limits of the arguments of a connection that say as whom calls run. Each role on each instance is probed at load.
const (
	maxSession    = 16
	maxRoles      = 16
	maxInstances  = 16
	maxIdentities = 64
)

// identitySpec declares the arguments that say as whom calls run.
func (c *serverConnection) identitySpec() hcl.Spec {
	session := "Values of the caller that every transaction sets before its first statement, such as " +
		`{ "app.tenant" = caller.claims.tenant }. Statements, functions and policies read them: ` +
		`current_setting('app.tenant').`
	if c.dialect == sqltext.MySQL {
		session = "Values of the caller that every transaction sets before its first statement. Statements and " +
			"functions read the value with the key tenant as the user variable @tenant."
	}
	return hcl.Spec{
		hcl.Attr(&c.Instance, "instance", "The name in instances of the database that a call uses, such as "+
			"caller.claims.region."),
		hcl.Attr(&c.Role, "role", "The role of the database that every transaction takes, which the login may become. "+
			"All that it can be must be known at load: a literal, a condition, or an index into a constant map, such "+
			"as local.roles[caller.claims.plan]."),
		hcl.Attr(&c.Session, "session", session+" A call whose value is missing or empty fails before anything is "+
			"sent.").FixedKeys(),
	}
}

// IdentityParts implements hcl.Identified.
func (c *serverConnection) IdentityParts() (parts []hcl.IdentityPart) {
	if c.Instance != nil {
		parts = append(parts, hcl.IdentityPart{Argument: "instance", Value: c.Instance, Texts: c.Instances.Names()})
	}
	if c.Role != nil {
		parts = append(parts, hcl.IdentityPart{Argument: "role", Value: c.Role, Texts: c.Role.Texts()})
	}
	entries := c.Session.Entries()
	for i := range entries {
		parts = append(parts, hcl.IdentityPart{Argument: "session", Name: entries[i].Name, Value: &entries[i].Value})
	}
	return parts
}

var (
	postgresSettingName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	mysqlVariableName   = lazyregexp.New(`^[a-z_][a-z0-9_]{0,63}$`)
	instanceNames       = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	// ownedSettings are the settings of PostgreSQL and of its extensions.
	ownedSettings = lazyregexp.New(`(?i)^(pg_[a-z0-9_]*|plpgsql|plperl|pltcl|pgaudit|auto_explain|postgres_fdw)\.`)
)

// CheckComputed implements hcl.ComputedChecker.
func (c *serverConnection) CheckComputed() error {
	var checks adapters.Checks
	c.checkInstances(&checks)
	c.checkRole(&checks)
	c.checkSession(&checks)
	roles, instances := len(c.Role.Texts()), len(c.Instances)
	checks.Refuse(roles*instances > maxIdentities, &c.Role, "There are %d roles on %d instances, and %d pairs are the "+
		"maximum, because statements are checked as each role on each instance.", roles, instances, maxIdentities)
	return checks.Err()
}

func (c *serverConnection) checkInstances(checks *adapters.Checks) {
	names := c.Instances.Names()
	switch {
	case c.Instances == nil:
		checks.Refuse(c.Instance != nil, &c.Instance, "instance chooses one of instances, which this connection does "+
			"not have. Write instances = { name = secret.name } in place of url.")
		return
	case len(names) == 0:
		checks.Refuse(true, &c.Instances, "instances is empty. Write { name = secret.name }.")
		return
	}
	checks.Refuse(len(names) > maxInstances, &c.Instances, "There are %d instances, and %d are the maximum: each has "+
		"a pool of its own.", len(names), maxInstances)
	for _, of := range c.Instances {
		checks.Refuse(!instanceNames.MatchString(of.Name), of.Key, "%q is no name of an instance: it has 1 to 63 "+
			"letters, digits, dots, dashes and underscores, such as eu.", of.Name)
	}
	if c.Instance == nil {
		checks.Refuse(true, &c.Instances, "A connection with instances needs instance, which chooses one for each "+
			"call, such as instance = caller.claims.region.")
		return
	}
	for _, text := range c.Instance.Texts() {
		checks.Refuse(!slices.Contains(names, text), &c.Instance, "There is no instance %q.%s", text,
			diag.SuggestOr(text, names, diag.ListAre(names)))
	}
	c.checkText(checks, c.Instance, "instance", c.Instance.Range)
}

// checkRole checks that all roles are known at load.
func (c *serverConnection) checkRole(checks *adapters.Checks) {
	if c.Role == nil {
		return
	}
	roles := c.Role.Texts()
	if roles == nil {
		checks.Refuse(true, &c.Role, "Role not known at load. Write a literal, a condition, or an index into a "+
			"constant map, such as local.roles[caller.claims.plan].")
		return
	}
	checks.Refuse(len(roles) > maxRoles, &c.Role, "There are %d roles, and %d are the maximum.", len(roles), maxRoles)
	longest := 63
	if c.dialect == sqltext.MySQL {
		longest = 128
	}
	for _, role := range roles {
		switch word := strings.ToLower(role); {
		case role == "", strings.IndexByte(role, 0) >= 0, len(role) > longest:
			checks.Refuse(true, &c.Role, "%q cannot be the name of a role: it has 1 to %d bytes.", role, longest)
		case word == "none" || c.dialect == sqltext.MySQL && (word == "all" || word == "default"):
			checks.Refuse(true, &c.Role, "%q is no role but a word of SET ROLE. Write the name of a role.", role)
		}
	}
}

// checkSession checks the names of session, and those values that are known at load.
func (c *serverConnection) checkSession(checks *adapters.Checks) {
	entries := c.Session.Entries()
	checks.Refuse(c.Session != nil && len(entries) == 0, &c.Session, "session is empty. Write "+
		"{ %s = caller.claims.tenant }, or remove it.", c.exampleName())
	checks.Refuse(len(entries) > maxSession, &c.Session, "session has %d values, and %d are the maximum.", len(entries),
		maxSession)
	seen := map[string]bool{}
	for _, e := range entries {
		c.checkName(checks, e)
		folded := strings.ToLower(e.Name)
		checks.Refuse(seen[folded], e.Key, "%s is the same name as another one here: case does not matter.", e.Name)
		seen[folded] = true
		c.checkText(checks, &e.Value, e.Name, e.Value.Range)
	}
}

// exampleName is a name of session as it is written.
func (c *serverConnection) exampleName() string {
	if c.dialect == sqltext.MySQL {
		return "tenant"
	}
	return `"app.tenant"`
}

func (c *serverConnection) checkName(checks *adapters.Checks, e hcl.Entry) {
	switch {
	case c.dialect == sqltext.MySQL:
		checks.Refuse(!mysqlVariableName.MatchString(e.Name), e.Key, "%q is no name of a user variable here: it has 1 "+
			"to 64 letters in lower case, digits and underscores, and begins with no digit, such as tenant, which is "+
			"read as @tenant.", e.Name)
	case ownedSettings.MatchString(e.Name):
		checks.Refuse(true, e.Key, "%s belongs to PostgreSQL or an extension of it. Choose a prefix of your own, such "+
			`as "app.tenant".`, e.Name)
	case !strings.Contains(e.Name, "."):
		checks.Refuse(true, e.Key, "%q would be a setting of PostgreSQL. A value of a caller has a name with a dot, "+
			`such as "app.%s".`, e.Name, strings.Trim(e.Name, "."))
	default:
		checks.Refuse(!postgresSettingName.MatchString(e.Name), e.Key, "%q is no name of a setting: the parts between "+
			`the dots have letters, digits and underscores, and begin with no digit, such as "app.tenant".`, e.Name)
	}
}

// checkText checks what is known at load of a value that must be one text.
func (c *serverConnection) checkText(checks *adapters.Checks, e *hcl.Expr, name string, at hcl.Range) {
	t := e.Type()
	switch t.Kind {
	case schema.List, schema.Set, schema.Map, schema.Object:
		source := "…"
		if e.Typed.Path != "" {
			source = eval.Subject(e.Typed)
		}
		checks.Refuse(e == c.Instance, at, "instance is one text, and this is %s.", eval.TypePhrase(t))
		checks.Refuse(e != c.Instance, at, "%s is one text, and this is %s. Write jsonencode(%s): a list that is "+
			"joined can be forged by an element with a comma.", name, eval.TypePhrase(t), source)
		return
	case schema.String, schema.Integer, schema.Number, schema.Bool, schema.Any, schema.Null:
	default:
		checks.Refuse(true, at, "%s is a string, a number or a bool, and this is %s.", name, eval.TypePhrase(t))
		return
	}
	choices := e.Typed.AllChoices()
	for _, v := range choices {
		_, problem := sessionText(v)
		if problem == isMissing && len(choices) > 1 {
			continue // it fails the calls that choose it
		}
		shown, instead := "", ""
		if len(choices) > 1 {
			shown = fmt.Sprintf(" in one of its %d cases", len(choices))
		}
		if problem == isMissing || problem == isEmpty {
			instead = " Each call would fail. An intended default is written as coalesce(caller.claims.tenant, " +
				`"public").`
			if shown != "" {
				instead = " Those calls would fail; write null to refuse them."
			}
		}
		checks.Refuse(problem != "", at, "%s %s%s.%s", name, problem, shown, instead)
	}
}
