package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// legacyFolder is deleted together with the revisions of the protocol that have sessions.
const legacyFolder = "runtime/edge/mcp/legacy"

// legacyDoor are the files outside of legacyFolder that name it: what opens the server of legacy clients, what keeps
// their sessions, and tests of such clients.
var legacyDoor = []string{
	"runtime/approval_disconnect_test.go",
	"runtime/ask_legacy_test.go",
	"runtime/durable/store/session.go",
	"runtime/edge/console/console_test.go",
	"runtime/edge/mcp/bench_test.go",
	"runtime/edge/mcp/disconnect_test.go",
	"runtime/edge/mcp/legacy_test.go",
	"runtime/edge/mcp/relay_test.go",
	"runtime/edge/mcp/session_id_test.go",
	"runtime/edge/mcp/subscription_resources_test.go",
	"runtime/edge/mcp/suspend_test.go",
	"runtime/edge/server/server.go",
	"runtime/edge/server/upstream_question_test.go",
}

func TestOnlyTheDoorNamesWhatServesLegacyClients(t *testing.T) {
	var found []string
	for _, name := range goFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(moduleRoot, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			isLegacy := strings.HasPrefix(imported+"/", module+"/"+legacyFolder+"/")
			if isLegacy && !strings.HasPrefix(name, legacyFolder+"/") && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	if slices.Sort(found); !slices.Equal(found, legacyDoor) {
		t.Errorf("%s is named by\n\t%s\nand legacyDoor has\n\t%s", legacyFolder,
			strings.Join(found, "\n\t"), strings.Join(legacyDoor, "\n\t"))
	}
}
