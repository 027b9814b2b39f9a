package sql

import (
	"cmp"
	"strconv"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
	"hatchel/internal/lazyregexp"
)

const defaultMaxRows = 1000

// block is an sql block.
type block struct {
	Query     *hcl.SQL
	Exec      *hcl.SQL
	Statement *hcl.Expr
	Each      *hcl.Expr
	MaxRows   int // 0 for the default
	Truncate  bool

	connection  string
	dialect     sqltext.Dialect
	definitions []string       // what init of the connection creates
	masks       []eval.Applied // of the result
}

func (b *block) spec() hcl.Spec {
	statement := hcl.ExactlyOneOf("the statement",
		hcl.Attr(&b.Query, "query",
			"A statement that reads. It runs in a read-only transaction: the database refuses every write.").
			Hint(" Write the value in the statement, as in ${input.x}: it is bound as a parameter.", "params", "args",
				"parameters"),
		hcl.WithOutput(earlierResults, hcl.Attr(&b.Exec, "exec",
			"A statement that writes, or a list of statements that run in one transaction. A later one reads the "+
				"results of those before it: output.results[0].row.id of RETURNING id, affected, and last_id of an "+
				"INSERT, which PostgreSQL does not have."))[0],
		hcl.Attr(&b.Statement, "statement",
			`A whole statement written by the caller, such as input.sql. It requires a connection with mode = "ro".`),
	)
	return hcl.Join(
		hcl.Spec{hcl.EachField(&b.Each, "each", "A list or map. The statements run once for each element, all in one "+
			"transaction. They read the element as each.key and each.value.")},
		statement,
		hcl.Spec{hcl.PositiveInt(&b.MaxRows, "max_rows",
			"The maximum number of rows returned. output.truncated is true if there were more.").DefaultDoc("1000"),
			hcl.TruncateAttr(&b.Truncate, "max_rows")},
	)
}

const (
	needsReadWrite = `The connection %q is read-only (mode = "ro"). ` +
		`Write query instead, or use a connection with mode = "rw".`
	needsReadOnly = `A caller's statement requires a connection with mode = "ro", and %q has mode = "rw". ` +
		`Declare a second connection to the same database with mode = "ro".`
	needsOwnLogin = `The connection %q has session or role, and a caller's statement can change both: it may call ` +
		`set_config, or read other rows in one expression. Declare a second connection whose login can read only ` +
		`what every caller may read, or instances with one login each.`
	implicitCommit = "MySQL commits everything before %s implicitly, so %[1]s cannot be part of a larger " +
		"transaction. Give it a block of its own."
)

// Describe implements hcl.Describer.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	var checks adapters.Checks
	if conn != nil {
		readOnly := conn.Config.(interface{ readOnly() bool }).readOnly()
		b.connection, b.dialect = conn.Name, dialects[conn.Kind]
		if c, ok := conn.Config.(*sqliteConnection); ok {
			b.definitions = splitStatements(c.Init, b.dialect)
		}
		checks.Refuse(b.Exec != nil && readOnly, &b.Exec, needsReadWrite, conn.Name)
		checks.Refuse(b.Statement != nil && !readOnly, &b.Statement, needsReadOnly, conn.Name)
		if server, ok := conn.Config.(*serverConnection); ok {
			checks.Refuse(b.Statement != nil && (server.Session != nil || server.Role != nil), &b.Statement,
				needsOwnLogin, conn.Name)
		}
	}
	checks.Refuse(b.Query != nil && b.Query.Listed, &b.Query,
		"query takes one statement. Use a list under exec, or several steps.")
	if b.Statement != nil {
		t := b.Statement.Type()
		checks.Refuse(t.Kind != schema.String && t.Kind != schema.Any, &b.Statement,
			"statement must be a string, not %s.", t)
		checks.Refuse(b.Each != nil, &b.Each,
			"A caller's statement runs once. Use each only with query or exec.")
	}
	statements := b.statements()
	alone := len(statements) == 1 && b.Each == nil
	for _, s := range statements {
		for _, kind := range s.Kinds() {
			verb := kind.Verb
			checks.Refuse(b.Query != nil && writeVerbs[verb], &b.Query,
				"query only reads, and %s writes. Write exec = … instead.", verb)
			reason := refusedVerb(verb)
			checks.Refuse(reason != "", s, "%s is not allowed here: %s.", verb, reason)
			checks.Refuse(b.dialect == sqltext.MySQL && !transactionalVerbs[verb] && verb != "CALL" && !alone,
				s, implicitCommit, verb)
		}
	}
	if b.Exec != nil {
		return b.execEffects(), checks.Err()
	}
	return hcl.Effects{
		Output:     schema.ObjectOf(rowMembers()...),
		Facts:      hcl.CutMembers("rows"),
		Default:    hcl.DefaultResult{Member: "rows"},
		ReadOnly:   true,
		Idempotent: true,
		Unlimited:  b.unlimited(),
	}, checks.Err()
}

// StreamsRows reports whether a block that writes rows may read those of the query as they arrive.
func (b *block) StreamsRows() bool {
	return b.Query != nil && b.Each == nil && b.MaxRows == 0 && !b.Truncate
}

// maxRows returns the maximum number of rows of a call.
func (b *block) maxRows() int { return cmp.Or(b.MaxRows, defaultMaxRows) }

var (
	bounded   = lazyregexp.New(`(?i)\b(WHERE|LIMIT|FETCH|GROUP|HAVING|JOIN)\b|\b(COUNT|SUM|MIN|MAX|AVG)\s*\(`)
	readsFrom = lazyregexp.New(`(?i)\bFROM\b`)
	rowLimit  = lazyregexp.New(`(?i)\bLIMIT\s+([0-9]+)`)
)

// unlimited returns why the rows of the query are certainly cut once there are enough of them, or nil.
func (b *block) unlimited() error {
	if b.Query == nil || b.Truncate {
		return nil
	}
	for _, sample := range b.Query.Statements()[0].Samples() {
		text := quotedText.ReplaceAllString(sample.Text, " ")
		limit := rowLimit.FindStringSubmatch(text)
		switch n := 0; {
		case limit != nil:
			if n, _ = strconv.Atoi(limit[1]); n > b.maxRows() {
				return hcl.Blame(&b.Query, "The query reads up to %d rows, and max_rows is %d.", n, b.maxRows())
			}
		case b.MaxRows == 0 && readsFrom.MatchString(text) && !bounded.MatchString(text):
			return hcl.Blame(&b.Query, "The query reads all rows, and max_rows is %d by default.", defaultMaxRows)
		}
	}
	return nil
}

// refusedVerb returns why no block may run a statement with this verb, or "" if it may.
func refusedVerb(verb string) string {
	switch verb {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
		return "a block already runs as one transaction, which is committed if all of it succeeds"
	case "SET", "RESET", "USE", "DISCARD", "PREPARE", "EXECUTE", "DEALLOCATE", "DECLARE",
		"LISTEN", "UNLISTEN", "ATTACH", "DETACH", "LOCK", "UNLOCK":
		return "calls share connections, and its effect on the session would outlast the call"
	case "VACUUM":
		return "it cannot run in a transaction, and a block runs as one"
	case "COPY", "LOAD", "HANDLER":
		return "it transfers data outside of statement parameters and rows"
	}
	return ""
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

var (
	// writeVerbs are refused under query at load. The database refuses all other writes itself.
	writeVerbs = wordSet("INSERT UPDATE DELETE REPLACE MERGE TRUNCATE CREATE ALTER DROP RENAME GRANT REVOKE")
	// transactionalVerbs are those whose statements MySQL never commits before the transaction ends.
	transactionalVerbs = wordSet("SELECT INSERT UPDATE DELETE REPLACE VALUES TABLE DO SHOW EXPLAIN DESCRIBE DESC " +
		"HELP CHECKSUM KILL SIGNAL RESIGNAL")
)

// statements returns the statements that the author wrote.
func (b *block) statements() []*sqltext.Program {
	switch {
	case b.Query != nil:
		return b.Query.Statements()
	case b.Exec != nil:
		return b.Exec.Statements()
	}
	return nil
}

func (b *block) execEffects() hcl.Effects {
	f := hcl.Effects{Writes: true}
	returning := false
	for _, s := range b.statements() {
		f.Destructive = f.Destructive || mayLoseData(s)
		returning = returning || s.ReturnsRows()
	}
	members := changeMembers()
	if returning || b.Exec.Listed {
		members = append(members, rowMembers()...)
		f.Facts = hcl.CutMembers("rows")
	}
	f.Output = schema.ObjectOf(members...)
	switch {
	case b.Exec.Listed:
		f.Output = schema.ObjectOf(&schema.Member{Name: "results", Type: schema.ListOf(f.Output)})
		f.Facts = hcl.CutInList("results", "rows")
		f.Default.Member = "results"
	case returning:
		f.Default.Member = "rows"
	default:
		f.Default.Members = []string{"affected", "last_id"}
	}
	return f
}

func rowMembers() []*schema.Member {
	row := &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.Any}}
	return []*schema.Member{
		{Name: "rows", Type: schema.ListOf(row)},
		{Name: "row", Type: row.AsNullable()},
		{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
	}
}

// earlierResults is the root output of a statement: the results of the statements before it in the
// list. A row or an id that is missing fails the call.
var earlierResults = schema.ObjectOf(&schema.Member{Name: "results", Type: schema.ListOf(schema.ObjectOf(
	&schema.Member{Name: "affected", Type: &schema.Type{Kind: schema.Integer}},
	&schema.Member{Name: "last_id", Type: &schema.Type{Kind: schema.Integer}},
	&schema.Member{Name: "row", Type: &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.Any}}},
))})

func changeMembers() []*schema.Member {
	integer := &schema.Type{Kind: schema.Integer}
	return []*schema.Member{{Name: "affected", Type: integer}, {Name: "last_id", Type: integer.AsNullable()}}
}

var (
	// destructiveWords finds a deletion or an overwrite anywhere in a statement, such as after WITH or
	// in an upsert.
	destructiveWords = lazyregexp.New(`(?i)\b(DELETE|UPDATE|DROP|TRUNCATE|MERGE|ALTER|OR\s+REPLACE)\b`)
	// additiveVerbs lose no data unless the statement also has a destructive word.
	additiveVerbs = wordSet("INSERT CREATE SELECT VALUES ANALYZE COMMENT")
)

// mayLoseData reports whether a statement may delete or overwrite data. In doubt it returns true.
func mayLoseData(s *sqltext.Program) bool {
	for _, kind := range s.Kinds() {
		if !additiveVerbs[kind.Verb] {
			return true
		}
	}
	for _, sample := range s.Samples() {
		if destructiveWords.MatchString(quotedText.ReplaceAllString(sample.Text, " ")) {
			createsTable := s.KindOf(sample.Text).Verb == "CREATE" &&
				strings.Contains(strings.ToUpper(sample.Text), "TABLE")
			if !createsTable {
				return true
			}
		}
	}
	return false
}

var (
	// quotedText matches string literals, quoted identifiers and comments.
	quotedText = lazyregexp.New("'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|(?s:/\\*.*?\\*/)")
	// quotedMySQLText also matches the backslash escapes and # comments of MySQL.
	quotedMySQLText = lazyregexp.New("'(?:[^'\\\\]|\\\\(?s:.))*'|\"(?:[^\"\\\\]|\\\\(?s:.))*\"|`[^`]*`|" +
		"(?:--\\s|#)[^\n]*|(?s:/\\*.*?\\*/)")
)
