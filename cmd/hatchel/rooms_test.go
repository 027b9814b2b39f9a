package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linesMatching returns the lines of code of files in a folder that match, with their place.
func linesMatching(t *testing.T, folder, pattern string) (found []string) {
	t.Helper()
	re, files := regexp.MustCompile(pattern), 0
	for file, lines := range productionFiles(t) {
		if path.Dir(file) != folder && !strings.HasPrefix(file, folder+"/") {
			continue
		}
		files++
		for _, line := range lines {
			code, _, _ := strings.Cut(line, "//")
			if re.MatchString(code) {
				found = append(found, file+": "+strings.TrimSpace(line))
			}
		}
	}
	if files == 0 {
		t.Fatalf("the folder %s has no files", folder)
	}
	return found
}

// TestAuditRecordsAreMadeInOnePlace keeps the members that every record has in audit.NewRecord.
func TestAuditRecordsAreMadeInOnePlace(t *testing.T) {
	const constructor = "runtime/durable/audit/record.go: return &Record{"
	made := linesMatching(t, "runtime/durable/audit", `[^.\w\]]Record\{($|[^}])`)
	for _, folder := range []string{"runtime", "cmd"} {
		made = append(made, linesMatching(t, folder, `[^\]]audit\.Record\{($|[^}])`)...)
	}
	if !slices.Contains(made, constructor) {
		t.Errorf("audit.NewRecord is not %q", constructor)
	}
	for _, line := range made {
		if line != constructor {
			t.Errorf("a record is not made by audit.NewRecord: %s", line)
		}
	}
}

// TestClientsAreAskedByNamedInterfaces keeps what a client of a call may do in interfaces whose implementers are found
// by name.
func TestClientsAreAskedByNamedInterfaces(t *testing.T) {
	for _, line := range linesMatching(t, "runtime", `[cC]lient\.\(interface *\{`) {
		t.Errorf("an unnamed interface of a client: %s", line)
	}
}

// TestNoStageHoldsTheEngineOfACall keeps the engine of a call out of fields, parameters and results of its stages: it
// has methods, and is made where a call begins.
func TestNoStageHoldsTheEngineOfACall(t *testing.T) {
	for _, line := range linesMatching(t, "runtime/call", `\*engine\b`) {
		file, code, _ := strings.Cut(line, ": ")
		isMethod := strings.HasPrefix(code, "func (c *engine) ")
		code = strings.TrimPrefix(code, "func (c *engine) ")
		begins := file == "runtime/call/engine.go" && (strings.HasPrefix(code, "func (o *Operation) newCall") ||
			strings.HasPrefix(code, "func (o *Operation) newRequestCall") || strings.Contains(code, "engines.Get()"))
		if !begins && (!isMethod || strings.Contains(code, "*engine")) {
			t.Errorf("the engine is known outside of its methods: %s", line)
		}
	}
}

// TestNoStageIsGivenAMethodOfTheEngine finds methods that are passed on without being called: whoever has one reaches
// the engine. A call that waits must be stored as it is then, so its client is given one.
func TestNoStageIsGivenAMethodOfTheEngine(t *testing.T) {
	var names []string
	for _, line := range linesMatching(t, "runtime/call", `^func \(c \*engine\) `) {
		_, method, _ := strings.Cut(line, "*engine) ")
		name, _, _ := strings.Cut(method, "(")
		names = append(names, name)
	}
	passed := linesMatching(t, "runtime/call", `\bc\.(`+strings.Join(names, "|")+`)\b[^(=]`)
	for _, line := range passed {
		if !strings.HasSuffix(line, "seal: c.sealState}") {
			t.Errorf("a method of the engine is passed on: %s", line)
		}
	}
}
