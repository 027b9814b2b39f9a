package main

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// ownPauses are the functions that wait in a loop without a policy of internal/backoff, with the reason.
var ownPauses = map[string]string{
	"Pace.Wait":                 "the wait is that of a turn",
	"Store.LookAgain":           "a change ends the pause",
	"Store.Wait":                "a change ends the pause, which the record says",
	"Step.repeat":               "the author of the tool sets the pause",
	"killDescendants":           "it runs until nothing is left, in a process without a context",
	"runSessions":               "it runs until nothing is left, in a process without a context",
	"StartHistory":              "it measures at fixed times",
	"State.look":                "it looks at fixed times",
	"tempFiles.watch":           "the pause follows from the time that a measurement takes",
	"Workspace.stopSupervisors": "it is a time limit",
	"awaitExits":                "it follows a kill, which no context ends",
	"watcher.checkFolder":       "the pause is part of what is measured: nothing changes meanwhile",
	"watcher.waitQuiet":         "the pause is part of what is measured: no event comes meanwhile",
	"postgresDatabase.acquire":  "it frees a slot later",
	"Postgres.awaitAck":         "an acknowledgement ends the pause",
	"Process.beat":              "it beats at fixed times",
	"Store.write":               "it writes at fixed times",
	"Keeper.write":              "it writes at fixed times",
	"SQLite.Watch":              "it looks at fixed times",
	"Launcher.KeepRunning":      "the program says when its next start is due",
	"Process.stopProgram":       "it is a time limit",
	"Outbox.dispatch":           "the store says when the next delivery is due",
	"httpConn.readEvents":       "the server sets the pause",
	"stdioConn.readAll":         "the pause follows from what was read",
	"Session.settle":            "a notification of the server ends the pause",
	"List":                      "the pause is part of what is measured: the list does not change meanwhile",
}

// TestLoopsPauseByPolicy finds the loops of servers that wait for some time on their own. What tries again until it
// works ranges over the attempts of a backoff.Policy, or sleeps for a Pause of one.
func TestLoopsPauseByPolicy(t *testing.T) {
	set, files := moduleFiles(t, false)
	unused := maps.Clone(ownPauses)
	for name, file := range files {
		of, _, _ := strings.Cut(name, "/")
		if of != "runtime" && of != "adapters" || strings.HasSuffix(path.Dir(name), "test") {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := strings.TrimPrefix(receiver(f)+"."+f.Name.Name, ".")
			for _, wait := range waitsInLoops(f) {
				if ownPauses[at] == "" {
					t.Errorf("%s: %s waits in a loop. Use internal/backoff", set.Position(wait.Pos()), at)
				}
				delete(unused, at)
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("%s does not wait in a loop any more", at)
	}
}

// waitsInLoops returns the calls in loops that wait for some time, but for a Pause.
func waitsInLoops(f *ast.FuncDecl) (waits []*ast.CallExpr) {
	waiting := []string{"ctxtime.Sleep", "time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Sleep", "time.Tick"}
	inspectCalls := func(loop ast.Node) {
		ast.Inspect(loop, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if ok && slices.Contains(waiting, selector(c)) && !isPause(c.Args[len(c.Args)-1]) && !slices.Contains(waits, c) {
				waits = append(waits, c)
			}
			return true
		})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			inspectCalls(n)
		}
		return true
	})
	return waits
}

// selector returns the name of what a call calls, if that is a member of a name.
func selector(c *ast.CallExpr) string {
	if s, ok := c.Fun.(*ast.SelectorExpr); ok {
		if of, ok := s.X.(*ast.Ident); ok {
			return of.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// isPause reports whether a duration is a pause of a policy.
func isPause(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && strings.HasSuffix(selector(c), ".Pause")
}
