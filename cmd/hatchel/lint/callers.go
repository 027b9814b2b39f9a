package lint

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/surface"
)

// tableUse is a table that a statement of an operation uses.
type tableUse struct {
	hcl.TableUse
	kind, name string     // of the operation
	step       string     // its name, or that of a before or complete block; empty for a single backend
	at         diag.Range // of the statement
	callers    []string   // values of the caller that choose its rows
}

// checkCallers finds tables whose rows one statement chooses by the caller, and another one of the same connection does
// not. It says nothing of a connection with an identity of its own, because there the database chooses.
func (c *checker) checkCallers() {
	uses := map[*hcl.Connection][]tableUse{}
	reads := surface.NewCallerReads(c.config, c.opts.Parallel)
	collect := func(kind string, op *hcl.Operation) {
		var own *surface.OperationCallerReads
		eachStep(op, func(name string, step *hcl.Step) {
			lister, ok := step.Backend.Config.(hcl.TableLister)
			if !ok || step.Backend.Connection == nil {
				return
			}
			if own == nil {
				own = reads.Of(kind, op)
			}
			conn := step.Backend.Connection
			for _, u := range lister.Tables(conn) {
				use := tableUse{TableUse: u, kind: kind, name: op.Name, step: name, at: step.Backend.RangeOf(u.Field)}
				for _, part := range u.Chosen {
					use.callers = append(use.callers, own.In(step, part, use.at)...)
				}
				slices.Sort(use.callers)
				uses[conn] = append(uses[conn], use)
			}
		})
	}
	for _, t := range c.config.Tools {
		collect("tool", &t.Operation)
	}
	for _, p := range c.config.Prompts {
		collect("prompt", &p.Operation)
	}
	for _, r := range c.config.Resources {
		collect("resource", &r.Operation)
	}
	for _, conn := range c.config.Connections {
		c.compareUses(conn, uses[conn])
	}
}

// eachStep calls do for the steps of an operation, with their names.
func eachStep(op *hcl.Operation, do func(name string, step *hcl.Step)) {
	for _, step := range op.Steps {
		do(step.Name, step)
	}
	for _, input := range diag.SortedNames(op.Completions) {
		for _, step := range op.Completions[input].Steps {
			do("complete "+input, step)
		}
	}
	for _, before := range op.Before {
		for _, step := range before.Steps {
			do("before "+before.Label, step)
		}
	}
}

// compareUses reports the statements of a connection that use a table whose rows another one chooses by the caller.
func (c *checker) compareUses(conn *hcl.Connection, uses []tableUse) {
	reported := map[string]bool{}
	for _, use := range uses {
		if len(use.callers) > 0 && !use.Unchosen {
			continue
		}
		var filter *tableUse
		for i := range uses {
			other := &uses[i]
			if len(other.callers) == 0 || !sameTable(use.Table, other.Table) {
				continue
			}
			if filter == nil || filter.isOf(&use) && !other.isOf(&use) {
				filter = other
			}
		}
		key := fmt.Sprint(use.at, use.Table)
		if filter == nil || reported[key] {
			continue
		}
		reported[key] = true
		c.report("caller-filter", diag.Warning, use.at, "Rows of other callers", filter.describe(&use)+" "+
			advice(conn, filter))
	}
}

// sameTable reports whether two names may be those of one table: a name without a schema may be in any.
func sameTable(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[len(a)-n:], b[len(b)-n:])
}

func (u *tableUse) isOf(other *tableUse) bool { return u.kind == other.kind && u.name == other.name }

// describe says that u chooses the rows of a table, and another one does not.
func (u *tableUse) describe(other *tableUse) string {
	verb := "does not"
	if other.Table == nil {
		verb = "runs any statement"
	}
	who, whom := u.kind+"."+u.name, "this "+other.kind
	switch {
	case u.at == other.at:
		who, whom = "One part of the statement", "another"
	case u.isOf(other):
		who, whom = "Another statement of "+who, "this one"
		if u.step != other.step && u.step != "" {
			who = "The step " + u.step + " of " + u.kind + "." + u.name
		}
	}
	return fmt.Sprintf("%s filters %s by %s; %s %s.", who, strings.Join(u.Table, "."), u.callers[0], whom, verb)
}

// advice says what to write.
func advice(conn *hcl.Connection, filter *tableUse) string {
	text := fmt.Sprintf("Compare a column with ${%s}", filter.callers[0])
	if conn.Kind != "sqlite" {
		text += fmt.Sprintf(", or have the database choose the rows with session or role of the connection %q",
			conn.Name)
	}
	return text + ". If all callers may have all rows, write `# lint:allow caller-filter` and why above the statement."
}
