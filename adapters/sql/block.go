package sql

import (
	"errors"
	"regexp"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

const defaultMaxRows = 1000

// block is an sql block.
type block struct {
	Query     *hcl.SQL
	Exec      *hcl.SQL
	Statement *hcl.Expr
	Each      *hcl.Expr
	MaxRows   int

	connection string
	dialect    sqltext.Dialect
}

func (b *block) spec() hcl.Spec {
	b.MaxRows = defaultMaxRows
	return hcl.Join(
		hcl.EachField(&b.Each, "each", "A list or map: the statements run once for every element, which they read as each.key and each.value, all in one transaction.",
			hcl.ExactlyOneOf("the statement",
				hcl.Attr(&b.Query, "query", "A statement that reads. It runs where the database refuses every write."),
				hcl.Attr(&b.Exec, "exec", "A statement that changes something, or a list of them: one transaction."),
				hcl.Attr(&b.Statement, "statement", `A whole statement that the caller wrote, such as input.sql. Only on a connection with mode = "ro".`),
			)...),
		hcl.Spec{hcl.Attr(&b.MaxRows, "max_rows", "How many rows are taken. output.truncated says that there were more.").DefaultDoc("1000")},
	)
}

// connectionConfig is what a block must know of its connection at load.
type connectionConfig interface {
	readOnly() bool
	dialect() sqltext.Dialect
}

// Describe says what the block answers with and what it changes.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	var errs []error
	refuse := func(field any, format string, args ...any) { errs = append(errs, hcl.Blame(field, format, args...)) }
	if conn != nil {
		c := conn.Config.(connectionConfig)
		b.connection, b.dialect = conn.Name, c.dialect()
		if b.Exec != nil && c.readOnly() {
			refuse(&b.Exec, `The connection %q has mode = "ro": nothing can be changed through it. Write query, or use a connection with mode = "rw".`, conn.Name)
		}
		if b.Statement != nil && !c.readOnly() {
			refuse(&b.Statement, `A caller's own statement runs only on a connection with mode = "ro", and %q has mode = "rw". Declare a second connection to the same database with mode = "ro".`, conn.Name)
		}
	}
	if b.MaxRows < 1 {
		refuse(&b.MaxRows, "max_rows is at least 1.")
	}
	if b.Query != nil && b.Query.Listed {
		refuse(&b.Query, "A query is one statement. Several that belong together are a list under exec, or steps.")
	}
	if b.Statement != nil {
		if k := b.Statement.Type().Kind; k != schema.String && k != schema.Any {
			refuse(&b.Statement, "A statement is a text, and this is %s.", b.Statement.Type())
		}
		if b.Each != nil {
			refuse(&b.Each, "A caller's own statement runs once: each belongs to query and exec.")
		}
	}
	for _, p := range b.programs() {
		if b.Query != nil && changing[p.Verb()] {
			refuse(&b.Query, "A query only reads, and %s changes something: write exec = ….", p.Verb())
		}
		if own := sessionVerbs[p.Verb()]; own != "" {
			refuse(p, "%s does not belong here: %s.", p.Verb(), own)
		}
		if b.dialect == sqltext.MySQL && defining[p.Verb()] && (len(b.programs()) > 1 || b.Each != nil) {
			refuse(p, "MySQL makes everything before %s final when it runs, so it cannot be a part of one transaction. Give it a block of its own.", p.Verb())
		}
	}
	if b.Exec != nil {
		return b.execFacts(), errors.Join(errs...)
	}
	return hcl.Effects{Output: objectOf(rowMembers()), Default: hcl.DefaultResult{Member: "rows"}, ReadOnly: true, Idempotent: true}, errors.Join(errs...)
}

const (
	ownTransaction = "what a block runs is one transaction already, committed when everything in it succeeded"
	ownProtocol    = "it moves data in a way of its own"
	ownSession     = "connections are shared by all calls, and what it sets would outlast this one"
)

// sessionVerbs are statements that act on the session, by why they are refused.
var sessionVerbs = map[string]string{
	"BEGIN": ownTransaction, "START": ownTransaction, "COMMIT": ownTransaction, "END": ownTransaction, "ROLLBACK": ownTransaction, "ABORT": ownTransaction,
	"SAVEPOINT": ownTransaction, "RELEASE": ownTransaction,
	"SET": ownSession, "RESET": ownSession, "USE": ownSession, "DISCARD": ownSession, "PREPARE": ownSession, "EXECUTE": ownSession, "DEALLOCATE": ownSession,
	"COPY": ownProtocol, "LOAD": ownProtocol, "HANDLER": ownProtocol,
	"LISTEN": ownSession, "UNLISTEN": ownSession, "ATTACH": ownSession, "DETACH": ownSession, "LOCK": ownSession, "UNLOCK": ownSession, "DECLARE": ownSession,
}

// changing are statements that no database runs where it refuses every write. It refuses all others itself that change something.
var changing = map[string]bool{
	"INSERT": true, "UPDATE": true, "DELETE": true, "REPLACE": true, "MERGE": true, "TRUNCATE": true, "CREATE": true, "ALTER": true, "DROP": true, "RENAME": true, "GRANT": true, "REVOKE": true,
}

// defining are statements that end the transaction around them on MySQL.
var defining = map[string]bool{
	"CREATE": true, "ALTER": true, "DROP": true, "RENAME": true, "TRUNCATE": true, "ANALYZE": true, "OPTIMIZE": true, "REPAIR": true, "GRANT": true, "REVOKE": true,
}

// programs are the statements that the author wrote.
func (b *block) programs() []*sqltext.Program {
	switch {
	case b.Query != nil:
		return b.Query.Statements()
	case b.Exec != nil:
		return b.Exec.Statements()
	}
	return nil
}

func (b *block) execFacts() hcl.Effects {
	f := hcl.Effects{Writes: true}
	returning := false
	for _, p := range b.programs() {
		f.Destructive = f.Destructive || loses(p)
		returning = returning || answers(p)
	}
	switch {
	case b.Exec.Listed:
		one := objectOf(append(changeMembers(), rowMembers()...))
		f.Output, f.Default.Member = objectOf([]*schema.Member{{Name: "results", Type: schema.ListOf(one)}}), "results"
	case returning:
		f.Output, f.Default.Member = objectOf(append(changeMembers(), rowMembers()...)), "rows"
	default:
		f.Output, f.Default.Members = objectOf(changeMembers()), []string{"affected", "last_id"}
	}
	return f
}

// answers reports whether a statement under exec gives rows.
func answers(p *sqltext.Program) bool { return p.HasReturning() || p.ReturnsRows() }

func objectOf(members []*schema.Member) *schema.Type { return schema.ObjectOf(members...) }

func rowMembers() []*schema.Member {
	row := &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.Any}}
	return []*schema.Member{
		{Name: "rows", Type: schema.ListOf(row)},
		{Name: "row", Type: row.AsNullable()},
		{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
	}
}

func changeMembers() []*schema.Member {
	integer := &schema.Type{Kind: schema.Integer}
	return []*schema.Member{{Name: "affected", Type: integer}, {Name: "last_id", Type: integer.AsNullable()}}
}

// overwriting finds what loses data in the text of a statement: the words that delete or overwrite, also behind WITH, and upserts.
var overwriting = regexp.MustCompile(`(?i)\b(DELETE|UPDATE|DROP|TRUNCATE|MERGE|ALTER|OR\s+REPLACE)\b`)

// harmless are statements that lose nothing as long as no overwriting word stands in them.
var harmless = map[string]bool{"INSERT": true, "CREATE": true, "SELECT": true, "VALUES": true, "ANALYZE": true, "COMMENT": true}

// loses reports whether a statement may lose data. It errs on the side of saying so.
func loses(p *sqltext.Program) bool {
	if !harmless[p.Verb()] {
		return true
	}
	for _, s := range p.Samples() {
		if overwriting.MatchString(quoted.ReplaceAllString(s.Text, " ")) {
			return p.Verb() != "CREATE" || !strings.Contains(strings.ToUpper(s.Text), "TABLE")
		}
	}
	return false
}

// quoted are texts, names in quotes and comments.
var quoted = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|(?s:/\\*.*?\\*/)")

// quotedMySQL is quoted with the backslash escapes of MySQL and its # comments.
var quotedMySQL = regexp.MustCompile("'(?:[^'\\\\]|\\\\(?s:.))*'|\"(?:[^\"\\\\]|\\\\(?s:.))*\"|`[^`]*`|(?:--\\s|#)[^\n]*|(?s:/\\*.*?\\*/)")
